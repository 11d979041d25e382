"""What the running turn has used so far, message by message.

The agent reports a message's tokens several times: when it begins, with each of its blocks, and when it is complete.
The highest figure counts.
"""

from __future__ import annotations

from typing import Any

from rekindle.agents.base import fields
from rekindle.agents.base.observation import ContextUsed, Observation
from rekindle.core.session.facts import Usage


def usage_in(given: object, cost: float | None = None) -> Usage:
    """Tokens as the agent's model counts them."""
    told = fields.mapping(given)

    def tokens(*names: str) -> int:
        return sum(fields.integer(told.get(name)) or 0 for name in names)

    return Usage(
        input_tokens=tokens("input_tokens"),
        output_tokens=tokens("output_tokens"),
        cached_tokens=tokens("cache_read_input_tokens", "cache_creation_input_tokens"),
        cost=cost,
    )


class Spending:
    """The tokens of all messages since the previous turn ended."""

    def __init__(self) -> None:
        self._messages: dict[str, Usage] = {}
        #: by speaker: an agent's subagents speak at the same time
        self._unfinished: dict[str, str] = {}
        self._total = Usage()
        self._told = 0

    def take(self, value: dict[str, Any]) -> Usage | None:
        """A message, or a piece of one. Returns the sum if it has changed."""
        whose = fields.text(value.get("parent_tool_use_id"))
        event = fields.mapping(value.get("event"))
        message = fields.mapping(value.get("message") or event.get("message"))
        name = fields.text(message.get("id"))
        if event.get("type") == "message_start":
            self._unfinished[whose] = name
        self._count(name or self._unfinished.get(whose, ""), message.get("usage") or event.get("usage"))
        if event and event.get("type") != "message_delta":
            return None  # more of it follows at once
        if self._total.tokens == self._told:
            return None
        self._told = self._total.tokens
        return self._total

    def _count(self, name: str, given: object) -> None:
        if not name or not given:
            return
        now, before = usage_in(given), self._messages.get(name, Usage())
        more = Usage(
            max(0, now.input_tokens - before.input_tokens),
            max(0, now.output_tokens - before.output_tokens),
            max(0, now.cached_tokens - before.cached_tokens),
        )
        self._messages[name] = before.plus(more)
        self._total = self._total.plus(more)


class ContextFilling:
    """How full the context window is. The end of a turn tells the window's size, and the sum of all its requests: what
    is in the context is what the newest request had.
    """

    def __init__(self) -> None:
        self._window = 0
        self._used = 0

    def message(self, value: dict[str, Any]) -> list[Observation]:
        """A message in the middle of a turn. A subagent has a context of its own."""
        usage = usage_in(fields.mapping(value.get("message")).get("usage"))
        if value.get("parent_tool_use_id") or not usage.input_tokens + usage.cached_tokens:
            return []
        self._used = usage.tokens
        return [ContextUsed(self._used, self._window)] if self._window else []

    def result(self, value: dict[str, Any]) -> list[Observation]:
        """The end of a turn."""
        models = fields.mapping(value.get("modelUsage")).values()
        sizes = [fields.integer(fields.mapping(one).get("contextWindow")) or 0 for one in models]
        self._window = max(sizes, default=0) or self._window
        usage = fields.mapping(value.get("usage"))
        last = next(iter(reversed(list(fields.mappings(usage.get("iterations"))))), None)
        total = usage_in(usage).tokens
        is_one = (fields.integer(value.get("num_turns")) or 0) <= 1
        used = usage_in(last).tokens if last else total if is_one else self._used or total
        return [ContextUsed(used, self._window)] if self._window and used else []
