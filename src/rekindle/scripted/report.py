"""How a step looks to the client: its tool call, while it happens and when a conversation is replayed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import acp
from acp.schema import (
    AgentMessageChunk,
    ToolCallLocation,
    ToolCallProgress,
    ToolCallStart,
    ToolCallStatus,
    ToolCallUpdate,
    ToolKind,
    UserMessageChunk,
)

from rekindle.scripted.conversation import ASSISTANT, STEP_FINISHED, USER, Record
from rekindle.scripted.script import (
    BigAction,
    DieAction,
    FailAction,
    PutAction,
    ReadAction,
    RunAction,
    SayAction,
    ScriptStep,
    StreamAction,
    TerminalAction,
    WriteAction,
    parse,
)

Update = UserMessageChunk | AgentMessageChunk | ToolCallStart | ToolCallProgress

_STATUS: dict[str, ToolCallStatus] = {"completed": "completed", "failed": "failed", "cancelled": "failed"}


def is_tool(step: ScriptStep) -> bool:
    """Whether a step is shown as a tool call; talk is shown as talk, and an end of the turn not at all."""
    return not isinstance(step.action, SayAction | StreamAction | BigAction | FailAction | DieAction)


def title(step: ScriptStep) -> str:
    """Such as `run: sleep 5`."""
    words = step.directive.split(maxsplit=2)
    text = words[2] if step.once is not None else step.directive
    first, _, rest = text.partition(" ")
    return f"{first}: {rest.strip()}" if rest.strip() else first


def started(step: ScriptStep, call_id: str, cwd: str) -> ToolCallStart:
    """The update that opens a step's tool call."""
    return acp.start_tool_call(
        call_id, title(step), kind=_kind(step), status="in_progress", locations=_locations(step, cwd)
    )


def asked(step: ScriptStep, call_id: str) -> ToolCallUpdate:
    """A tool call as a permission request shows it."""
    return ToolCallUpdate(tool_call_id=call_id, title=title(step), kind=_kind(step), status="pending")


def finished(call_id: str, status: str, result: str) -> ToolCallProgress:
    """The update that closes a step's tool call."""
    return acp.update_tool_call(call_id, status=_STATUS.get(status, "failed"), content=_content(result))


def replay(record: Record, cwd: str) -> Iterator[Update]:
    """What a load shows of a record: texts, and tool calls that came to an end."""
    match record:
        case {"kind": kind, "text": str(text)} if kind == USER:
            yield acp.update_user_message_text(text)
        case {"kind": kind, "text": str(text)} if kind == ASSISTANT:
            yield acp.update_agent_message_text(f"{text}\n")
        case {
            "kind": kind,
            "call": str(call_id),
            "directive": str(directive),
            "status": str(status),
            "result": str(result),
        } if kind == STEP_FINISHED and status in _STATUS:
            for step in parse(directive).steps:
                yield acp.start_tool_call(
                    call_id,
                    title(step),
                    kind=_kind(step),
                    status=_STATUS[status],
                    content=_content(result),
                    locations=_locations(step, cwd),
                )
        case _:
            pass


def _kind(step: ScriptStep) -> ToolKind:
    match step.action:
        case RunAction() | TerminalAction():
            return "execute"
        case WriteAction() | PutAction():
            return "edit"
        case ReadAction():
            return "read"
        case _:
            return "other"


def _locations(step: ScriptStep, cwd: str) -> list[ToolCallLocation] | None:
    match step.action:
        case WriteAction(path=path) | PutAction(path=path) | ReadAction(path=path):
            return [ToolCallLocation(path=os.path.join(cwd, path))]
        case _:
            return None


def _content(result: str) -> list[Any]:
    return [acp.tool_content(acp.text_block(result))]
