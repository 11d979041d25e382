"""Claude Code's own conversation file: where it is, what it says, and how to repair it.

One JSON record per line, appended without a lock by every process that continues the conversation. Most records are
not part of what was said; those that are form a tree. This module reports the branch that a resume would load
(`opened`), never what merely happens to be in the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from rekindle.agents.base import fields
from rekindle.agents.base.acknowledged import Lacking, Spoken, lacking
from rekindle.agents.base.observation import OpenTool
from rekindle.agents.base.transcript import Record, Repaired
from rekindle.agents.base.transcript_lines import KeptRecord, lines, repaired
from rekindle.agents.claude import tools
from rekindle.agents.claude.opened import MEASURED, LeafRule, LoadedBranch, Row, above, is_row, opened, rows_below
from rekindle.agents.claude.spoken import NOBODY, prompt, spoken, told
from rekindle.agents.claude.transcript_place import place

#: Every record has one of these; no object inside a record has one of them together with a type.
_IDENTITIES: Final = ("uuid", "sessionId", "leafUuid", "messageId")
_NEWEST: Final = list(MEASURED.values())[-1]


class ClaudeTranscript:
    """See `rekindle.agents.base.transcript.TranscriptDialect`."""

    def place(self, environment: Mapping[str, str], cwd: str, token: str) -> str:
        """`${CLAUDE_CONFIG_DIR-$HOME/.claude}/projects/SLUG/TOKEN.jsonl`. Raises NoPlace."""
        return place(environment, cwd, token)

    def read(self, data: bytes) -> Record:
        """What a resume would load; a command that a person typed is among the prompts as typed."""
        kept, problems = _parsed(data)
        records = [one.record for one in kept]
        return _record(opened(records, _rule(records)), kept, problems)

    def repair(self, data: bytes) -> Repaired:
        """Complete records, one per line: the agent skips a line that it cannot read, but appends the next to it."""
        return repaired(data, _is_record)

    def acknowledged(self, attempts: Iterable[Iterable[bytes]]) -> tuple[Spoken, ...]:
        """What the agent reported in its stream, by the uuids that its transcript has too."""
        return told(attempts)

    def written(self, data: bytes) -> frozenset[str]:
        """The uuids of everything that was said, on any branch."""
        return frozenset(fields.text(one.record.get("uuid")) for one in _parsed(data)[0] if is_row(one.record))

    def lacks(self, data: bytes, expected: tuple[Spoken, ...], written: frozenset[str]) -> Lacking:
        """What a resume would lack with the version that loads the least: nobody knows beforehand which one will."""
        records = [one.record for one in _parsed(data)[0]]
        found = [lacking(expected, _turns(opened(records, rule)), written) for rule in LeafRule]
        return max(found, key=lambda one: (one.prompts, one.answers, one.summary))

    def redirected(self, data: bytes, expected: tuple[Spoken, ...], written: frozenset[str]) -> Repaired | None:
        """One more line that names the row where a resume begins: the newest whose branch has everything."""
        records = [one.record for one in _parsed(data)[0]]
        demanded = [one for one in expected if (one.sure or one.id in written) and one.role in ("user", "assistant")]
        session = next((one["sessionId"] for one in reversed(records) if isinstance(one.get("sessionId"), str)), "")
        if not demanded:
            return None
        for leaf in reversed(rows_below(records, demanded[-1].id)[-_MOST_LEAVES:]):
            named = {"type": "last-prompt", "leafUuid": leaf, "sessionId": session, "explicit": True}
            ended = data if not data or data.endswith(b"\n") else data + b"\n"
            changed = ended + json.dumps(named, separators=(",", ":")).encode() + b"\n"
            if not self.lacks(changed, expected, written).any:
                return Repaired(changed, (f"a resume would have loaded another branch; it is led to {leaf} now",))
        return None

    def went_on(self, data: bytes, size: int) -> Record | None:
        """The branch above the first row after `size` bytes. If the version is unknown, a gap in it counts as a gap."""
        added, _ = _parsed(data[size:])
        first = next((one.record for one in added if _begins(one.record)), None)
        if first is None:
            return None
        kept, problems = _parsed(data)
        records = [one.record for one in kept]
        splices = fields.text(first.get("version")) in MEASURED
        return _record(above(records, fields.text(first.get("uuid")), splices=splices), kept, problems)


#: How many leaves are tried, newest first.
_MOST_LEAVES: Final = 50


class _Reading:
    """What the rows so far add up to."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.tools: dict[str, OpenTool] = {}
        self.points: dict[str, str] = {}
        self._message = ""  # the id of the answer that was written last
        self._speaker = ""  # the id of the answer that the text belongs to

    def take(self, row: Row) -> None:
        content = fields.mapping(row.get("message")).get("content")
        match row.get("type"):
            case "user":
                self._user(content)
            case "assistant" if fields.mapping(row.get("message")).get("model") != NOBODY:
                self._assistant(fields.text(row["message"].get("id")), content)
                if self.words and not self.tools:
                    self.points[row["uuid"]] = self.words[-1][:80]

    def _user(self, content: object) -> None:
        results = [block for block in fields.mappings(content) if block.get("type") == "tool_result"]
        for block in results:
            self.tools.pop(fields.text(block.get("tool_use_id")), None)
        if not results:
            self.tools.clear()  # the conversation has continued without them

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


