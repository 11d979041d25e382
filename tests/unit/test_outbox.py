"""What happens to a feature's sessions, on its way from the store into the feature's journal."""

from __future__ import annotations

import asyncio

import pytest

from rekindle.app.journals import JournalWriters
from rekindle.core.journal.decode import decode_line
from rekindle.core.journal.event import Event
from rekindle.core.session import facts as f
from rekindle.ports.errors import JournalError
from rekindle.ports.journal import Appended, Journal, NewEvent, Sync
from rekindle.runtime.engine import Engine
from rekindle.runtime.outbox import Outbox
from tests.fakes.journal import FakeJournal
from tests.fakes.store import FakeStore, InlineAccess

REPOSITORY, FEATURE = "/repo", "search"
FIRST, SECOND = "aaaa0001", "bbbb0002"


async def nowhere(_session: str) -> str | None:
    return None


class Desk:
    """A store, a journal, and what carries events from the one to the other. `run` is the one that is under way."""

    def __init__(self, journal: FakeJournal | None = None) -> None:
        self.journal = journal or FakeJournal()
        self.store = FakeStore()
        self.run: str | None = None
        self.access = InlineAccess(self.store)
        self.engine = Engine(self.access, lambda: 1.0)
        self.engine.run_of = lambda _session: self.run

    def begin(self, sid: str, **data: str) -> None:
        self.journal.append(NewEvent("session.start", dict(data)), sid=sid)
        self.run = sid

    def end(self, sid: str) -> None:
        self.journal.append(NewEvent("session.end", {"reason": "completed"}), sid=sid)
        self.run = None

    def launch(self, session: str = "s1", attempt: int = 1) -> None:
        if attempt == 1:
            work = {"cwd": f"{REPOSITORY}/tree", "repository": REPOSITORY, "feature": FEATURE, "task": "1"}
            created = f.Created(at=1.0, session=session, agent="scripted", **work)  # type: ignore[arg-type]
            asyncio.run(self.engine.create(created))
        intended = f.LaunchIntended(at=1.0, attempt=attempt, generation=attempt, how="new")
        launched = f.Launched(at=1.0, attempt=attempt, folder="", pid=1)
        asyncio.run(self.engine.record(session, intended, launched))

    def exit(self, session: str = "s1", attempt: int = 1) -> None:
        gone = f.Exited(at=1.0, attempt=attempt, how_ended="asked", by_us=True)
        asyncio.run(self.engine.record(session, gone))

    def flush(self, seconds: float = 5.0) -> None:
        async def run() -> None:
            writers = JournalWriters(lambda _cwd, _feature: self.journal)
            try:
                await Outbox(self.access, writers, nowhere).flush(REPOSITORY, FEATURE, seconds)
            finally:
                writers.close()

        asyncio.run(run())

    def written(self) -> list[tuple[str | None, int | None, str]]:
        events = [decode_line(one) for one in self.journal.lines]
        return [(one.sid, one.seq, one.type) for one in events if isinstance(one, Event)]


def test_what_happened_in_a_run_is_in_it_before_its_end() -> None:
    desk = Desk()
    desk.begin(FIRST)
    desk.launch()
    desk.exit()
    desk.flush()
    desk.end(FIRST)
    assert desk.written() == [
        (FIRST, 0, "session.start"),
        (FIRST, 1, "agent.spawned"),
        (FIRST, 2, "agent.completed"),
        (FIRST, 3, "session.end"),
    ]
    assert desk.journal.state().sids[FIRST].work.agents == {"scripted-s1": False}


def test_what_a_killed_run_left_over_goes_to_it_while_it_is_open() -> None:
    desk = Desk()
    desk.begin(FIRST)
    desk.launch()
    desk.run = None  # everything was killed; the next daemon finds the agent gone
    desk.exit()
    desk.flush()
    assert desk.written()[1:] == [(FIRST, 1, "agent.spawned"), (FIRST, 2, "agent.completed")]


def test_what_a_killed_run_left_over_goes_to_the_run_that_resumes_it() -> None:
    desk = Desk()
    desk.begin(FIRST)
    desk.launch()
    desk.begin(SECOND, command="resume", resumes=FIRST)
    desk.flush()
    assert desk.written()[2:] == [(SECOND, 1, "agent.spawned")]


def test_what_an_ended_run_left_over_goes_to_no_other_run() -> None:
    desk = Desk()
    desk.begin(FIRST)
    desk.launch()
    desk.end(FIRST)  # by hand, say: `rekindle abandon`
    desk.begin(SECOND, command="implement")
    desk.flush()
    assert desk.written()[3:] == [("s1", 0, "outside.agent.spawned")]
    assert desk.journal.state().strays == ["s1"]


