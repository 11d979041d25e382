"""OpenCode's database rows of a conversation: what they mean. Checked against the real program, 1.18.33.

It keeps all conversations in one database. A message has parts; one that shortens the conversation is a user message
with a part `compaction`, and the model no longer gets what comes before it. The agent says nothing about this while
it works, and a load replays the messages from before it as if the model had them.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from typing import Any, Final

from rekindle.agents.base import fields
from rekindle.agents.base.json_lines import Reading, home
from rekindle.agents.base.lenient import parse
from rekindle.agents.base.transcript import NoPlace, Record

_MEMORY: Final = ":memory:"


class OpenCodeRows:
    """See `rekindle.agents.base.kind.DatabaseDialect`."""

    query = (
        "SELECT message.id, message.data, part.data FROM message LEFT JOIN part ON part.message_id = message.id"
        " WHERE message.session_id = ? ORDER BY message.time_created, message.id, part.id"
    )

    def place(self, environment: Mapping[str, str], cwd: str) -> str:
        """The database's path. Raises NoPlace."""
        own = posixpath.join(home(environment, "XDG_DATA_HOME", ".local/share"), "opencode")
        name = environment.get("OPENCODE_DB") or "opencode.db"
        if name == _MEMORY:
            raise NoPlace("the agent keeps its conversations in memory only")
        return posixpath.normpath(posixpath.join(cwd, own, name))

    def read(self, rows: Iterable[tuple[object, ...]]) -> Record:
        """What the rows say, as far as they can be read."""
        reading = Reading()
        before: object = None
        prompt: list[str] = []
        for name, message, part in rows:
            if name != before:
                _said(prompt, reading)
                reading.entry(fields.text(name))
                before = name
            _take(_object(message), _object(part), prompt, reading)
        _said(prompt, reading)
        return reading.record([])


def _take(message: dict[str, Any], part: dict[str, Any], prompt: list[str], reading: Reading) -> None:
    match message.get("role"), part.get("type"):
        case "user", "compaction":
            reading.compacted()
        case "user", "text" if part.get("synthetic") is not True:
            prompt.append(fields.text(part.get("text")))
        case "assistant", "text" if message.get("summary") is not True:
            reading.say(fields.text(part.get("text")))


def _said(prompt: list[str], reading: Reading) -> None:
    if prompt:
        reading.prompt("".join(prompt))
        prompt.clear()


def _object(text: object) -> dict[str, Any]:
    found = parse(text.encode("utf-8", "replace")) if isinstance(text, str) else None
    return found if isinstance(found, dict) else {}