def _record(branch: LoadedBranch, kept: list[KeptRecord], problems: list[str]) -> Record:
    reading = _Reading()
    for row in branch.rows:
        reading.take(row)
    loaded = {one.get("uuid") for one in branch.rows}
    summed_up = [one for one in branch.behind if one.get("uuid") not in loaded]
    prompts = (prompt(row) for row in [*summed_up, *branch.rows])
    return Record(
        prompts=tuple(one for one in prompts if one is not None),
        entries=tuple(_entry(one) for one in kept),
        said="\n".join(reading.words),
        open_tools=tuple(reading.tools.values()),
        problems=tuple(problems),
        points=tuple(reading.points.items()),
        turns=_turns(branch),
    )


def _turns(branch: LoadedBranch) -> tuple[Spoken, ...]:
    return tuple(one for row in branch.rows if (one := spoken(row)) is not None)


def _entry(kept: KeptRecord) -> str:
    return fields.text(kept.record.get("uuid")) or hashlib.sha256(kept.data.strip()).hexdigest()


def _parsed(data: bytes) -> tuple[list[KeptRecord], list[str]]:
    kept: list[KeptRecord] = []
    problems: list[str] = []
    for line in lines(data, _is_record):
        if line.problem:
            problems.append(line.problem)
        kept += line.kept
    return kept, problems


def _rule(records: list[Row]) -> LeafRule:
    """The rule of the version that wrote last; if that was not measured, the rule of the newest measured one."""
    version = next((one["version"] for one in reversed(records) if isinstance(one.get("version"), str)), "")
    return MEASURED.get(version, _NEWEST)


def _begins(record: Row) -> bool:
    """Whether the agent's first new record shows what it continues: a message, or the end of what it summarised."""
    is_message = record.get("type") in ("user", "assistant") or record.get("subtype") == "compact_boundary"
    return is_row(record) and is_message and record.get("isSidechain") is not True


def _open_tool(tool_id: str, block: dict[str, Any]) -> OpenTool:
    name, given = fields.text(block.get("name")), fields.mapping(block.get("input"))
    return OpenTool(
        tool_id=tool_id,
        title=tools.title(name, given),
        kind=tools.kind(name),
        paths=fields.input_paths(given),
        status="pending",
    )


def _is_record(found: dict[str, Any]) -> bool:
    return isinstance(found.get("type"), str) and any(key in found for key in _IDENTITIES)