def test_a_session_without_an_open_run_is_written_down_beside_the_runs() -> None:
    desk = Desk()
    desk.begin(FIRST)
    desk.begin(SECOND, command="resume", resumes=FIRST)
    desk.end(SECOND)
    before = desk.journal.state()
    desk.launch()
    desk.exit()
    desk.flush()
    assert desk.written()[3:] == [("s1", 0, "outside.agent.spawned"), ("s1", 1, "outside.agent.completed")]
    after = desk.journal.state()
    assert (after.runs, after.strays) == (before.runs, ["s1"])


def test_nothing_is_written_twice() -> None:
    desk = Desk()
    desk.begin(FIRST)
    desk.launch()
    [entry] = desk.store.outbox()
    desk.journal.append(NewEvent(entry.type, entry.data, event_id=entry.id), sid=FIRST)  # killed before it was settled
    desk.flush()
    assert desk.written()[1:] == [(FIRST, 1, "agent.spawned")]
    assert desk.store.outbox() == []


class Full(FakeJournal):
    """A journal on a full disk."""

    def append(self, event: NewEvent, *, sid: str | None, fresh: bool = False, sync: Sync | None = None) -> Appended:
        if event.type.startswith("agent."):
            raise JournalError("no room for the event", "make room")
        return super().append(event, sid=sid, fresh=fresh, sync=sync)


def test_what_cannot_be_written_is_said_and_stays() -> None:
    journal: Journal = Full()
    assert isinstance(journal, FakeJournal)
    desk = Desk(journal)
    desk.begin(FIRST)
    desk.launch()
    with pytest.raises(JournalError, match=r"cannot be written down: agent\.spawned of search waits: no room"):
        desk.flush(0.3)
    assert [entry.type for entry in desk.store.outbox()] == ["agent.spawned"]


def test_the_worktree_of_a_session_may_be_gone() -> None:
    desk = Desk()
    desk.launch()
    assert {entry.repository for entry in desk.store.outbox()} == {REPOSITORY}


def test_what_has_happened_is_in_the_journal_at_once_and_not_at_the_next_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever loses the store right afterwards has lost nothing of it."""
    monkeypatch.setattr("rekindle.runtime.outbox._PAUSE", 3600.0)
    desk = Desk()
    desk.begin(FIRST)

    async def story() -> None:
        writers = JournalWriters(lambda _cwd, _feature: desk.journal)
        outbox = Outbox(desk.access, writers, nowhere)
        desk.engine.listeners.append(outbox.heard)
        delivering = asyncio.ensure_future(outbox.deliver())
        await asyncio.sleep(0)
        work = {"cwd": f"{REPOSITORY}/tree", "repository": REPOSITORY, "feature": FEATURE, "task": "1"}
        await desk.engine.create(f.Created(at=1.0, session="s1", agent="scripted", **work))  # type: ignore[arg-type]
        intended = f.LaunchIntended(at=1.0, attempt=1, generation=1, how="new")
        await desk.engine.record("s1", intended, f.Launched(at=1.0, attempt=1, folder="", pid=1))
        async with asyncio.timeout(30):
            while desk.store.outbox():
                await asyncio.sleep(0.001)
        delivering.cancel()
        writers.close()

    asyncio.run(story())
    assert desk.written()[-1] == (FIRST, 1, "agent.spawned")


def test_how_full_an_agents_context_is_stands_in_the_journal_behind_each_turn_that_tells_it() -> None:
    desk = Desk()
    desk.begin(FIRST)
    desk.launch()
    opened = f.Opened(at=1.0, attempt=1, how="new", token="t")
    told = {"p1": {"context": 50_000, "window": 200_000}, "p2": {}, "p3": {"context": 51_000}}
    asyncio.run(desk.engine.record("s1", opened))
    for number, (prompt, context) in enumerate(told.items(), start=1):
        queued = f.PromptQueued(at=1.0, prompt=prompt, text="do it")
        sent = f.PromptSent(at=1.0, attempt=1, prompt=prompt, message=number, text="do it")
        done = f.TurnFinished(at=1.0, attempt=1, prompt=prompt, stop_reason="end_turn", **context)  # type: ignore[arg-type]
        asyncio.run(desk.engine.record("s1", queued, sent, done))
    desk.flush()
    lines = [decode_line(one) for one in desk.journal.lines]
    found = [one.data for one in lines if isinstance(one, Event) and one.type == "context.usage"]
    assert found == [
        {"agent": "scripted-s1", "tokens_used": 50_000, "tokens_limit": 200_000, "percent": 25.0},
        {"agent": "scripted-s1", "tokens_used": 51_000, "tokens_limit": None, "percent": None},
    ]
