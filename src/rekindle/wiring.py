"""The composition root of the command line: each use case with its adapters, built when it is needed.

Everything is imported where it is used, so that no command pays for the others.
"""

from __future__ import annotations

import os
import time

from rekindle.doors.cli.use_cases import UseCases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from rekindle.adapters.workspace.git_workspace import GitWorkspace
    from rekindle.adapters.workspace.glance import RepositoryGlance
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
    from rekindle.app.runbooks import GivenRules, Runbooks
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
    from rekindle.doors.cli.use_cases import DoorTerms
    from rekindle.places import Places
    from rekindle.ports.ancestry import Ancestry
    from rekindle.ports.conversations import Conversations
    from rekindle.ports.daemon import Daemon
    from rekindle.ports.journal_files import JournalFiles
    from rekindle.ports.kept_sessions import KeptSessions
    from rekindle.runtime.comeback import Comeback
    from rekindle.settings import Settings


class Wired(UseCases):
    """The use cases on this machine, for the user with this environment, around a folder (None: the current one)."""

    def __init__(self, environment: Mapping[str, str], daemon: Daemon | None = None, folder: str | None = None) -> None:
        self._environment = environment
        self._daemon = daemon
        self._folder = folder

    def at(self, folder: str) -> Wired:
        """The same, around a folder."""
        return Wired(self._environment, self._daemon, folder)

    def _settings(self, root: str | None = None) -> Settings:
        from rekindle.settings import load

        return load(self._environment, root)

    def _places(self) -> Places:
        from rekindle.places import Places

        return Places(self._settings())

    def _kept(self) -> KeptSessions:
        from rekindle.adapters.session_folder.kept import SessionsOnDisk

        return SessionsOnDisk(self._places())

    def _kept_by_all(self) -> KeptSessions:
        from rekindle.adapters.off_host.kept_by_all import kept_by_all

        return kept_by_all(self._places(), self._environment) if self._is_in_fleet() else self._kept()

    def _workspace(self) -> GitWorkspace:
        from rekindle.adapters.workspace.git_workspace import open_workspace

        return open_workspace(self._environment, self._folder)

    def _journal_files(self) -> JournalFiles:
        from rekindle.adapters.journal_file.files_here import JournalFilesHere

        settings = self._settings()
        return JournalFilesHere(settings.state_dir, settings.cache_dir)

    def _glance(self) -> RepositoryGlance | None:
        from rekindle.adapters.git import repository
        from rekindle.adapters.workspace.glance import RepositoryGlance

        found = repository.find(os.getcwd())
        return RepositoryGlance(found, self._settings(found.root)) if found is not None else None

    def daemon(self) -> Daemon:
        if self._daemon is not None:
            return self._daemon
        from rekindle.adapters.daemon_socket.client import DaemonClient

        return DaemonClient(self._places())

    def ancestry(self) -> Ancestry:
        from rekindle.adapters.machine import ancestry

        return ancestry

    def sessions(self) -> SessionList:
        from rekindle.app.session_list import SessionList

        return SessionList(self.daemon(), self._kept(), self.ancestry(), self._is_in_fleet)

    def _is_in_fleet(self) -> bool:
        from rekindle.adapters.machine.fleet_here import is_in_fleet

        return is_in_fleet(self._environment)

    def conversations(self) -> Conversations:
        from rekindle.adapters.session_folder.conversation import FolderConversations

        found = FolderConversations(self._places().sessions)
        if self._daemon is not None or not self._is_in_fleet():
            return found
        from rekindle.adapters.off_host.copied_conversations import CopiedConversations

        return CopiedConversations(found, self.daemon())

    def status(self) -> StatusHere:
        from rekindle.app.status import StatusHere

        return StatusHere(self._glance, self._kept(), self.sessions)

    def tracking(self) -> Tracking:
        from rekindle.app.tracking import Tracking

        return Tracking(self._workspace, self.ancestry(), self._environment)

    def abandoning(self) -> Abandoning:
        from rekindle.app.abandoning import Abandoning

        return Abandoning(self._workspace)

    def journals(self) -> JournalCare:
        from rekindle.app.journal_care import JournalCare

        return JournalCare(self._workspace, self._journal_files())

    def features(self) -> FeatureLists:
        from rekindle.app.feature_lists import FeatureLists

        return FeatureLists(self._workspace, self._journal_files())

    def time_travel(self) -> TimeTravel:
        from rekindle.adapters.snapshots.of_folder import FolderSnapshots
        from rekindle.app.time_travel import TimeTravel

        return TimeTravel(self.sessions(), self._kept(), FolderSnapshots())

    def searching(self) -> Searching:
        from rekindle.adapters.search.index import SearchIndex
        from rekindle.app.searching import Searching, masker_of

        places, kept = self._places(), self._kept()
        masker = masker_of(self._environment, kept)
        index = SearchIndex(places.search, places.sessions, masker)
        return Searching(self.sessions(), kept, index, masker)

    def terminals(self) -> TerminalUse:
        from rekindle.adapters.keepers.session_terminals import SessionTerminals
        from rekindle.app.terminals import TerminalUse

        places = self._places()
        terminals = SessionTerminals(places.terminals, places.sessions)
        return TerminalUse(self.sessions(), self.conversations(), terminals)

    def moved(self) -> MovedRepositories:
        from rekindle.adapters.git import identity, repository
        from rekindle.app.moved import MovedRepositories

        return MovedRepositories(repository.find, identity, self.daemon)

    def vaults(self) -> VaultCare:
        from rekindle.adapters.session_folder.vaults import VaultsOnDisk
        from rekindle.app.vault_care import VaultCare

        return VaultCare(self.sessions(), VaultsOnDisk(self._places().sessions))

    def freeing(self) -> Freeing:
        from rekindle.adapters.session_folder.retention import VaultRetention
        from rekindle.app.freeing import Freeing

        return Freeing(self._kept(), VaultRetention(self._places().sessions))

    def moving(self) -> MovingSessions:
        from rekindle.adapters.moving.archives_here import ArchivesHere
        from rekindle.adapters.snapshots.of_folder import FolderSnapshots
        from rekindle.agents.registry import AGENTS
        from rekindle.app.archives import MovingSessions

        return MovingSessions(
            self.sessions(),
            self._kept_by_all(),
            FolderSnapshots(),
            ArchivesHere(self._places()),
            self.daemon(),
            self._environment,
            AGENTS,
        )

    def agents(self) -> AgentOverview:
        from rekindle.adapters.machine import agent_programs
        from rekindle.agents.registry import AGENTS
        from rekindle.app.agent_overview import AgentOverview

        return AgentOverview(AGENTS, agent_programs, self._environment)

    def filters(self) -> FilterTrust:
        from rekindle.adapters.git.filters_here import RepositoryFilters
        from rekindle.app.filter_trust import FilterTrust

        return FilterTrust(lambda: RepositoryFilters(self._workspace().repository.root))

    def hooks(self) -> Hooking:
        from rekindle.app.hooking import Hooking
        from rekindle.hooks import install

        return Hooking(self._workspace, install)

    def skill_sessions(self) -> SkillSessions:
        from rekindle.building import skill_sessions

        return skill_sessions(self._environment, self.ancestry(), self._folder)

    def doctor(self) -> Doctor:
        from rekindle.building import doctor

        care = (self._workspace, self._journal_files(), self.agents(), self.notifying())
        return doctor(self._places(), self.sessions(), self._kept(), self.daemon(), care, self._environment)

    def booting(self) -> Booting:
        from rekindle.building import booting

        return booting(self._environment, self.daemon())

    def notifying(self) -> Notifying:
        from rekindle.adapters.notify.receivers import receivers_of
        from rekindle.app.notifying import Notifying

        return Notifying(self.user_settings().notify, lambda ways: receivers_of(ways, self._environment), time.time)

    def user_settings(self) -> UserSettings:
        from rekindle.adapters.machine.settings_file import UserFile
        from rekindle.agents.registry import AGENTS, DEFAULT
        from rekindle.app.user_settings import UserSettings
        from rekindle.core.session.choices import PERMISSIONS, POLICIES, SWITCH
        from rekindle.core.setting_keys import setting_keys
        from rekindle.settings import RUN_KEYS, choices, user_file

        chosen = {name: choices(name) for name in ("feature_worktrees", "journal_sync")}
        chosen |= {"agent": tuple(AGENTS), "policy": POLICIES, "permission": PERMISSIONS, "stable_prompt": SWITCH}
        keys = setting_keys(chosen, DEFAULT)
        return UserSettings(UserFile(user_file(self._environment)), keys, RUN_KEYS, self._environment)

    def reporting(self) -> Reporting:
        from rekindle.building import reporting

        return reporting(self._kept_by_all(), self.conversations(), self._environment, time.time)

    def runbooks(self) -> Runbooks:
        from rekindle import files
        from rekindle.adapters.machine.settings_file import UserFile
        from rekindle.agents.registry import AGENTS
        from rekindle.app.runbooks import Runbooks
        from rekindle.settings import user_runbook

        return Runbooks(
            UserFile(user_runbook(self._environment)), tuple(AGENTS), lambda path: files.read_short(path, 1 << 20)
        )

    def _own_runbook(self) -> GivenRules | None:
        """What the user's own runbook says. Nothing is loaded if there is none."""
        import os.path

        from rekindle.settings import user_runbook

        return self.runbooks().default() if os.path.lexists(user_runbook(self._environment)) else None

    def forking(self) -> Forking:
        from rekindle.agents.registry import AGENTS
        from rekindle.app.forking import Forking

        return Forking(self.daemon(), self._kept(), AGENTS, self._environment)

    def running(self) -> SessionStarts:
        from rekindle.adapters.git import repository
        from rekindle.agents.registry import AGENTS
        from rekindle.app.running import SessionStarts

        def worktrees_dir(root: str | None) -> str | None:
            return self._settings(root).worktrees_dir

        def stable(agent: str) -> dict[str, str]:
            return dict(AGENTS[agent].stable)

        return SessionStarts(
            self.daemon(), repository.find, worktrees_dir, stable, self._environment, self._own_runbook
        )

    def jobs(self) -> JobSubmitting:
        from rekindle.adapters.git import repository
        from rekindle.adapters.git.shared_head import shared_head
        from rekindle.adapters.machine.cron_calendar import CronCalendar
        from rekindle.app.job_submitting import JobSubmitting

        return JobSubmitting(
            self.daemon(),
            self.runbooks(),
            CronCalendar(self._environment.get("TZ")),
            repository.find,
            lambda root: self._settings(root).worktrees_dir,
            *(self._environment, shared_head, self._is_in_fleet),
        )

    def feature_resuming(self) -> FeatureResuming:
        from rekindle.adapters.git import identity
        from rekindle.adapters.machine import team
        from rekindle.agents.registry import DEFAULT
        from rekindle.app.feature_resume import FeatureOutlook
        from rekindle.app.feature_resuming import FeatureResuming
        from rekindle.core.feature.staffing import RunTerms, set_terms
        from rekindle.core.session.choices import PERMISSIONS

        def settings() -> RunTerms:
            return set_terms(self.user_settings().run_defaults())

        outlook = FeatureOutlook(identity, team, settings, RunTerms(DEFAULT, PERMISSIONS[0]))
        return FeatureResuming(self._workspace, outlook, self.daemon(), self._environment)

    def session_resuming(self) -> SessionResuming:
        from rekindle.app.session_resuming import SessionResuming

        return SessionResuming(self.sessions(), self._kept(), self.daemon(), self._comeback(), time.time)

    def _comeback(self) -> Comeback:
        from rekindle.building import comeback

        return comeback(self._places())

    def answering(self) -> Answering:
        from rekindle.app.answering import Answering

        return Answering(self.daemon(), self._environment)

    def waiting(self) -> Awaiting:
        from rekindle.app.waiting import Awaiting

        return Awaiting(self.daemon(), self.feature_resuming(), self.journals(), self.answering())

    def make_fleet_key(self, path: str) -> None:
        from rekindle.adapters.blobs.sealed import make_key

        make_key(path)

    def serve(self, *, on_demand: bool, http: DoorTerms | None = None) -> int:
        from rekindle.daemon import DaemonTerms, serve

        terms = DaemonTerms(lambda daemon: Wired(self._environment, daemon), on_demand)
        if http is not None:
            terms = DaemonTerms(terms.uses, on_demand, http.values, opened=http.opened)
        return serve(self._environment, terms)

    def work(self, *, labels: tuple[str, ...], capacity: int | None) -> int:
        from rekindle.daemon import DaemonTerms, serve
        from rekindle.fleet_worker import WorkerTerms, check_worker

        check_worker(self._environment, labels)
        terms = WorkerTerms(labels, capacity)
        return serve(self._environment, DaemonTerms(lambda daemon: Wired(self._environment, daemon), worker=terms))
