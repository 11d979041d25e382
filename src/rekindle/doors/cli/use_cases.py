"""What the command line can have done. Whoever starts it gives it the use cases, put together with the world.

Light standard library only: `rekindle` with no arguments comes through here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rekindle.app.abandoning import Abandoning
    from rekindle.app.agent_overview import AgentOverview
    from rekindle.app.answering import Answering
    from rekindle.app.archives import MovingSessions
    from rekindle.app.doctor import Doctor
    from rekindle.app.feature_lists import FeatureLists
    from rekindle.app.feature_resuming import FeatureResuming
    from rekindle.app.filter_trust import FilterTrust
    from rekindle.app.forking import Forking
    from rekindle.app.freeing import Freeing
    from rekindle.app.hooking import Hooking
    from rekindle.app.journal_care import JournalCare
    from rekindle.app.moved import MovedRepositories
    from rekindle.app.running import SessionStarts
    from rekindle.app.searching import Searching
    from rekindle.app.session_list import SessionList
    from rekindle.app.session_resuming import SessionResuming
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


class UseCases(ABC):
    """Each is put together, and imported, when it is asked for."""

    @abstractmethod
    def daemon(self) -> Daemon:
        """A new line to the user's daemon."""

    @abstractmethod
    def ancestry(self) -> Ancestry:
        """Who stands above this process."""

    @abstractmethod
    def sessions(self) -> SessionList:
        """The user's sessions, as far as they can be told without starting a daemon."""

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
        """Interrupted runs that are ended for good."""

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
        """The terminals of agents that are used as interactive programs."""

    @abstractmethod
    def moved(self) -> MovedRepositories:
        """Repositories that were moved since somebody last worked in them."""

    @abstractmethod
    def vaults(self) -> VaultCare:
        """The kept copies of conversations."""

    @abstractmethod
    def freeing(self) -> Freeing:
        """Room that is given back."""

    @abstractmethod
    def moving(self) -> MovingSessions:
        """Sessions that are exported and imported."""

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
    def doctor(self) -> Doctor:
        """Whether this machine and this repository are fit for the job."""

    @abstractmethod
    def user_settings(self) -> UserSettings:
        """The user's own settings."""

    @abstractmethod
    def forking(self) -> Forking:
        """Copies of sessions that begin behind an earlier answer."""

    @abstractmethod
    def running(self) -> SessionStarts:
        """New sessions."""

    @abstractmethod
    def feature_resuming(self) -> FeatureResuming:
        """Features that are run and resumed."""

    @abstractmethod
    def session_resuming(self) -> SessionResuming:
        """Sessions that are brought back."""

    @abstractmethod
    def answering(self) -> Answering:
        """What agents ask, and what they are told."""

    @abstractmethod
    def waiting(self) -> Awaiting:
        """Sessions and features that somebody waits for."""

    @abstractmethod
    def serve(self, *, on_demand: bool) -> int:
        """Be the daemon, until it is told to stop."""


_given: list[UseCases] = []


def provide(use_cases: UseCases) -> None:
    """Have the command line use these."""
    _given[:] = [use_cases]


def use_cases() -> UseCases:
    """Those that were provided."""
    return _given[0]
