"""Codex's rollout of a thread: what its records mean. Checked against the real program, 0.166.0."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import structs

from rekindle.agents.acp.told import answers
from rekindle.agents.base import fields
from rekindle.agents.base.acknowledged import Lacking, Spoken, lacking
from rekindle.agents.base.json_lines import JsonLines, Reading, home
from rekindle.agents.base.lenient import parse

_CALLS: Final = ("function_call", "custom_tool_call", "local_shell_call")
_RESULTS: Final = ("function_call_output", "custom_tool_call_output")
#: What a dying Codex records for a running command: nobody knows what the command has done.
_ABORTED: Final = "aborted by user"
#: How the text that Codex adds in the user's name begins: where it works, the project's instructions, a cut turn.
_ITS_OWN: Final = ("<", "# AGENTS.md instructions")
#: How a citation of a file begins in the model's text.
_CITATION: Final = "\u3010"
_BEGAN: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)", re.ASCII)


class CodexMeaning:
    """See `rekindle.agents.base.json_lines.Meaning`."""

    def place(self, environment: Mapping[str, str], cwd: str, token: str) -> str:
        """In a folder for the day, named with the second, that it began in local time: the token tells neither."""
        folder = posixpath.join(home(environment, "CODEX_HOME", ".codex"), "sessions", "*", "*", "*")
        return posixpath.normpath(posixpath.join(cwd, folder, f"rollout-*-{token}.jsonl"))

    def is_record(self, found: dict[str, Any]) -> bool:
        return isinstance(found.get("type"), str) and "timestamp" in found and isinstance(found.get("payload"), dict)

    def name(self, record: dict[str, Any]) -> str | None:
        return None

    def take(self, record: dict[str, Any], reading: Reading) -> None:
        payload = fields.mapping(record.get("payload"))
        match record.get("type"), payload:
            case "event_msg", {"type": "item_completed", "item": {"type": "UserMessage", "content": content}}:
                reading.confirm(_text(content), fields.text(payload.get("thread_id")))
            case "session_meta", {"id": str(thread)}:
                reading.begin(thread)
            case "response_item", {"type": "message", "role": "user", "content": content}:
                reading.give(_text(content))
            case "compacted", _:
                reading.compacted()
            case "response_item", {"type": "message", "role": "assistant", "content": content}:
                reading.say(_text(content), fields.text(payload.get("id")))
            case "response_item", {"type": kind, "call_id": str(call)} if kind in _CALLS:
                given = payload.get("arguments") or payload.get("input") or payload.get("action")
                name = fields.text(payload.get("name"), "shell")
                reading.start(call, f"{name} {given or ''}".strip(), "execute")
            case "response_item", {"type": kind, "call_id": str(call)} if kind in _RESULTS:
                if not fields.text(payload.get("output")).rstrip().endswith(_ABORTED):
                    reading.finish(call)


class CodexTranscript(JsonLines):
    """See `rekindle.agents.base.transcript.TranscriptDialect`."""

    def __init__(self) -> None:
        super().__init__(CodexMeaning())

    def acknowledged(self, attempts: Iterable[Iterable[bytes]]) -> tuple[Spoken, ...]:
        """Codex uses the same names for its answers in its output and in its file."""
        return answers(attempts)

    def lacks(self, data: bytes, expected: tuple[Spoken, ...], written: frozenset[str]) -> Lacking:
        """The adapter shows file citations in another form, so an answer with one only has to exist."""
        record = self.read(data)
        there = record.turns
        cited = {one.id: one.text for one in there if one.id and _CITATION in one.text}
        asked = [structs.replace(one, text=cited[one.id]) if one.id in cited else one for one in expected]
        found = lacking(asked, there, written)
        strange = tuple(one for one in record.unconfirmed if not one.lstrip().startswith(_ITS_OWN))
        # it may repeat, in its own words, what it has summarised
        return structs.replace(found, foreign=record.foreign, unconfirmed=() if record.compactions else strange)


def _text(content: object) -> str:
    return "".join(fields.text(one.get("text")) for one in fields.mappings(content))


def new_place(pattern: str, data: bytes) -> str | None:
    """Where a rollout from elsewhere belongs: its first record says when the thread began."""
    first = fields.mapping(parse(data.partition(b"\n")[0]))
    began = _BEGAN.match(fields.text(fields.mapping(first.get("payload")).get("timestamp")))
    if began is None:
        return None
    year, month, day, *clock = began.groups()
    found = iter([year, month, day, f"{year}-{month}-{day}T{'-'.join(clock)}"])
    return "".join(next(found) if part == "*" else part for part in re.split(r"(\*)", pattern))
