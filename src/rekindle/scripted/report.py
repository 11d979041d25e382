"""How a step looks to the client: its tool call, while it happens and when a conversation is replayed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from rekindle.scripted.conversation import ASSISTANT, STEP_FINISHED, USER, Record
from rekindle.scripted.script import (
    BigAction,
    ContextAction,
    DieAction,
    FailAction,
    PutAction,
    ReadAction,
    RecapAction,
    RunAction,
    SayAction,
    ScriptStep,
    StreamAction,
    TerminalAction,
    WriteAction,
    parse,
)

Update = dict[str, Any]

_STATUS = {"completed": "completed", "failed": "failed", "cancelled": "failed"}


def is_tool(step: ScriptStep) -> bool:
    """Whether a step is shown as a tool call; talk is shown as talk, and an end of the turn not at all."""
    silent = SayAction | StreamAction | BigAction | FailAction | DieAction | ContextAction | RecapAction
    return not isinstance(step.action, silent)


def title(step: ScriptStep) -> str:
    """Such as `run: sleep 5`."""
    words = step.directive.split(maxsplit=2)
    text = words[2] if step.once is not None else step.directive
    first, _, rest = text.partition(" ")
    return f"{first}: {rest.strip()}" if rest.strip() else first


def said(text: str) -> Update:
    """The update that has a piece of the agent's talk."""
    return {"sessionUpdate": "agent_message_chunk", "content": text_block(text)}


def started(step: ScriptStep, call_id: str, cwd: str) -> Update:
    """The update that opens a step's tool call."""
    return {**_call(step, call_id, "in_progress"), **_locations(step, cwd)}


def in_terminal(call_id: str, terminal_id: str) -> Update:
    """The update that shows where a step's command runs."""
    shown = {"type": "terminal", "terminalId": terminal_id}
    return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "status": "in_progress", "content": [shown]}


def asked(step: ScriptStep, call_id: str) -> Update:
    """A tool call as a permission request shows it."""
    return {"toolCallId": call_id, "title": title(step), "kind": _kind(step), "status": "pending"}


def finished(call_id: str, status: str, result: str) -> Update:
    """The update that closes a step's tool call."""
    ended = _STATUS.get(status, "failed")
    return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "status": ended, "content": _content(result)}


def replay(record: Record, cwd: str) -> Iterator[Update]:
    """What a load shows of a record: texts, and tool calls that came to an end."""
    match record:
        case {"kind": kind, "text": str(text)} if kind == USER:
            yield {"sessionUpdate": "user_message_chunk", "content": text_block(text)}
        case {"kind": kind, "text": str(text)} if kind == ASSISTANT:
            yield said(f"{text}\n")
        case {
            "kind": kind,
            "call": str(call_id),
            "directive": str(directive),
            "status": str(status),
            "result": str(result),
        } if kind == STEP_FINISHED and status in _STATUS:
            for step in parse(directive).steps:
                yield {
                    **_call(step, call_id, _STATUS[status]),
                    "content": _content(result),
                    **_locations(step, cwd),
                }
        case _:
            pass


def context(used: int, size: int) -> Update:
    """The update that tells how full the context window is."""
    return {"sessionUpdate": "usage_update", "used": used, "size": size}


def text_block(text: str) -> Update:
    """A text as the protocol has it."""
    return {"type": "text", "text": text}


def _call(step: ScriptStep, call_id: str, status: str) -> Update:
    shown = {"toolCallId": call_id, "title": title(step), "kind": _kind(step), "status": status}
    return {"sessionUpdate": "tool_call", **shown}


def _kind(step: ScriptStep) -> str:
    match step.action:
        case RunAction() | TerminalAction():
            return "execute"
        case WriteAction() | PutAction():
            return "edit"
        case ReadAction():
            return "read"
        case _:
            return "other"


def _locations(step: ScriptStep, cwd: str) -> Update:
    match step.action:
        case WriteAction(path=path) | PutAction(path=path) | ReadAction(path=path):
            return {"locations": [{"path": os.path.join(cwd, path)}]}
        case _:
            return {}


def _content(result: str) -> list[Update]:
    return [{"type": "content", "content": text_block(result)}]
