"""The two spools of one agent process as one exchange: every prompt of ours in its place, every line after it.

Nothing records how the two spools interleaved in time. So a message counts as sent as soon as it can have been.
Everything that reads spools reads them through here: live, after a crash, or years later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec

from rekindle.agents.base.dialect import Dialect
from rekindle.agents.base.framing import Framed, Framer, Line
from rekindle.agents.base.observation import Observation


class SpooledMessage(msgspec.Struct, frozen=True):
    """A message of ours that is in the input spool. Numbers count from 1."""

    number: int
    id: str
    payload: bytes


class Prompted(msgspec.Struct, frozen=True):
    """A prompt was given to the agent. `message` is its number in the input spool."""

    message: int
    prompt: str
    text: str


class Heard(msgspec.Struct, frozen=True):
    """One line from the agent, and what it means."""

    seen: list[Observation]


Exchanged: TypeAlias = Prompted | Heard


class Exchange:
    """Feeds a dialect with both spools. Read the result step by step: the dialect is then exactly that far."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._framer = Framer()
        self._waiting: deque[SpooledMessage] = deque()
        self._pairs: deque[tuple[str, bytes]] = deque()  # the same, in the form that the dialect wants
        self._held: list[Framed] = []
        self._has_begun = self._is_placed = False
        self.is_partial = False  # the beginning of the output was given back to the disk

    @property
    def offset(self) -> int:
        """Where the next bytes of the output have to come from."""
        return self._framer.offset

    def skip(self, size: int) -> None:
        """This many bytes of the output are gone. Call it only before any bytes that are still there."""
        assert not self._has_begun, "there is output already"
        self._framer = Framer(self._framer.offset + size)
        self.is_partial = self.is_partial or size > 0

    def shortened(self, size: int) -> None:
        """Somebody truncated the output to this many bytes; what comes next is written there."""
        self._framer = Framer(size)

    def sent(self, messages: Iterable[SpooledMessage]) -> None:
        """More of the input spool. Feed it before any output that it can have caused."""
        for message in messages:
            self._waiting.append(message)
            self._pairs.append((message.id, message.payload))

    def heard(self, data: bytes) -> Iterator[Exchanged]:
        """More of the output spool."""
        if not self._has_begun:  # what was given back reads as zeros
            begun = data.lstrip(b"\0")
            self.skip(len(data) - len(begun))
            data, self._has_begun = begun, bool(begun)
        yield from self._take(self._framer.feed(data))

    def settle(self, upto: int | None = None) -> Iterator[Exchanged]:
        """All output that existed when message `upto` did has been fed (default: all), so these messages were sent."""
        if self.is_partial and not self._is_placed:
            yield from self._place(sum(upto is None or one.number <= upto for one in self._waiting))
        while self._waiting and (upto is None or self._waiting[0].number <= upto):
            yield from self._send()

    def _place(self, before: int) -> Iterator[Exchanged]:
        """For an output without its beginning: this many messages were sent and answered before what is left of it."""
        self._is_placed = True
        for _ in range(before):
            yield from self._send()
        held, self._held = self._held, []
        yield from self._take(held)

    def _take(self, lines: Iterable[Framed]) -> Iterator[Exchanged]:
        for line in lines:
            if self._pairs and self.is_partial and not self._is_placed:
                self._held.append(line)
                needed = self._needed(line)
                if needed:
                    yield from self._place(needed - 1)
                continue
            self._is_placed = True
            while self._pairs and self._dialect.is_due(*self._pairs[0]):
                yield from self._send()
            for _ in range(self._needed(line)):
                yield from self._send()
            yield Heard(self._dialect.received(line.data) if isinstance(line, Line) else self._dialect.oversized(line))

    def _needed(self, line: Framed) -> int:
        """How many of the waiting messages must have been sent before this line."""
        return self._dialect.needed(line.data, self._pairs) if self._pairs and isinstance(line, Line) else 0

    def _send(self) -> Iterator[Prompted]:
        message = self._waiting.popleft()
        self._pairs.popleft()
        self._dialect.sent(message.id, message.payload)
        prompt = self._dialect.prompt_in(message.id, message.payload)
        if prompt is not None:
            yield Prompted(message.number, *prompt)
