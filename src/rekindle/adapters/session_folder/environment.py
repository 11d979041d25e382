"""The environment that a session was started in, in a file of its own: it may hold keys, so it is private."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping

from rekindle import files
from rekindle.adapters.session_folder.layout import SessionFolder

#: What belongs to the caller's terminal or to an outer agent, and not to the agent that is started.
_LEFT_OUT = (
    "REKINDLE_STAMP",
    "REKINDLE_SID",
    "REKINDLE_FEATURE",
    "REKINDLE_AGENT",
    "_REKINDLE_COMPLETE",
    "OLDPWD",
    "PWD",
)


def write(folder: str, env: Mapping[str, str]) -> None:
    """Keep an environment in a session's folder. On disk when this returns. Raises OSError."""
    kept = {name: value for name, value in env.items() if name not in _LEFT_OUT}
    files.replace(SessionFolder(folder).environment, json.dumps(kept).encode(), mode=0o600, durable=True)


def sweep(sessions: str, before: float) -> int:
    """Remove what daemons that were killed while writing left in sessions' folders: it may hold keys.

    `before` is when this daemon began: what is older nobody writes any more. Returns how many files that were.
    """
    removed = 0
    for folder in os.scandir(sessions):
        if not folder.is_dir(follow_symlinks=False):
            continue
        with contextlib.suppress(OSError):
            left = [one for one in os.scandir(folder.path) if one.name.endswith(".tmp")]
            for one in left:
                if one.is_file(follow_symlinks=False) and one.stat(follow_symlinks=False).st_mtime < before:
                    os.unlink(one.path)
                    removed += 1
    return removed


def read(folder: str) -> dict[str, str] | None:
    """The environment of a session; None if it cannot be read."""
    try:
        kept = json.loads(files.read(SessionFolder(folder).environment))
    except (OSError, ValueError):
        return None
    if not isinstance(kept, dict):
        return None
    return {name: value for name, value in kept.items() if isinstance(value, str)}
