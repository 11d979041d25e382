"""The promises of a run's events. One suite on its one writer, over a journal and a store in memory, and on disk.

There is no fake: it would be the same writer over the fakes of the journal and the store, the first of the two.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rekindle.adapters.journal_file.journal import FileJournal
from rekindle.adapters.sql_store.open import open_store
from rekindle.app.journals import JournalWriters
from rekindle.app.run_events import WrittenRunEvents
from rekindle.core.journal.decode import decode_line
from rekindle.core.journal.event import Event
from rekindle.core.session import facts as f
from rekindle.ports.errors import JournalError
from rekindle.ports.feature import RunEvents
from rekindle.ports.journal import Journal, NewEvent
from rekindle.ports.store import Store
from rekindle.runtime.engine import Engine
from rekindle.runtime.outbox import Outbox
from tests.fakes.journal import FakeJournal, Log
from tests.fakes.store import FakeStore, InlineAccess

REPOSITORY, FEATURE, RUN, OTHER = "/repo", "search", "aaaa0001", "bbbb0002"


@dataclass
class Desk:
    """One run of one feature. `lines` is what is on the disk, `is_full`: nothing more can be written there."""

    store: Store
    open_journal: Callable[[], Journal]
    lines: Callable[[], list[bytes]]
    is_full: bool = field(default=False)

    def __post_init__(self) -> None:
        self.access = InlineAccess(self.store)
        self.engine = Engine(self.access, lambda: 1.0)
        self.engine.run_of = lambda _session: RUN
        self.begin(RUN)

    def begin(self, sid: str) -> None:
        journal = self.open_journal()
        journal.append(NewEvent("session.start", {"command": "implement"}), sid=sid)
        journal.close()

    def _journal(self, _cwd: str, _feature: str) -> Journal:
        if self.is_full:
            raise JournalError("no room", code="disk_full")
        return self.open_journal()

    def use(self, *steps: Callable[[RunEvents], Awaitable[None]], seconds: float = 5.0) -> None:
        """Let a run write; a daemon of its own each time, so that nothing is only in memory."""

        async def run() -> None:
            writers = JournalWriters(self._journal)
            try:
                events: RunEvents = WrittenRunEvents(
                    REPOSITORY, FEATURE, RUN, writers, Outbox(self.access, writers, self.engine.where), seconds
                )
                for step in steps:
                    await step(events)
            finally:
                writers.close()

        asyncio.run(run())

    def launch(self, session: str = "s1") -> None:
        work = {"cwd": f"{REPOSITORY}/tree", "repository": REPOSITORY, "feature": FEATURE, "task": "1"}
        created = f.Created(at=1.0, session=session, agent="scripted", **work)  # type: ignore[arg-type]
        launched = (
            f.LaunchIntended(at=1.0, attempt=1, generation=1, how="new"),
            f.Launched(at=1.0, attempt=1, folder="", pid=1),
        )

        async def story() -> None:
            await self.engine.create(created)
            await self.engine.record(session, *launched)

        asyncio.run(story())

    def events(self) -> list[Event]:
        decoded = [decode_line(one.removesuffix(b"\n")) for one in self.lines()]
        return [one for one in decoded if isinstance(one, Event)]

    def types(self) -> list[str]:
        return [one.type for one in self.events()]


@pytest.fixture(params=["memory", "disk"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    if request.param == "memory":
        log = Log()
        yield Desk(FakeStore(), lambda: FakeJournal(FEATURE, log), lambda: log.lines[: log.durable])
        return
    path = tmp_path / "progress" / FEATURE / "events.jsonl"
    path.parent.mkdir(parents=True)
    store = open_store(tmp_path / "store.db", now=datetime(2026, 1, 2, tzinfo=UTC)).store
    yield Desk(store, lambda: FileJournal(path, FEATURE), lambda: path.read_bytes().splitlines())
    store.close()


def test_an_event_is_on_disk_when_it_is_acknowledged_and_belongs_to_the_run(desk: Desk) -> None:
    seen: list[list[str]] = []

    async def look(events: RunEvents) -> None:
        await events.append("checkpoint", {"label": "one"}, "e1")
        seen.append(desk.types())
        await events.append("checkpoint", {"label": "two"}, "e2")
        seen.append(desk.types())

    desk.begin(OTHER)
    desk.use(look)
    assert [len(one) for one in seen] == [3, 4]
    written = [(one.sid, one.seq, one.eid, one.data.get("label")) for one in desk.events()[2:]]
    assert written == [(RUN, 1, "e1", "one"), (RUN, 2, "e2", "two")], "not of the run that began last"


def test_an_id_that_is_there_already_is_written_once_also_by_the_next_daemon(desk: Desk) -> None:
    for _ in range(2):
        desk.use(
            lambda events: events.append("checkpoint", {"label": "one"}, "e1"),
            lambda events: events.append("checkpoint", {"label": "one, again"}, "e1"),
        )
    assert [one.data.get("label") for one in desk.events()[1:]] == ["one"]


def test_events_that_come_at_the_same_time_are_all_written(desk: Desk) -> None:
    async def at_once(events: RunEvents) -> None:
        await asyncio.gather(*(events.append("checkpoint", {"label": str(n)}, f"e{n % 10}") for n in range(20)))

    desk.use(at_once)
    assert sorted(one.eid or "" for one in desk.events()[1:]) == [f"e{n}" for n in range(10)]


def test_a_flush_returns_when_what_the_sessions_did_is_on_disk_and_writes_it_once(desk: Desk) -> None:
    desk.use(lambda events: events.flush())
    assert desk.types() == ["session.start"], "nothing has happened"
    desk.launch()
    assert desk.types() == ["session.start"], "nobody has carried it there yet"
    for _ in range(2):
        desk.use(lambda events: events.flush())
        assert desk.types() == ["session.start", "agent.spawned"]
    assert desk.events()[-1].sid == RUN


def test_whoever_cannot_write_says_so_and_loses_nothing(desk: Desk) -> None:
    desk.launch()
    desk.is_full = True
    with pytest.raises(JournalError):
        desk.use(lambda events: events.append("checkpoint", {"label": "one"}, "e1"))
    with pytest.raises(JournalError) as raised:
        desk.use(lambda events: events.flush(), seconds=0.0)
    assert raised.value.hint
    assert desk.types() == ["session.start"]
    desk.is_full = False
    desk.use(lambda events: events.flush(), lambda events: events.append("checkpoint", {"label": "one"}, "e1"))
    assert desk.types() == ["session.start", "agent.spawned", "checkpoint"]
