"""What Claude Code said and started in the running turn.

Text comes twice if partial messages are on: piece by piece, and then as a whole block. The pieces count, because they
are there when the agent is killed; from a whole block only what no piece contained.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from rekindle.agents.base import fields
from rekindle.agents.base.observation import Observation, OpenTool, Said, ToolChanged, ToolStarted
from rekindle.agents.claude import tools

MOST_SAID: Final = 64 * 1024
_MOST_OUTPUT: Final = 64 * 1024


class Words:
    """Text, thoughts and tool calls since the previous turn ended."""

    def __init__(self) -> None:
        self._said: deque[str] = deque()
        self._length = 0
        self._tools: dict[str, OpenTool] = {}
        self._finished: set[str] = set()
        self._bits: dict[str, str] = {"text": "", "thinking": ""}

    @property
    def said(self) -> str:
        """The agent's text without its thoughts: the last MOST_SAID characters."""
        return "".join(self._said)[-MOST_SAID:]

    @property
    def tools(self) -> tuple[OpenTool, ...]:
        """Tool calls that were started and are not known to have ended."""
        return tuple(self._tools.values())

    @property
    def finished(self) -> tuple[str, ...]:
        """The ids of the tool calls that have ended, sorted."""
        return tuple(sorted(self._finished))

    def partial(self, value: dict[str, Any]) -> list[Observation]:
        """A piece of a message that is still being written."""
        event = fields.mapping(value.get("event"))
        if event.get("type") in ("message_start", "content_block_start"):
            self._bits = {"text": "", "thinking": ""}
            return []
        delta = fields.mapping(event.get("delta"))
        for kind in self._bits:
            bit = fields.text(delta.get(kind))
            if bit and fields.text(delta.get("type")) == f"{kind}_delta":
                self._bits[kind] += bit
                return self._say(bit, thought=kind == "thinking" or _is_inner(value))
        return []

    def assistant(self, value: dict[str, Any]) -> list[Observation]:
        """A whole block, or several."""
        found: list[Observation] = []
        for block in fields.mappings(fields.mapping(value.get("message")).get("content")):
            match block.get("type"):
                case "text" | "thinking" as kind:
                    whole = fields.text(block.get(kind))
                    bits, self._bits[kind] = self._bits[kind], ""
                    rest = whole.removeprefix(bits) if whole.startswith(bits) else whole
                    if rest:
                        found += self._say(rest, thought=kind == "thinking" or _is_inner(value))
                case "tool_use":
                    found += self._start(block)
        return found

    def results(self, content: object) -> list[Observation]:
        """The results of tools."""
        found: list[Observation] = []
        for block in fields.mappings(content):
            if block.get("type") != "tool_result":
                continue
            name = fields.text(block.get("tool_use_id"))
            self._tools.pop(name, None)
            self._finished.add(name)
            status = "failed" if block.get("is_error") is True else "completed"
            output = tools.output(block.get("content"))[-_MOST_OUTPUT:]
            found.append(ToolChanged(tool_id=name, status=status, output=output))
        return found

    def _start(self, block: dict[str, Any]) -> list[Observation]:
        name = fields.text(block.get("id"))
        if name in self._tools or name in self._finished:
            return []
        tool, given = fields.text(block.get("name")), fields.mapping(block.get("input"))
        title, kind, paths = tools.title(tool, given), tools.kind(tool), fields.input_paths(given)
        self._tools[name] = OpenTool(tool_id=name, title=title, kind=kind, paths=paths, status="pending")
        return [ToolStarted(tool_id=name, title=title, kind=kind, paths=paths)]

    def _say(self, words: str, *, thought: bool) -> list[Observation]:
        if not thought:
            self._said.append(words)
            self._length += len(words)
            while self._length - len(self._said[0]) >= MOST_SAID:
                self._length -= len(self._said.popleft())
        return [Said(words, thought)]


def _is_inner(value: dict[str, Any]) -> bool:
    """Whether this is the text of a subagent: to the reader it is a thought."""
    return isinstance(value.get("parent_tool_use_id"), str)
