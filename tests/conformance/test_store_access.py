"""One suite for how the daemon's loop reaches its store: the thread, and what tests use in its place."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rekindle.adapters.sql_store.kept_streams import KeptStreams
from rekindle.adapters.sql_store.open import open_store
from rekindle.core.session import facts as f
from rekindle.ports.errors import BadEvent
from rekindle.ports.store import Recorded, StaleGeneration, Store, StoreAccess, StoreChange, StoreError, of_session
from rekindle.runtime.store_thread import MOST_AT_ONCE, StoreThread
from tests.fakes.store import FakeStore, InlineAccess, PacedAccess
from tests.postgres import new_database
from tests.sessions import created, folded

Story = Callable[[StoreAccess], Awaitable[None]]
Play = Callable[[Story], None]


@asynccontextmanager
async def thread_over(store: Store) -> AsyncIterator[StoreThread]:
    access = StoreThread(store)
    try:
        yield access
    finally:
        await access.close()


@pytest.fixture(
    params=[
        "thread over sqlite",
        "thread over postgresql",
        "thread over memory",
        "inline",
        "kept beside it",
        "paced",
        "paced and slow",
    ]
)
def play(request: pytest.FixtureRequest, tmp_path: Path) -> Play:
    def one(story: Story) -> None:
        async def run() -> None:
            if request.param == "inline":
                await story(InlineAccess())
                return
            if request.param == "kept beside it":
                await story(KeptStreams(InlineAccess(), str(tmp_path)))
                return
            if request.param in ("paced", "paced and slow"):
                seconds = 0.0001 if request.param == "paced and slow" else 0.0
                await story(PacedAccess(FakeStore(), lambda: seconds))
                return
            opened: Store = FakeStore()
            if request.param == "thread over sqlite":
                opened = open_store(tmp_path / "store.db", now=datetime(2026, 1, 2, tzinfo=UTC)).store
            if request.param == "thread over postgresql":
                opened = open_store(new_database(), now=datetime(2026, 1, 2, tzinfo=UTC), host="here").store
            async with thread_over(opened) as access:
                await story(access)
            opened.close()

        asyncio.run(run())

    return one


def begun(name: str, generation: int = 1) -> StoreChange:
    return of_session(folded([created(name)]), [created(name)], generation=generation)


def test_what_was_committed_is_there_for_whoever_asks_next(play: Play) -> None:
    async def story(access: StoreAccess) -> None:
        [recorded] = await access.commit(begun("a"))
        assert recorded == Recorded(1, "session", "a", created("a"))
        assert await access.ask(lambda store: store.session("a")) == folded([created("a")])

    play(story)


def test_all_is_done_in_the_order_of_asking(play: Play) -> None:
    async def story(access: StoreAccess) -> None:
        names = [f"s{n:02}" for n in range(3 * MOST_AT_ONCE)]
        work: list[Awaitable[object]] = []
        for number, name in enumerate(names):
            work.append(access.commit(begun(name)))
            if number % 10 == 5:
                work.append(access.ask(lambda store: store.named("")))
        found = await asyncio.gather(*work)
        seqs = [one[0].seq for one in found if isinstance(one, list) and isinstance(one[0], Recorded)]
        assert seqs == list(range(1, len(names) + 1))
        seen = [len(one) for one in found if isinstance(one, list) and isinstance(one[0], str)]
        assert seen == list(range(6, len(names) + 1, 10))

    play(story)


def test_one_that_is_refused_takes_no_other_along(play: Play) -> None:
    async def story(access: StoreAccess) -> None:
        await access.commit(begun("a", generation=5))
        asked = f.ResumeAsked(at=2.0, by="late")
        late = of_session(folded([created("a"), asked]), [asked], generation=4)
        found = await asyncio.gather(
            access.commit(begun("b")), access.commit(late), access.commit(begun("c")), return_exceptions=True
        )
        assert isinstance(found[1], StaleGeneration)
        assert await access.ask(lambda store: store.named("")) == ["a", "b", "c"]
        assert await access.ask(lambda store: store.session("a")) == folded([created("a")])

    play(story)


def test_a_question_that_fails_fails_for_who_asked_alone(play: Play) -> None:
    async def story(access: StoreAccess) -> None:
        def fail(_store: Store) -> None:
            raise StoreError("no", "no")

        with pytest.raises(StoreError):
            await access.ask(fail)
        await access.commit(begun("a"))

    play(story)


def test_a_change_is_made_also_if_whoever_asked_has_gone(play: Play) -> None:
    async def story(access: StoreAccess) -> None:
        work = asyncio.ensure_future(access.commit(begun("a")))
        await asyncio.sleep(0)
        work.cancel()
        await asyncio.wait([work])
        assert await access.ask(lambda store: store.named("")) == ["a"]

    play(story)


class Slow(FakeStore):
    """Waits before its first commit until it may go on, and counts them."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()
        self.together: list[int] = []

    def commit(self, changes: Sequence[StoreChange]) -> list[list[Recorded] | StaleGeneration]:
        assert self.go_on.wait(30)
        self.together.append(len(changes))
        return super().commit(changes)


def test_what_waits_for_the_disk_is_synced_once_and_the_loop_goes_on_meanwhile() -> None:
    store = Slow()

    async def story() -> None:
        async with thread_over(store) as access:
            work = [asyncio.ensure_future(access.commit(begun(f"s{n:02}"))) for n in range(50)]
            for _ in range(100):
                await asyncio.sleep(0)  # the loop is not held up by a disk that does not answer
            assert store.together == [] and not any(one.done() for one in work)
            store.go_on.set()
            await asyncio.gather(*work)

    asyncio.run(story())
    assert sum(store.together) == 50
    assert len(store.together) <= 2, "one was on its way when the others came"


def test_a_disk_that_fails_tells_everybody_who_waits() -> None:
    class Full(FakeStore):
        def commit(self, changes: Sequence[StoreChange]) -> list[list[Recorded] | StaleGeneration]:
            raise StoreError("the disk is full", "make room", code="disk_full")

    async def story() -> None:
        async with thread_over(Full()) as access:
            work = [access.commit(begun(f"s{n}")) for n in range(5)]
            found = await asyncio.gather(*work, return_exceptions=True)
            assert all(isinstance(one, StoreError) and one.code == "disk_full" for one in found)

    asyncio.run(story())


def test_a_change_that_cannot_be_written_down_takes_no_other_along() -> None:
    store = Slow()

    async def story() -> None:
        async with thread_over(store) as access:
            no_number = of_session(folded([created("bad")]), [f.Noticed(at=math.nan, message="when?")], generation=1)
            changes = [begun("a"), begun("b"), no_number, begun("c")]
            work = [asyncio.ensure_future(access.commit(one)) for one in changes]
            await asyncio.sleep(0)
            store.go_on.set()
            found = await asyncio.gather(*work, return_exceptions=True)
            assert [isinstance(one, BadEvent) for one in found] == [False, False, True, False]
            assert await access.ask(lambda store: store.named("")) == ["a", "b", "c"]

    asyncio.run(story())


def test_whoever_asks_when_the_thread_has_ended_is_told() -> None:
    async def story() -> None:
        async with thread_over(FakeStore()) as access:
            pass
        with pytest.raises(StoreError):
            await access.commit(begun("a"))
        with pytest.raises(StoreError):
            await access.ask(lambda store: store.named(""))

    asyncio.run(story())
