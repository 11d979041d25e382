"""Folds two spools after the fact: puts each message of ours where it can have been sent at the earliest.

Nobody wrote down how the spools lay to one another in time, so an order is made up that keeps causes before effects.
The open state of the wire is the same for every such order; only the `replay` marks of updates that came between the
opening of a conversation and its first prompt can differ (they are lost here).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import msgspec

from rekindle.agents.acp.decoding import Message, Request, Response, decode
from rekindle.agents.acp.framing import Framed, Line
from rekindle.agents.acp.messages import request_key
from rekindle.agents.acp.wire import Wire
from rekindle.agents.observation import Observation


class _Waiting(msgspec.Struct, frozen=True):
    message_id: str
    payload: bytes
    message: Message | None

    @property
    def request_id(self) -> object:
        return self.message.request_id if isinstance(self.message, Request) else None


def fold(
    wire: Wire, records: Iterable[tuple[str, bytes]], lines: Iterable[Framed]
) -> Iterator[tuple[Framed, list[Observation]]]:
    """Feed the wire with (message id, payload) of the input spool and the lines of the output spool.

    Gives each line with what it told, so that a caller can leave out what it knew already; it must be read to its end.
    """
    waiting = deque(_Waiting(message_id, payload, decode(payload)) for message_id, payload in records)
    for line in lines:
        while waiting and is_due(wire, waiting[0].message):
            _send(wire, waiting)
        if not isinstance(line, Line):
            yield line, wire.oversized(line)
            continue
        for _ in range(_needed(line.data, waiting)):
            _send(wire, waiting)
        yield line, wire.received(line.data)
    while waiting:
        _send(wire, waiting)


def _send(wire: Wire, waiting: deque[_Waiting]) -> None:
    one = waiting.popleft()
    wire.sent(one.message_id, one.payload)


def _needed(line: bytes, waiting: deque[_Waiting]) -> int:
    """How many messages must have been sent before this line, because it answers the last of them."""
    message = decode(line) if waiting else None
    if not isinstance(message, Response) or message.request_id is None:
        return 0
    return next((at for at, one in enumerate(waiting, start=1) if one.request_id == message.request_id), 0)


def is_due(wire: Wire, message: Message | None) -> bool:
    """Whether a message of ours can have been sent by now."""
    match message:
        case Response(request_id=request_id):
            return wire.has_asked(request_key(request_id))
        case Request(method="session/prompt"):
            return wire.token is not None and not wire.is_prompting and not wire.is_opening
        case Request(method=method):
            return method == "initialize" or not wire.is_awaiting
        case _:
            return True
