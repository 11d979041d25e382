"""What a Claude Code record says to the model, or for it: its transcript and its stream have the same messages.

Both name a message by the same uuid, so that what the agent reported can be found in what it wrote down.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace

from rekindle.agents.base import fields
from rekindle.agents.base.acknowledged import Spoken
from rekindle.agents.base.lenient import parse

#: What the agent writes in the user's name, in records that it does not mark as its own.
_NOT_TYPED: Final = ("[Request interrupted by user", "<local-command-", "<bash-")
_COMMAND: Final = re.compile(r"\s*<command-(?:name|message)>")
_COMMAND_NAME: Final = re.compile(r"<command-name>(.*?)</command-name>", re.DOTALL)
_COMMAND_ARGUMENTS: Final = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_ITS_OWN: Final = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")
#: The speaker when the agent itself puts words into the model's mouth.
NOBODY: Final = "<synthetic>"


def spoken(row: dict[str, Any]) -> Spoken | None:
    """A row of a transcript as a message: None if it is not one, or if the agent added it on its own."""
    name = fields.text(row.get("uuid"))
    if row.get("type") == "system" and row.get("subtype") == "compact_boundary":
        return Spoken("boundary", id=name)
    if row.get("isCompactSummary") is True:
        return Spoken("summary", _words(fields.mapping(row.get("message")).get("content")), name)
    text = prompt(row)
    if text is not None:
        return Spoken("user", text, name)
    return _answer(row, name)


def prompt(row: dict[str, Any]) -> str | None:
    """What somebody sent, if the row is that; a command that a person typed is given as typed."""
    if any(row.get(mark) is True for mark in _ITS_OWN):
        return None
    match row:
        case {"type": "user", "message": {"content": content}}:
            if any(block.get("type") == "tool_result" for block in fields.mappings(content)):
                return None
            words = _words(content)
            return words if "promptSource" in row else _typed(words)
        case {"type": "attachment", "attachment": {"type": "queued_command", "prompt": content, **rest}}:
            return _words(content) if rest.get("commandMode", "prompt") == "prompt" else None
        case {"type": "system", "subtype": "local_command", "content": str(words)}:
            return _typed(words)
        case _:
            return None


def told(attempts: Iterable[Iterable[bytes]]) -> tuple[Spoken, ...]:
    """What the agent reported as received and said, in the lines of its processes, oldest first.

    A prompt counts as received when the agent repeats it. Whatever follows the last end of a turn was cut off, and
    what belongs to a failed turn may not have been written down.
    """
    found: list[Spoken] = []
    for lines in attempts:
        turn: list[Spoken] = []
        for line in lines:
            if line.startswith(b'{"type":"stream_event"') or not line:
                continue
            value = fields.mapping(parse(line))
            if value.get("type") == "result":
                found += turn if value.get("is_error") is not True else map(_doubted, turn)
                turn = []
            elif (one := _in_stream(value)) is not None:
                turn.append(one)
        found += map(_doubted, turn)
    return tuple(found)


def _in_stream(value: dict[str, Any]) -> Spoken | None:
    name = fields.text(value.get("uuid"))
    if isinstance(value.get("parent_tool_use_id"), str) or not name:
        return None
    match value:
        case {"type": "system", "subtype": "compact_boundary"}:
            return Spoken("boundary", id=name)
        case {"type": "user", "isReplay": True, "message": {"content": content}}:
            text = _typed(_words(content))
            return Spoken("user", text, name) if text is not None else None
        case {"type": "user", "isReplay": False, "isSynthetic": True, "message": {"content": content}}:
            return Spoken("summary", _words(content), name)
        case {"type": "assistant"} if not value.get("error"):
            return _answer(value, name)
        case _:
            return None


def _doubted(one: Spoken) -> Spoken:
    return one if one.role in ("boundary", "summary") else replace(one, sure=False)


def _answer(row: dict[str, Any], name: str) -> Spoken | None:
    match row:
        case {"type": "assistant", "message": {"content": content, **rest}} if rest.get("model") != NOBODY:
            texts = [fields.text(one.get("text")) for one in fields.mappings(content) if one.get("type") == "text"]
            return Spoken("assistant", "\n".join(texts), name) if texts else None
        case _:
            return None


def _words(content: object) -> str:
    return content if isinstance(content, str) else "\n".join(map(fields.block_text, fields.mappings(content)))


def _typed(words: str) -> str | None:
    """What was typed, if it was: the agent writes commands in its own form, and notes in the user's name."""
    if _COMMAND.match(words):
        name, arguments = _COMMAND_NAME.search(words), _COMMAND_ARGUMENTS.search(words)
        return f"{name[1] if name else ''} {arguments[1] if arguments else ''}".strip() or None
    return None if words.lstrip().startswith(_NOT_TYPED) or not words else words
