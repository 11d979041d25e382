"""A store in memory that keeps the promises of the port; held to them by the conformance suite."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from rekindle.adapters.sql_store.codec import decode_session, decode_told, encode, encode_data, encode_fact
from rekindle.core.session.activity import needs_daemon
from rekindle.core.session.state import Session
from rekindle.core.streams import StreamKind
from rekindle.ports.store import OutboxEntry, Recorded, StaleGeneration, Store, StoreChange, commit_one

Found = TypeVar("Found")


@dataclass
class Content:
    """What is in the store. A commit works on a copy that takes its place at the end."""

    facts: list[tuple[int, StreamKind, str, str]] = field(default_factory=list)
    sessions: dict[str, tuple[int, str]] = field(default_factory=dict)
    outbox: dict[str, tuple[OutboxEntry, str]] = field(default_factory=dict)
    settled: set[str] = field(default_factory=set)

    def copy(self) -> Content:
        return Content(list(self.facts), dict(self.sessions), dict(self.outbox), set(self.settled))


class FakeStore:
    """Text in lists. Two fakes over the same `Disk` are two connections to one store."""

    def __init__(self, disk: Disk | None = None) -> None:
        self._disk = disk or Disk()

    def point(self, name: str) -> None:
        """Where a test may crash the writer."""

    def commit(self, changes: Sequence[StoreChange]) -> list[list[Recorded] | StaleGeneration]:
        self.point("before commit")
        for change in changes:  # what cannot be written down is refused before anything is
            _ = [encode_fact(fact) for fact in change.facts], [encode_data(entry.data) for entry in change.outbox]
        content = self._disk.content.copy()
        made: list[list[Recorded] | StaleGeneration] = []
        for change in changes:
            stored, _body = content.sessions.get(change.subject, (0, ""))
            if change.session is not None and change.generation < stored:
                message = f"Session {change.subject} is at generation {stored}; this writer has {change.generation}."
                made.append(StaleGeneration(message))
            else:
                made.append(_make(content, change, stored))
        self._disk.content = content
        self.point("after commit")
        return made

    def session(self, session: str) -> Session | None:
        found = self._disk.content.sessions.get(session)
        return None if found is None else decode_session(found[1])

    def renew(self) -> int:
        return 0  # nothing is kept here beside facts and sessions

    def sessions(self, *, attended: bool = False, feature: str | None = None) -> list[Session]:
        found = [decode_session(body) for _, body in self._disk.content.sessions.values()]
        wanted = [one for one in found if not attended or needs_daemon(one)]
        wanted = [one for one in wanted if feature in (None, one.feature)]
        return sorted(wanted, key=lambda one: (one.created_at, one.id))

    def named(self, prefix: str) -> list[str]:
        return sorted(name for name in self._disk.content.sessions if name.startswith(prefix))

    def facts(
        self, stream: StreamKind | None = None, subject: str | None = None, *, after: int = 0, limit: int = 1000
    ) -> list[Recorded]:
        found = [
            Recorded(seq, kind, owner, decode_told(kind, body))
            for seq, kind, owner, body in self._disk.content.facts
            if seq > after and stream in (None, kind) and subject in (None, owner)
        ]
        return found[:limit]

    def outbox(self, limit: int = 100) -> list[OutboxEntry]:
        content = self._disk.content
        found = [pair for name, pair in content.outbox.items() if name not in content.settled]
        return [replace(entry, data=json.loads(data)) for entry, data in found[:limit]]

    def settle(self, ids: Sequence[str]) -> None:
        self._disk.content.settled.update(ids)

    def stay_in_place(self) -> bool:
        return False

    def close(self) -> None:
        pass


def _make(content: Content, change: StoreChange, stored: int) -> list[Recorded]:
    if change.session is not None:
        generation = max(stored, change.generation, change.session.generation)
        content.sessions[change.subject] = (generation, encode(change.session))
    made = []
    for fact in change.facts:
        made.append(Recorded(len(content.facts) + 1, change.stream, change.subject, fact))
        content.facts.append((made[-1].seq, change.stream, change.subject, encode_fact(fact)))
    for entry in change.outbox:
        content.outbox.setdefault(entry.id, (entry, encode_data(entry.data)))
    return made


class InlineAccess:
    """A store that answers at once, in the loop of whoever asks: every schedule of a test is the same one."""

    def __init__(self, store: Store | None = None) -> None:
        self.store: Store = store or FakeStore()

    async def commit(self, change: StoreChange) -> list[Recorded]:
        return commit_one(self.store, change)

    async def ask(self, question: Callable[[Store], Found]) -> Found:
        return question(self.store)


class UnhurriedAccess(InlineAccess):
    """A store that takes a moment before and after all that it does, as one in a thread does: others go on meanwhile.

    What is asked is done, and answered, in the order of asking.
    """

    def __init__(self, store: Store | None = None, moments: int = 3) -> None:
        super().__init__(store)
        self._moments = moments

    async def commit(self, change: StoreChange) -> list[Recorded]:
        await self._moment()
        try:
            return await super().commit(change)
        finally:
            await self._moment()

    async def ask(self, question: Callable[[Store], Found]) -> Found:
        await self._moment()
        try:
            return await super().ask(question)
        finally:
            await self._moment()

    async def _moment(self) -> None:
        for _ in range(self._moments):
            await asyncio.sleep(0)


@dataclass
class Disk:
    """What outlives a store object."""

    content: Content = field(default_factory=Content)
