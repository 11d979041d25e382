"""Claude Code's tools in the same terms as those of all agents."""

from __future__ import annotations

import json
from typing import Any, Final

from rekindle.agents.base import fields

_KINDS: Final = {
    "Bash": "execute",
    "BashOutput": "read",
    "Edit": "edit",
    "Glob": "search",
    "Grep": "search",
    "KillShell": "execute",
    "LS": "read",
    "MultiEdit": "edit",
    "NotebookEdit": "edit",
    "NotebookRead": "read",
    "Read": "read",
    "WebFetch": "fetch",
    "WebSearch": "fetch",
    "Write": "edit",
}
_LONGEST_TITLE: Final = 500


def kind(name: str) -> str:
    """The tool's kind in ACP's terms."""
    return _KINDS.get(name, "other")


def title(name: str, given: dict[str, Any]) -> str:
    """A tool call in one line: a command as it is, else the tool and what it works on."""
    command = fields.text(given.get("command"))
    if command:
        return command[:_LONGEST_TITLE]
    paths = fields.input_paths(given)
    about = paths[0] if paths else json.dumps(given, ensure_ascii=False, default=str) if given else ""
    return f"{name} {about}".rstrip()[:_LONGEST_TITLE]


def output(content: object) -> str:
    """What a tool's result says."""
    if isinstance(content, str):
        return content
    return "\n".join(fields.block_text(block) for block in fields.mappings(content))
