"""No port without a suite: whoever adds one names here what holds its adapters, the real one and the fake, to it."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

from rekindle import ports

HERE = Path(__file__).parent
#: The module of this folder that tests the promises of each port.
SUITES = {
    "AgentPrograms": "test_agent_programs",
    "AgentTeams": "test_teams",
    "AgentTerminals": "test_terminals",
    "Ancestry": "test_ancestry",
    "Archives": "test_archives",
    "Blobs": "test_blobs",
    "BootEntry": "test_boot",
    "Calendar": "test_calendar",
    "CheckCommands": "test_check_commands",
    "Checkout": "test_workspace",
    "CommitFeed": "test_placements",
    "ContextNotes": "test_notes",
    "ConversationIndex": "test_search",
    "Conversations": "test_conversations",
    "Daemon": "test_daemon",
    "DoorPapers": "test_http_door",
    "FeatureGit": "test_feature",
    "FeatureJournal": "test_workspace",
    "FleetEngine": "test_fleet_engine",
    "FleetJobs": "test_fleet_jobs",
    "FleetWorker": "test_fleet_engine",
    "FollowedConversation": "test_conversations",
    "GitFilters": "test_git_filters",
    "Glance": "test_workspace",
    "HeldFeature": "test_workspace",
    "HookPlace": "test_hook_settings",
    "HookSettings": "test_hook_settings",
    "Hosts": "test_hosts",
    "JobPlaces": "test_job_places",
    "Journal": "test_journal",
    "JournalFiles": "test_journal_files",
    "Keepers": "test_keepers",
    "KeptAnswers": "test_http_door",
    "KeptSessions": "test_kept_sessions",
    "KeptTrees": "test_kept_trees",
    "Machine": "test_machine",
    "Mailbox": "test_mail",
    "MachineLoad": "test_machine_load",
    "MovedRecords": "test_moved_records",
    "OffHostCopies": "test_off_host",
    "Placements": "test_placements",
    "ProofChecker": "test_skills",
    "Pulse": "test_fleet_engine",
    "Receiver": "test_notify",
    "Records": "test_records",
    "RepositoryCare": "test_git_filters",
    "RepositoryIdentities": "test_identity",
    "ResumableGit": "test_feature",
    "Retention": "test_retention",
    "RunEvents": "test_run_events",
    "RunOwner": "test_workspace",
    "Runtime": "test_runtimes",
    "SessionPlaces": "test_workplace",
    "SessionWorktrees": "test_session_worktrees",
    "SettingsFile": "test_settings_file",
    "SkillFiles": "test_skills",
    "SkillFolders": "test_skills",
    "SupervisedSkills": "test_skills",
    "Snapshots": "test_snapshots",
    "Store": "test_store",
    "StoreAccess": "test_store_access",
    "VaultCopies": "test_vault_copies",
    "Workplace": "test_workplace",
    "Workspace": "test_workspace",
}


def protocols() -> dict[str, type]:
    """Every interface that is defined in `rekindle.ports`, by name."""
    found: dict[str, type] = {}
    for module in pkgutil.walk_packages(ports.__path__, f"{ports.__name__}."):
        there = vars(importlib.import_module(module.name))
        found |= {name: one for name, one in there.items() if _is_port(one) and one.__module__ == module.name}
    return found


def _is_port(value: object) -> bool:
    return inspect.isclass(value) and getattr(value, "_is_protocol", False)


def used_by(suite: str) -> set[str]:
    """The names of everything that a suite asks an object for, itself or through its stage beside it."""
    tree = ast.parse((HERE / f"{suite}.py").read_text())
    found = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests.conformance."):
            found |= used_by(str(node.module).rpartition(".")[2])
    return found


def test_every_port_has_a_suite() -> None:
    assert protocols().keys() == SUITES.keys()


@pytest.mark.parametrize("port", sorted(SUITES))
def test_a_suite_asks_for_everything_that_its_port_promises(port: str) -> None:
    promised = {name for name in vars(protocols()[port]) if not name.startswith("_")}
    assert promised
    assert promised <= used_by(SUITES[port])
