"""Use cases whose adapters take more than a few lines to put together; the composition root calls these.

Everything is imported where it is used, so that no command pays for the others.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rekindle.adapters.workspace.git_workspace import GitWorkspace
    from rekindle.app.agent_overview import AgentOverview
    from rekindle.app.booting import Booting
    from rekindle.app.doctor import Doctor
    from rekindle.app.notifying import Notifying
    from rekindle.app.reporting import Reporting
    from rekindle.app.session_list import SessionList
    from rekindle.app.skill_sessions import SkillSessions
    from rekindle.places import Places
    from rekindle.ports.ancestry import Ancestry
    from rekindle.ports.conversations import Conversations
    from rekindle.ports.daemon import Daemon
    from rekindle.ports.journal_files import JournalFiles
    from rekindle.ports.kept_sessions import KeptSessions
    from rekindle.runtime.comeback import Comeback


def reporting(
    kept: KeptSessions, conversations: Conversations, environment: Mapping[str, str], clock: Callable[[], float]
) -> Reporting:
    """Reports of what happened."""
    from rekindle.adapters.git.merged import is_merged
    from rekindle.adapters.snapshots.of_folder import FolderSnapshots
    from rekindle.adapters.workspace.git_workspace import open_workspace
    from rekindle.app.report_sources import ReportPorts
    from rekindle.app.reporting import Reporting
    from rekindle.app.searching import masker_of

    trees, here = FolderSnapshots(), lambda folder: open_workspace(environment, folder)
    return Reporting(ReportPorts(kept, conversations, trees, here, is_merged), masker_of(environment, kept), clock)


def booting(environment: Mapping[str, str], daemon: Daemon) -> Booting:
    """Starting the daemon with the machine."""
    from rekindle.adapters.boot import due_check
    from rekindle.adapters.boot.cron_entry import CronEntry
    from rekindle.adapters.boot.systemd_unit import SystemdUnit
    from rekindle.app.booting import Booting
    from rekindle.core.boot import BootStart, BootWay, needed
    from rekindle.ports.boot import BootEntry

    start = BootStart(
        (sys.executable, "-m", "rekindle.entry", "serve"),
        (sys.executable, "-m", due_check.__name__),
        needed(environment),
    )
    ways: dict[BootWay, BootEntry] = {"systemd": SystemdUnit(environment), "cron": CronEntry(environment)}
    return Booting(ways, start, daemon)


def comeback(places: Places) -> Comeback:
    """How a session would come back."""
    from rekindle.adapters.session_folder.records import VaultRecords
    from rekindle.adapters.workplace.workplace import LocalWorkplace
    from rekindle.agents.registry import AGENTS
    from rekindle.runtime.comeback import Comeback

    workplace = LocalWorkplace(places.sessions, places.sockets)
    return Comeback(VaultRecords.of(places.sessions, workplace.environment, AGENTS), workplace, AGENTS)


def skill_sessions(environment: Mapping[str, str], ancestry: Ancestry, folder: str | None = None) -> SkillSessions:
    """The skill sessions around a folder (None: the current one)."""
    from rekindle.adapters.git import repository
    from rekindle.adapters.skill_folder.folders import SkillFoldersHere
    from rekindle.adapters.skill_folder.roots import sessions_root, skill_places
    from rekindle.adapters.skills.proof_checker import JsonSchemaProofs
    from rekindle.adapters.skills.skill_files import SkillFilesHere
    from rekindle.app.skill_sessions import SkillSessions
    from rekindle.settings import load

    here = folder or os.getcwd()
    found = repository.find(here)
    settings = load(environment, found.root if found is not None else None)
    root = sessions_root(found, settings.skill_sessions_dir, here)
    folders = SkillFoldersHere(root, settings.state_dir, environment, time.time)
    skills = SkillFilesHere(skill_places(found, environment, here))
    return SkillSessions(folders, skills, JsonSchemaProofs(), ancestry, environment)


def doctor(
    places: Places,
    sessions: SessionList,
    kept: KeptSessions,
    daemon: Daemon,
    care: tuple[Callable[[], GitWorkspace], JournalFiles, AgentOverview, Notifying],
    environment: Mapping[str, str],
) -> Doctor:
    """Whether this machine, and the repository that `care` opens, are set up correctly."""
    from rekindle.adapters.feature_git.care import CheckoutCare
    from rekindle.adapters.git import process
    from rekindle.adapters.keepers.local_runtime import LocalRuntime
    from rekindle.adapters.machine.checks import ThisMachine
    from rekindle.adapters.off_host.fleet_check import fleet_check
    from rekindle.app.doctor import Doctor, Patient
    from rekindle.hooks import install

    open_here, journals, agents, notifying = care

    def open_care() -> CheckoutCare:
        here = open_here()
        return CheckoutCare(here.repository.root, here.worktrees.top(here.repository))

    patient = Patient(
        machine=ThisMachine(places.terminals, process.line),
        state_dir=places.state,
        sessions=sessions,
        kept=kept,
        runtime=LocalRuntime(places.sessions),
        daemon=daemon,
        open_here=open_here,
        open_care=open_care,
        hooks=install,
        journals=journals,
        agents=agents,
        notifying=notifying,
        fleet=lambda: fleet_check(environment),
    )
    return Doctor(patient)
