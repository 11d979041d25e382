"""The use cases of the command line. The program that starts it provides them, with their adapters.

Light standard library only: `rekindle` with no arguments comes through here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rekindle.app.abandoning import Abandoning
    from rekindle.app.agent_overview import AgentOverview
    from rekindle.app.answering import Answering
    from rekindle.app.archives import MovingSessions
    from rekindle.app.booting import Booting
    from rekindle.app.doctor import Doctor
    from rekindle.app.feature_lists import FeatureLists
    from rekindle.app.feature_resuming import FeatureResuming
    from rekindle.app.filter_trust import FilterTrust
    from rekindle.app.forking import Forking
    from rekindle.app.freeing import Freeing
    from rekindle.app.hooking import Hooking
    from rekindle.app.job_submitting import JobSubmitting
    from rekindle.app.journal_care import JournalCare
    from rekindle.app.moved import MovedRepositories
    from rekindle.app.notifying import Notifying
    from rekindle.app.reporting import Reporting
    from rekindle.app.runbooks import Runbooks
    from rekindle.app.running import SessionStarts
    from rekindle.app.searching import Searching
    from rekindle.app.session_list import SessionList
    from rekindle.app.session_resuming import SessionResuming
    from rekindle.app.skill_sessions import SkillSessions
    from rekindle.app.status import StatusHere
    from rekindle.app.terminals import TerminalUse
    from rekindle.app.time_travel import TimeTravel
    from rekindle.app.tracking import Tracking
    from rekindle.app.user_settings import UserSettings
    from rekindle.app.vault_care import VaultCare
    from rekindle.app.waiting import Awaiting
    from rekindle.ports.ancestry import Ancestry
    from rekindle.ports.conversations import Conversations
    from rekindle.ports.daemon import Daemon


class DoorTerms:
    """How the HTTP door is opened, by the names of the daemon's request, and what is called when it is open."""

    __slots__ = ("opened", "values")

    def __init__(self, values: Any, opened: Callable[[Any], None]) -> None:
        self.values = values
        self.opened = opened


class UseCases(ABC):
    """Each is built, and imported, when it is needed."""

    @abstractmethod
    def daemon(self) -> Daemon:
        """A new connection to the user's daemon."""

    @abstractmethod
    def ancestry(self) -> Ancestry:
        """The ancestors of this process."""

    @abstractmethod
    def sessions(self) -> SessionList:
        """The user's sessions, as far as they can be read without starting a daemon."""

    @abstractmethod
    def conversations(self) -> Conversations:
        """What was said and done in the user's sessions."""

    @abstractmethod
    def status(self) -> StatusHere:
        """What is interrupted around the current folder."""

    @abstractmethod
    def tracking(self) -> Tracking:
        """Events written by hand."""

    @abstractmethod
    def abandoning(self) -> Abandoning:
        """Ending interrupted runs for good."""

    @abstractmethod
    def journals(self) -> JournalCare:
        """One journal, by its feature's name or by its path."""

    @abstractmethod
    def features(self) -> FeatureLists:
        """The features of the repository here."""

    @abstractmethod
    def time_travel(self) -> TimeTravel:
        """The kept states of work trees."""

    @abstractmethod
    def searching(self) -> Searching:
        """Search over all conversations."""

    @abstractmethod
    def terminals(self) -> TerminalUse:
        """The terminals of agents that run as interactive programs."""

    @abstractmethod
    def moved(self) -> MovedRepositories:
        """Repositories that were moved since somebody last worked in them."""

    @abstractmethod
    def vaults(self) -> VaultCare:
        """The kept copies of conversations."""

    @abstractmethod
    def freeing(self) -> Freeing:
        """Freeing disk space."""

    @abstractmethod
    def moving(self) -> MovingSessions:
        """Exporting and importing sessions."""

    @abstractmethod
    def agents(self) -> AgentOverview:
        """The agents of this machine."""

    @abstractmethod
    def filters(self) -> FilterTrust:
        """What the repository here may have run."""

    @abstractmethod
    def hooks(self) -> Hooking:
        """The Claude Code hooks of the project here."""

    @abstractmethod
    def skill_sessions(self) -> SkillSessions:
        """The skill sessions around the current folder."""

    @abstractmethod
    def doctor(self) -> Doctor:
        """Whether this machine and this repository are set up correctly."""

    @abstractmethod
    def user_settings(self) -> UserSettings:
        """The user's own settings."""

    @abstractmethod
    def booting(self) -> Booting:
        """Starting the daemon with the machine."""

    @abstractmethod
    def notifying(self) -> Notifying:
        """Telling people outside the terminal."""

    @abstractmethod
    def reporting(self) -> Reporting:
        """Reports of what happened."""

    @abstractmethod
    def runbooks(self) -> Runbooks:
        """Runbooks, and the user's own."""

    @abstractmethod
    def forking(self) -> Forking:
        """Copies of sessions that start after an earlier answer."""

    @abstractmethod
    def running(self) -> SessionStarts:
        """New sessions."""

    @abstractmethod
    def jobs(self) -> JobSubmitting:
        """Jobs."""

    @abstractmethod
    def feature_resuming(self) -> FeatureResuming:
        """Running and resuming features."""

    @abstractmethod
    def session_resuming(self) -> SessionResuming:
        """Bringing sessions back."""

    @abstractmethod
    def answering(self) -> Answering:
        """Agents' questions, and the answers."""

    @abstractmethod
    def waiting(self) -> Awaiting:
        """Waiting for sessions and features."""

    @abstractmethod
    def serve(self, *, on_demand: bool, http: DoorTerms | None = None) -> int:
        """Be the daemon, until it is told to stop."""

    @abstractmethod
    def work(self, *, labels: tuple[str, ...], capacity: int | None) -> int:
        """Be the daemon and a worker of the fleet, until told to stop."""

    @abstractmethod
    def make_fleet_key(self, path: str) -> None:
        """Make the key of a new fleet, in a new file."""


_given: list[UseCases] = []


def provide(use_cases: UseCases) -> None:
    """Have the command line use these."""
    _given[:] = [use_cases]


def use_cases() -> UseCases:
    """Those that were provided."""
    return _given[0]
