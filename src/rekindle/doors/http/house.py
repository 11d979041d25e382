"""What the HTTP door is a door to: the daemon's use cases, and those that block and run in threads."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from litestar.di import NamedDependency
from litestar.params import SkipValidation

from rekindle.app.agent_overview import AgentOverview
from rekindle.app.agent_resuming import AgentResuming
from rekindle.app.anywhere import SessionsAnywhere
from rekindle.app.conversing import ConversationPages
from rekindle.app.doctor import Doctor
from rekindle.app.feature_lists import FeatureLists
from rekindle.app.features import Features
from rekindle.app.fleet_job_service import FleetJobService
from rekindle.app.forking import Forking
from rekindle.app.job_submitting import JobSubmitting
from rekindle.app.jobs import JobService
from rekindle.app.journal_care import JournalCare
from rekindle.app.queueing import Queueing
from rekindle.app.recoveries import CountedRecoveries
from rekindle.app.reporting import Reporting
from rekindle.app.runbooks import Runbooks
from rekindle.app.running import SessionStarts
from rekindle.app.searching import Searching
from rekindle.app.service import Service
from rekindle.app.skill_sessions import SkillSessions
from rekindle.app.time_travel import TimeTravel

Made = TypeVar("Made")
#: Who asks, as answers and stops are signed.
BY = "the page"


class BlockingUses(Protocol):
    """Use cases that read files or call git. Each is made anew for a request, and used in a thread."""

    def at(self, folder: str) -> BlockingUses:
        """The same, around a folder."""
        ...

    def time_travel(self) -> TimeTravel: ...
    def searching(self) -> Searching: ...
    def reporting(self) -> Reporting: ...
    def doctor(self) -> Doctor: ...
    def agents(self) -> AgentOverview: ...
    def features(self) -> FeatureLists: ...
    def journals(self) -> JournalCare: ...
    def runbooks(self) -> Runbooks: ...
    def skill_sessions(self) -> SkillSessions: ...
    def forking(self) -> Forking: ...
    def jobs(self) -> JobSubmitting: ...
    def running(self) -> SessionStarts: ...


@dataclass(frozen=True)
class HttpHouse:
    """Everything behind the door. `environment` is what agents get that are started from here.

    `sessions` and `jobs` are those of all hosts; `service`, `queueing` and `pages` know this host's only. `fleet` tells
    about the hosts that this one shares a store with; None: there are none.
    """

    service: Service
    sessions: SessionsAnywhere
    queueing: Queueing
    agents: AgentResuming
    jobs: JobService | FleetJobService
    features: Features
    pages: ConversationPages
    recoveries: CountedRecoveries
    uses: BlockingUses
    environment: dict[str, str]
    state_dir: str
    started_at: float
    url: Callable[[], str]
    fleet: Callable[[], Awaitable[Any]] | None = None

    async def blocking(self, work: Callable[[BlockingUses], Made], folder: str | None = None) -> Made:
        """Do something that blocks, in a thread, around a folder if one is given."""
        return await asyncio.to_thread(lambda: work(self.uses if folder is None else self.uses.at(folder)))

    async def last_seq(self) -> int:
        """The place of the newest fact in the feed."""
        return await self.service.last_seq()


#: The parameter of a handler that gets the house.
House = NamedDependency[SkipValidation[HttpHouse]]
#: The parameter of a handler that gets the key of the request: letters and digits that make ids, or None.
RequestKey = NamedDependency[SkipValidation[Any]]
