"""Where each agent keeps its hooks, and in which shape. Claude Code reports everything; the others, which know fewer
events, only give a fresh conversation what its skill session left.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

#: The hook events of Claude Code, each with what it matches.
EVENTS: Final[Mapping[str, str | None]] = {
    "SessionStart": None,
    "PreToolUse": "*",
    "PostToolUse": "*",
    "Stop": None,
    "SessionEnd": None,
}
_START: Final[Mapping[str, str | None]] = {"SessionStart": None}


class HookedAgent(NamedTuple):
    """`is_flat`: an event has its hooks right away, without groups. `is_own`: the file has nothing but our hook.

    `entry`: what an entry has besides the command, which is under `key`. `trust`: what a person has to do first.
    """

    folder: str
    file: str
    events: Mapping[str, str | None]
    entry: Mapping[str, object]
    key: str = "command"
    is_flat: bool = False
    is_own: bool = False
    trust: str = ""


HOOKED: Final[Mapping[str, HookedAgent]] = {
    "claude": HookedAgent(".claude", "settings.json", EVENTS, {"timeout": 10}),
    "codex": HookedAgent(
        ".codex",
        "hooks.json",
        _START,
        {"timeout": 10},
        trust="Codex runs it once you have trusted it: type /hooks in codex.",
    ),
    "gemini": HookedAgent(".gemini", "settings.json", _START, {}, trust="Gemini runs it in folders that you trust."),
    "qwen": HookedAgent(".qwen", "settings.json", _START, {}, trust="Qwen runs it in folders that you trust."),
    "copilot": HookedAgent(
        ".github/hooks",
        "rekindle.json",
        {"sessionStart": None},
        {"timeoutSec": 10},
        key="bash",
        is_flat=True,
        is_own=True,
        trust="Copilot runs it in folders that you trust.",
    ),
}
