"""The hook at the start of a conversation of agents other than Claude Code: each has its own words for the same call.

What they are given is the same. Nothing is written to a journal: they do not tell when a turn or a session ends.
"""

from __future__ import annotations

import os

from rekindle.core import lean_json
from rekindle.hooks.recovery import recovery

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

#: Copilot has names of its own for fields and sources, and takes what it is told without a frame.
_COPILOT = "copilot"
_SOURCES = {"new": "startup"}


def started(given: bytes, agent: str, cwd: str, environment: Mapping[str, str], parent: int) -> str:
    """What the hook says at the start of a conversation; "" if there is nothing. Raises what goes wrong."""
    from rekindle.adapters.git import repository

    call = lean_json.loads(given)
    if not isinstance(call, dict):
        raise ValueError("standard input is not a JSON object")
    named = call.get("cwd")
    here = named if isinstance(named, str) and os.path.isdir(named) else cwd
    source, session = call.get("source"), call.get("session_id", call.get("sessionId"))
    asked: dict[str, object] = {"source": _SOURCES.get(str(source), source), "session_id": session}
    text = recovery(asked, repository.find(here), here, environment, parent)
    if not text:
        return ""
    if agent == _COPILOT:
        return lean_json.compact({"additionalContext": text})
    said = {"hookEventName": "SessionStart", "additionalContext": text}
    return lean_json.compact({"hookSpecificOutput": said})
