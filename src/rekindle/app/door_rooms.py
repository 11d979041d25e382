"""The daemon's own use cases, as they are handed to whatever opens a door to them."""

from __future__ import annotations

from dataclasses import dataclass

from rekindle.app.beginnings import Beginnings
from rekindle.app.features import Features
from rekindle.app.holding import Holding
from rekindle.app.jobs import JobService
from rekindle.app.questions import Questions
from rekindle.app.service import Service
from rekindle.runtime.supervisor import Supervisor


@dataclass(frozen=True)
class DoorRooms:
    """What a door may lead to."""

    service: Service
    supervisor: Supervisor
    beginnings: Beginnings
    questions: Questions
    features: Features
    holding: Holding
    jobs: JobService
