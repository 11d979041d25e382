"""What a report is made from: facts as they are on record, and what agents said. Pure data."""

from __future__ import annotations

from typing import Any

import msgspec

from rekindle.core.governor.facts import GovernorFact
from rekindle.core.job.facts import JobFact
from rekindle.core.session.facts import AnyFact


class SaidTool(msgspec.Struct, frozen=True):
    """A tool that the agent used by itself, as the agent's program reports it. `status` is empty if it did not end."""

    title: str
    status: str = ""


class TurnSaid(msgspec.Struct, frozen=True):
    """What an agent said in a turn. `number` counts the prompts of the attempt, from 1."""

    attempt: int
    number: int
    text: str
    tools: tuple[SaidTool, ...] = ()


class KeptState(msgspec.Struct, frozen=True):
    """A snapshot of a session's work tree: why it was taken, the files (`tree`), and the commit below them."""

    id: str
    reason: str
    tree: str
    head: str = ""


class SessionSource(msgspec.Struct, frozen=True):
    """A session: all its facts with their places in the store. `alive` None: as far as the facts show."""

    id: str
    facts: tuple[tuple[int, AnyFact], ...]
    said: tuple[TurnSaid, ...] = ()
    states: tuple[KeptState, ...] = ()
    alive: bool | None = None


class JobSource(msgspec.Struct, frozen=True):
    """A job: all its facts with their places in the store."""

    id: str
    facts: tuple[tuple[int, JobFact], ...]


class JournalFact(msgspec.Struct, frozen=True):
    """An event in the journal of a feature that rekindle itself wrote, in a run that it drives."""

    at: float
    sid: str
    seq: int
    type: str
    data: dict[str, Any]


class FeatureSource(msgspec.Struct, frozen=True):
    """A feature. `is_running`: somebody holds its run. `is_merged` None: not known whether its branch is merged."""

    repository: str
    feature: str
    branch: str
    events: tuple[JournalFact, ...]
    is_running: bool = False
    is_merged: bool | None = None


class Sources(msgspec.Struct, frozen=True):
    """Everything. `problems` says what could not be read."""

    sessions: tuple[SessionSource, ...] = ()
    jobs: tuple[JobSource, ...] = ()
    features: tuple[FeatureSource, ...] = ()
    governor: tuple[tuple[int, GovernorFact], ...] = ()
    problems: tuple[str, ...] = ()


class Window(msgspec.Struct, frozen=True):
    """From `since` on, and before `until`."""

    since: float
    until: float

    def has(self, at: float) -> bool:
        """Whether something happened in it."""
        return self.since <= at < self.until

    def part_of(self, since: float, until: float) -> float:
        """How many seconds of a stretch of time are in it."""
        return max(0.0, min(until, self.until) - max(since, self.since))
