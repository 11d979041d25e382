"""What the agent has reported since the last boundary in its own stream: text, tool calls, plan.

A boundary is a line from the agent (a conversation was opened, a turn ended), never one of our messages: nothing
records how the two spools interleaved in time, and what is open must not depend on it.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from rekindle.agents.base import fields
from rekindle.agents.base.observation import (
    ContextUsed,
    Observation,
    OpenTool,
    PlanEntry,
    PlanShown,
    Said,
    ToolChanged,
    ToolStarted,
    Unknown,
    UserEchoed,
    UserReplayed,
)

MOST_SAID: Final = 64 * 1024
_MOST_OUTPUT: Final = 64 * 1024
_FINISHED: Final = frozenset({"completed", "failed"})


class Segment:
    """`follows_load`: replayed updates may arrive late, after the answer to the load."""

    def __init__(self, *, follows_load: bool = False) -> None:
        self._follows_load = follows_load
        self._words: deque[str] = deque()
        self._length = 0  # of the text that is kept
        self._tools: dict[str, OpenTool] = {}
        self._finished: set[str] = set()
        self._only_asked_for: set[str] = set()  # tools that nobody has allowed yet, and that no update has shown to run
        self._questions: dict[str, str] = {}
        self._just_failed: dict[str, OpenTool] = {}  # with nothing said or done after it

    @property
    def said(self) -> str:
        """The agent's text without its thoughts: the last MOST_SAID characters."""
        return "".join(self._words)[-MOST_SAID:]

    @property
    def last(self) -> str:
        """The last piece of the agent's text."""
        return self._words[-1] if self._words else ""

    @property
    def tools(self) -> tuple[OpenTool, ...]:
        return tuple(tool for name, tool in self._tools.items() if name not in self._only_asked_for)

    @property
    def finished(self) -> tuple[str, ...]:
        """The ids of the tool calls that have ended, sorted."""
        return tuple(sorted(self._finished))

    def tool(self, tool_id: str) -> OpenTool | None:
        return self._tools.get(tool_id)

    def ask(self, question: str, tool: dict[str, Any]) -> None:
        """The agent asks for permission. Some agents mention a tool, or what it does, only now."""
        tool_id = fields.text(tool.get("toolCallId"))
        if tool_id in self._finished:
            return
        self._questions[question] = tool_id
        if tool_id not in self._tools:
            self._only_asked_for.add(tool_id)
        self._tools[tool_id] = _merged(tool_id, self._tools.get(tool_id), tool)

    def allow(self, question: str) -> None:
        """The permission was given: the tool may run from now on."""
        self._only_asked_for.discard(self._questions.get(question, ""))

    def reopen(self) -> None:
        """The turn was cut off: an agent that is about to die reports what it was doing as a failure."""
        self._finished -= self._just_failed.keys()
        self._tools |= self._just_failed

    def update(self, update: dict[str, Any], *, replay: bool) -> list[Observation]:
        """Fold one `session/update`. `replay` only marks the observations; what is kept does not depend on it."""
        kind = fields.text(update.get("sessionUpdate"))
        match kind:
            case "user_message_chunk":
                return self._user(fields.block_text(update.get("content")), replay)
            case "agent_message_chunk" | "agent_thought_chunk":
                return self._say(fields.block_text(update.get("content")), kind == "agent_thought_chunk", replay)
            case "tool_call" | "tool_call_update":
                return self._tool(update, replay)
            case "plan":
                return [_plan(update, replay)]
            case "plan_update" if "entries" in fields.mapping(update.get("plan")):
                return [_plan(update["plan"], replay)]
            case "usage_update":
                used, size = fields.integer(update.get("used")), fields.integer(update.get("size"))
                if used is not None and size is not None:
                    return [ContextUsed(used, size)]
        return [Unknown(f"session/update {kind}".rstrip())]

    def _user(self, words: str, replay: bool) -> list[Observation]:
        if self._follows_load:
            # The user's prompt comes before the answer to it, so everything so far was a late replay.
            self._words.clear()
            self._length = 0
            self._tools.clear()
            self._finished.clear()
            self._only_asked_for.clear()
            self._questions.clear()
            self._just_failed.clear()
        return [UserReplayed(words) if replay else UserEchoed(words)]

    def _say(self, words: str, thought: bool, replay: bool) -> list[Observation]:
        self._just_failed.clear()
        if not thought and words:
            self._words.append(words)
            self._length += len(words)
            while self._length - len(self._words[0]) >= MOST_SAID:
                self._length -= len(self._words.popleft())
        return [Said(words, thought, replay)]

    def _tool(self, update: dict[str, Any], replay: bool) -> list[Observation]:
        tool_id = fields.text(update.get("toolCallId"))
        known = self._tools.get(tool_id)
        status = fields.optional_text(update.get("status"))
        title = fields.optional_text(update.get("title"))
        observed: list[Observation] = []
        if tool_id not in self._finished:
            tool = _merged(tool_id, known, update)
            self._tools[tool_id] = tool
            is_new = known is None or tool_id in self._only_asked_for
            self._only_asked_for.discard(tool_id)
            if is_new and update.get("sessionUpdate") == "tool_call":
                observed.append(
                    ToolStarted(tool_id=tool_id, title=tool.title, kind=tool.kind, paths=tool.paths, replay=replay)
                )
            if status != "failed":
                self._just_failed.clear()
            if status in _FINISHED:
                del self._tools[tool_id]
                self._finished.add(tool_id)
            if status == "failed":
                self._just_failed[tool_id] = tool
        output = fields.tool_output(update)
        if not observed or status in _FINISHED or output is not None:
            output = None if output is None else output[-_MOST_OUTPUT:]
            observed.append(ToolChanged(tool_id=tool_id, status=status, title=title, output=output, replay=replay))
        return observed


def _merged(tool_id: str, known: OpenTool | None, update: dict[str, Any]) -> OpenTool:
    paths = fields.tool_paths(update)
    return OpenTool(
        tool_id=tool_id,
        title=fields.text(update.get("title"), known.title if known else ""),
        kind=fields.text(update.get("kind"), known.kind if known else "other"),
        paths=tuple(dict.fromkeys((*(known.paths if known else ()), *paths))),
        status=fields.text(update.get("status"), known.status if known else "pending"),
        command=fields.tool_command(update) or (known.command if known else ""),
    )


def _plan(plan: dict[str, Any], replay: bool) -> PlanShown:
    entries = (
        PlanEntry(fields.text(one.get("content")), fields.text(one.get("status")), fields.text(one.get("priority")))
        for one in fields.mappings(plan.get("entries"))
    )
    return PlanShown(tuple(entries), replay)
