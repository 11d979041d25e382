"""Commands that Claude Code runs in the background: they outlive their turn, and end with the agent's process."""

from __future__ import annotations

from typing import Any

from rekindle.agents.base import fields
from rekindle.agents.base.observation import OpenTool


class BackgroundTools:
    """Commands that were started and whose end the agent has not reported."""

    def __init__(self) -> None:
        self._running: dict[str, OpenTool] = {}

    @property
    def running(self) -> tuple[OpenTool, ...]:
        """In the order in which they were started."""
        return tuple(self._running.values())

    def started(self, result: dict[str, Any], open_tools: tuple[OpenTool, ...]) -> None:
        """The result of a tool call, before it is booked: it says if the command continues in the background."""
        if not fields.text(fields.mapping(result.get("tool_use_result")).get("backgroundTaskId")):
            return
        blocks = fields.mappings(fields.mapping(result.get("message")).get("content"))
        names = {fields.text(block.get("tool_use_id")) for block in blocks}
        self._running.update({tool.tool_id: tool for tool in open_tools if tool.tool_id in names})

    def ended(self, notification: dict[str, Any]) -> None:
        """The agent reports that a command has ended, for whatever reason."""
        self._running.pop(fields.text(notification.get("tool_use_id")), None)
