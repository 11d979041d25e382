"""Claude Code's own file of a conversation: where it is, what it tells, and how it is made whole again.

One JSON record a line, appended by every process that goes on with the conversation, without a lock. Most records are
not part of what was said; those that are form a tree, and are read here in the order in which they were written.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

from rekindle.agents import fields
from rekindle.agents.claude import tools
from rekindle.agents.claude.transcript_place import place
from rekindle.agents.dialect import OpenTool
from rekindle.agents.transcript import Record, Repaired
from rekindle.agents.transcript_lines import Kept, lines, repaired

#: What the agent writes in the user's name, in records that it does not mark as its own.
_NOT_TYPED: Final = ("[Request interrupted by user", "<local-command-", "<bash-")
_COMMAND: Final = re.compile(r"\s*<command-(?:name|message)>")
_COMMAND_NAME: Final = re.compile(r"<command-name>(.*?)</command-name>", re.DOTALL)
_COMMAND_ARGUMENTS: Final = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_ITS_OWN: Final = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")
_NOBODY: Final = "<synthetic>"
#: Every record has one of these; no object inside of a record has one of them together with a type.
_IDENTITIES: Final = ("uuid", "sessionId", "leafUuid", "messageId")


class ClaudeTranscript:
    """See `rekindle.agents.transcript.TranscriptDialect`."""

    def place(self, environment: Mapping[str, str], cwd: str, token: str) -> str:
        """`${CLAUDE_CONFIG_DIR-$HOME/.claude}/projects/SLUG/TOKEN.jsonl`. Raises NoPlace."""
        return place(environment, cwd, token)

    def read(self, data: bytes) -> Record:
        """What the file tells; a command that a person typed is among the prompts as it was typed."""
        reading = _Reading()
        problems = []
        for line in lines(data, _is_record):
            if line.problem:
                problems.append(line.problem)
            for kept in line.kept:
                reading.take(kept)
        return Record(
            prompts=tuple(reading.prompts),
            entries=tuple(reading.entries),
            said="\n".join(reading.words),
            open_tools=tuple(reading.tools.values()),
            problems=tuple(problems),
            points=tuple(reading.points.items()),
        )

    def repair(self, data: bytes) -> Repaired:
        """Whole records, one a line: the agent passes over a line that it cannot read, but glues the next to it."""
        return repaired(data, _is_record)


class _Reading:
    """What the records so far add up to."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.entries: list[str] = []
        self.words: list[str] = []
        self.tools: dict[str, OpenTool] = {}
        self.points: dict[str, str] = {}
        self._message = ""  # the id of the answer that was written last
        self._speaker = ""  # the id of the answer that the words are from

    def take(self, kept: Kept) -> None:
        record = kept.record
        self.entries.append(fields.text(record.get("uuid")) or hashlib.sha256(kept.data.strip()).hexdigest())
        if record.get("isSidechain") is True:
            return
        prompt = _prompt(record)
        if prompt is not None:
            self.prompts.append(prompt)
        content = fields.mapping(record.get("message")).get("content")
        match record.get("type"):
            case "user":
                self._user(content)
            case "assistant" if fields.mapping(record.get("message")).get("model") != _NOBODY:
                self._assistant(fields.text(record["message"].get("id")), content)
                if self.words and not self.tools and isinstance(record.get("uuid"), str):
                    self.points[record["uuid"]] = self.words[-1][:80]

    def _user(self, content: object) -> None:
        results = [block for block in fields.mappings(content) if block.get("type") == "tool_result"]
        for block in results:
            self.tools.pop(fields.text(block.get("tool_use_id")), None)
        if not results:
            self.tools.clear()  # the conversation has gone on without them

    def _assistant(self, message: str, content: object) -> None:
        if message != self._message:
            self.tools.clear()
        self._message = message
        for block in fields.mappings(content):
            match block:
                case {"type": "text", "text": str(words)}:
                    if message != self._speaker:
                        self.words.clear()
                    self._speaker = message
                    self.words.append(words)
                case {"type": "tool_use", "id": str(tool_id)}:
                    self.tools[tool_id] = _open_tool(tool_id, block)


def _open_tool(tool_id: str, block: dict[str, Any]) -> OpenTool:
    name, given = fields.text(block.get("name")), fields.mapping(block.get("input"))
    return OpenTool(
        tool_id=tool_id,
        title=tools.title(name, given),
        kind=tools.kind(name),
        paths=fields.input_paths(given),
        status="pending",
    )


def _prompt(record: dict[str, Any]) -> str | None:
    """What somebody sent, if that is what a record is."""
    if any(record.get(mark) is True for mark in _ITS_OWN):
        return None
    match record:
        case {"type": "user", "message": {"content": content}}:
            if any(block.get("type") == "tool_result" for block in fields.mappings(content)):
                return None
            words = _words(content)
            return words if "promptSource" in record else _typed(words)
        case {"type": "attachment", "attachment": {"type": "queued_command", "prompt": content, **rest}}:
            return _words(content) if rest.get("commandMode", "prompt") == "prompt" else None
        case {"type": "system", "subtype": "local_command", "content": str(words)}:
            return _typed(words)
        case _:
            return None


def _words(content: object) -> str:
    return content if isinstance(content, str) else "\n".join(map(fields.block_text, fields.mappings(content)))


def _typed(words: str) -> str | None:
    """What was typed, if it was: the agent writes commands in a form of its own, and notes in the user's name."""
    if _COMMAND.match(words):
        name, arguments = _COMMAND_NAME.search(words), _COMMAND_ARGUMENTS.search(words)
        return f"{name[1] if name else ''} {arguments[1] if arguments else ''}".strip() or None
    return None if words.lstrip().startswith(_NOT_TYPED) or not words else words


def _is_record(found: dict[str, Any]) -> bool:
    return isinstance(found.get("type"), str) and any(key in found for key in _IDENTITIES)
