"""A store in memory that keeps the promises of the port; held to them by the conformance suite."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from rekindle.adapters.sql_store.codec import decode_session, decode_told, encode, encode_data, encode_fact
from rekindle.core.fact import Fact
from rekindle.core.session.activity import needs_daemon
from rekindle.core.session.state import Session
from rekindle.core.streams import StreamKind, kind_of
from rekindle.ports.store import OutboxEntry, Recorded, StaleGeneration, Store, StoreChange, StoreError, commit_one

Found = TypeVar("Found")


@dataclass
class Content:
    """What is in the store."""

    facts: list[tuple[int, StreamKind, str, str]] = field(default_factory=list)
    sessions: dict[str, tuple[int, str]] = field(default_factory=dict)
    outbox: dict[str, tuple[OutboxEntry, str]] = field(default_factory=dict)
    settled: set[str] = field(default_factory=set)


class _Written(NamedTuple):
    """A change as text."""

    session: str
    facts: list[tuple[Fact, str]]
    outbox: list[str]

    @classmethod
    def of(cls, change: StoreChange) -> _Written:
        texts, outbox = [encode_fact(fact) for fact in change.facts], [encode_data(one.data) for one in change.outbox]
        session = encode(change.session) if change.session is not None else ""
        return cls(session, list(zip(change.facts, texts, strict=True)), outbox)


class FakeStore:
    """Text in lists. Two fakes over the same `Disk` are two connections to one store."""

    def __init__(self, disk: Disk | None = None) -> None:
        self._disk = disk or Disk()

    def point(self, name: str) -> None:
        """Where a test may crash the writer."""

    def commit(self, changes: Sequence[StoreChange]) -> list[list[Recorded] | StaleGeneration]:
        self.point("before commit")
        written = [
            _Written.of(change) for change in changes
        ]  # what cannot be written down is refused before anything is
        content = self._disk.content
        made: list[list[Recorded] | StaleGeneration] = []
        for change, texts in zip(changes, written, strict=True):
            stored, _body = content.sessions.get(change.subject, (0, ""))
            if change.session is not None and self.is_stale(change.generation, stored):
                message = f"Session {change.subject} is at generation {stored}; this writer has {change.generation}."
                made.append(StaleGeneration(message))
            else:
                made.append(_make(content, change, texts, stored))
        self.point("after commit")
        return made

    def is_stale(self, generation: int, stored: int) -> bool:
        """The fence: whoever was overtaken writes nothing."""
        return generation < stored

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
        self,
        stream: StreamKind | None = None,
        subject: str | None = None,
        *,
        kinds: Collection[str] | None = None,
        after: int = 0,
        limit: int = 1000,
        newest: bool = False,
    ) -> list[Recorded]:
        found = [
            Recorded(seq, kind, owner, decode_told(kind, body))
            for seq, kind, owner, body in self._disk.content.facts
            if seq > after and stream in (None, kind) and subject in (None, owner)
        ]
        found = [one for one in found if kinds is None or kind_of(one.fact) in kinds]
        return found[:: -1 if newest else 1][:limit]

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


def _make(content: Content, change: StoreChange, written: _Written, stored: int) -> list[Recorded]:
    if change.session is not None:
        generation = max(stored, change.generation, change.session.generation)
        content.sessions[change.subject] = (generation, written.session)
    made = []
    for fact, text in written.facts:
        made.append(Recorded(len(content.facts) + 1, change.stream, change.subject, fact))
        content.facts.append((made[-1].seq, change.stream, change.subject, text))
    for entry, text in zip(change.outbox, written.outbox, strict=True):
        content.outbox.setdefault(entry.id, (entry, text))
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


class PacedAccess(InlineAccess):
    """What a store's thread does, without the thread: one thing after the other, and waiting commits together.

    Each takes as long as `seconds` says, and then as long again until whoever asked is told: a process that is killed
    in between has made a change that nobody was told of.
    """

    def __init__(self, store: Store | None = None, seconds: Callable[[], float] = lambda: 0.0) -> None:
        super().__init__(store)
        self._seconds = seconds
        self._line: list[tuple[StoreChange | Callable[[Store], Any], asyncio.Future[Any]]] = []
        self._is_working = False

    async def commit(self, change: StoreChange) -> list[Recorded]:
        found: list[Recorded] = await self._wait_for(change)
        return found

    async def ask(self, question: Callable[[Store], Found]) -> Found:
        found: Found = await self._wait_for(question)
        return found

    def _wait_for(self, asked: StoreChange | Callable[[Store], Any]) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        told: asyncio.Future[Any] = loop.create_future()
        self._line.append((asked, told))
        if not self._is_working:
            self._is_working = True
            loop.call_later(self._seconds(), self._work)
        return told

    def _work(self) -> None:
        number = next((n for n, (asked, _) in enumerate(self._line) if not isinstance(asked, StoreChange)), None)
        number = len(self._line) if number is None else number
        together, self._line = self._line[: number or 1], self._line[number or 1 :]
        made = self._made([asked for asked, _ in together])
        loop = together[0][1].get_loop()
        loop.call_later(self._seconds(), self._tell, [told for _, told in together], made)

    def _made(self, asked: list[StoreChange | Callable[[Store], Any]]) -> list[Any]:
        changes = [one for one in asked if isinstance(one, StoreChange)]
        try:
            return list(self.store.commit(changes)) if changes else [_question(asked[0])(self.store)]
        except StoreError as error:  # the store's own trouble is everybody's
            return [error] * len(asked)
        except Exception as error:
            if len(changes) > 1:  # one of them cannot be written down: nobody else pays for that
                return [made for one in changes for made in self._made([one])]
            return [error]

    def _tell(self, told: list[asyncio.Future[Any]], made: list[Any]) -> None:
        for future, what in zip(told, made, strict=True):
            if future.done():
                continue  # whoever asked has gone away
            if isinstance(what, BaseException):
                future.set_exception(what)
            else:
                future.set_result(what)
        self._is_working = bool(self._line)
        if self._line:
            told[0].get_loop().call_later(self._seconds(), self._work)


def _question(asked: StoreChange | Callable[[Store], Any]) -> Callable[[Store], Any]:
    assert not isinstance(asked, StoreChange)
    return asked


@dataclass
class Disk:
    """What outlives a store object."""

    content: Content = field(default_factory=Content)
