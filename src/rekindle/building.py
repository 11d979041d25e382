"""Use cases whose adapters take more than a few lines to put together; the composition root calls these.

Everything is imported where it is used, so that no command pays for the others.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from rekindle.app.booting import Booting
    from rekindle.app.skill_sessions import SkillSessions
    from rekindle.ports.ancestry import Ancestry
    from rekindle.ports.daemon import Daemon


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


def skill_sessions(environment: Mapping[str, str], ancestry: Ancestry) -> SkillSessions:
    """The skill sessions around the current folder."""
    from rekindle.adapters.git import repository
    from rekindle.adapters.skill_folder.folders import SkillFoldersHere
    from rekindle.adapters.skill_folder.roots import sessions_root, skill_places
    from rekindle.adapters.skills.proof_checker import JsonSchemaProofs
    from rekindle.adapters.skills.skill_files import SkillFilesHere
    from rekindle.app.skill_sessions import SkillSessions
    from rekindle.settings import load

    here = os.getcwd()
    found = repository.find(here)
    settings = load(environment, found.root if found is not None else None)
    root = sessions_root(found, settings.skill_sessions_dir, here)
    folders = SkillFoldersHere(root, settings.state_dir, environment, time.time)
    skills = SkillFilesHere(skill_places(found, environment, here))
    return SkillSessions(folders, skills, JsonSchemaProofs(), ancestry, environment)
