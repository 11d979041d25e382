"""Conversations by number: pages from either end, and what was added since. The pieces of an answer are one entry.

Reading a conversation takes time in proportion to its length, so those that were read last are kept, and only what was
added is read the next time.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

import msgspec

from rekindle.agents.base.conversation import ConversationEntry, Kind
from rekindle.ports.conversations import Conversations, FollowedConversation
from rekindle.runtime.turns import Turns

#: How many entries of all kept conversations there may be, before the one that was read longest ago is dropped.
MOST_ENTRIES = 200_000
#: How much text is given to somebody who follows, at once.
MOST_TEXT = 128 << 10
#: Kinds that arrive in pieces.
_PIECES = ("said", "thought")


class ShownEntry(msgspec.Struct, frozen=True):
    """One thing that was said or done; `n` is its number. `append`: put `text` behind what entry n has."""

    n: int
    kind: Kind
    text: str
    attempt: int
    call: str = ""
    at: float | None = None
    append: bool = False


class AttemptStart(msgspec.Struct, frozen=True):
    """The number of an attempt's first entry."""

    attempt: int
    n: int


class EntryPage(msgspec.Struct, frozen=True):
    """Entries from `start` on. `total`: how many there are. `source`: see `FollowedConversation.source`."""

    total: int
    start: int
    entries: list[ShownEntry]
    attempts: list[AttemptStart]
    source: str = ""


class ReadPlace(msgspec.Struct):
    """How far somebody has read: up to entry `n`, and `length` characters of its text (-1: nothing of it)."""

    n: int = 0
    length: int = -1


class _Reading:
    """One conversation, read so far."""

    def __init__(self, followed: FollowedConversation) -> None:
        self._followed = followed
        self.entries: list[tuple[Kind, list[str], int, str]] = []
        self.attempts: list[AttemptStart] = []

    @property
    def source(self) -> str:
        """Whose copy it is, and how old."""
        return self._followed.source

    def read_on(self) -> int:
        """Read what was added; returns how many entries that made."""
        before = len(self.entries)
        for one in self._followed.poll():
            self._add(one)
        return len(self.entries) - before

    def _add(self, one: ConversationEntry) -> None:
        last = self.entries[-1] if self.entries else None
        if last is not None and one.kind in _PIECES and (last[0], last[2]) == (one.kind, one.attempt):
            last[1].append(one.text)
            return
        if not self.attempts or self.attempts[-1].attempt != one.attempt:
            self.attempts.append(AttemptStart(one.attempt, len(self.entries)))
        self.entries.append((one.kind, [one.text], one.attempt, one.call))

    def text(self, n: int) -> str:
        """The whole text of an entry."""
        pieces = self.entries[n][1]
        if len(pieces) > 1:
            pieces[:] = ["".join(pieces)]
        return pieces[0]

    def entry(self, n: int, after: int = 0, most: int | None = None) -> ShownEntry:
        """An entry; `after`: only what its text has behind so many characters, and `most` of them."""
        kind, _, attempt, call = self.entries[n]
        end = None if most is None else after + most
        return ShownEntry(n, kind, self.text(n)[after:end], attempt, call, append=after > 0)


class ConversationPages:
    """Reads conversations by number. Belongs to one loop; files are read in threads."""

    def __init__(self, conversations: Conversations, most: int = MOST_ENTRIES) -> None:
        self._conversations = conversations
        self._most = most
        self._readings: OrderedDict[str, _Reading] = OrderedDict()
        self._turns = Turns()

    async def page(self, session: str, start: int, limit: int) -> EntryPage:
        """Entries from `start` on, at most `limit`; a negative `start` counts from the end."""
        async with self._turns.of(session):
            found = await self._read(session)
            total = len(found.entries)
            begin = max(0, total + start) if start < 0 else min(start, total)
            entries = [found.entry(n) for n in range(begin, min(total, begin + limit))]
            return EntryPage(total, begin, entries, list(found.attempts), found.source)

    async def news(self, session: str, place: ReadPlace, limit: int) -> tuple[list[ShownEntry], int]:
        """What was added since `place`, which is moved; and how many entries there are.

        At most `limit` entries, and not much more than `MOST_TEXT`: a long text comes in several pieces.
        """
        async with self._turns.of(session):
            found = await self._read(session)
            news: list[ShownEntry] = []
            left = MOST_TEXT
            while place.n < len(found.entries) and len(news) < limit and left > 0:
                length = len(found.text(place.n))
                if length > place.length:
                    news.append(found.entry(place.n, max(place.length, 0), left))
                    place.length = max(place.length, 0) + len(news[-1].text)
                    left -= len(news[-1].text)
                if place.length < length:
                    break
                if place.n == len(found.entries) - 1:
                    break
                place.n, place.length = place.n + 1, -1
            return news, len(found.entries)

    async def _read(self, session: str) -> _Reading:
        known = await asyncio.to_thread(self._read_on, session, self._readings.get(session))
        self._readings[session] = known
        self._readings.move_to_end(session)
        total = sum(len(one.entries) for one in self._readings.values())
        while total > self._most and len(self._readings) > 1:
            _, dropped = self._readings.popitem(last=False)
            total -= len(dropped.entries)
        return known

    def _read_on(self, session: str, known: _Reading | None) -> _Reading:
        found = known if known is not None else _Reading(self._conversations.follow(session))
        found.read_on()
        return found
