"""Where skill sessions and skills are: in the worktree, and in the user's home. Light standard library only."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from rekindle.adapters.git.repository import Repository

DEFAULT = "sessions"
_SETTING = "skill_sessions_dir"


def sessions_root(repo: Repository | None, setting: str | None, here: str) -> str:
    """The folder that skill sessions are in. Raises ForeignRepository if a link leads out of the repository."""
    configured = setting or DEFAULT
    if repo is None:
        return os.path.normpath(os.path.join(here, configured))
    return repo.folder(configured, _SETTING, repo.top)


def skill_places(repo: Repository | None, environment: Mapping[str, str], here: str) -> list[str]:
    """Where skills are looked for, in this order."""
    top = here if repo is None else repo.top or repo.root
    home = environment.get("CLAUDE_CONFIG_DIR") or os.path.join(
        environment.get("HOME") or os.path.expanduser("~"), ".claude"
    )
    places = [os.path.join(top, ".claude", "skills"), os.path.join(home, "skills")]
    return list(dict.fromkeys(places))
