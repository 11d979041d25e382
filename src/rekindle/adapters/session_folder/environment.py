"""The environment that a session was started in, in a file of its own: it may hold keys, so it is private."""

from __future__ import annotations

import json
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


def read(folder: str) -> dict[str, str] | None:
    """The environment of a session; None if it cannot be read."""
    try:
        kept = json.loads(files.read(SessionFolder(folder).environment))
    except (OSError, ValueError):
        return None
    if not isinstance(kept, dict):
        return None
    return {name: value for name, value in kept.items() if isinstance(value, str)}
