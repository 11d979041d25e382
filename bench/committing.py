"""What the daemon's store costs: commits of many sessions at once, against one after the other in the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from time import perf_counter
from typing import Any

from bench.measured import Measured, in_turn, rounded
from bench.stage import Stage
from rekindle.adapters.sql_store.open import open_store
from rekindle.adapters.sql_store.store import SqlStore
from rekindle.core.session import facts as f
from rekindle.core.session.machine import evolve
from rekindle.ports.store import Recorded, StaleGeneration, StoreChange, commit_one, of_session
from rekindle.runtime.store_thread import StoreThread

_SESSIONS = 64
_ROUNDS = 8


class _Counting:
    """A store whose transactions are counted: each of them is one sync."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store
        self.transactions = 0

    def commit(self, changes: Sequence[StoreChange]) -> list[list[Recorded] | StaleGeneration]:
        self.transactions += 1
        return self._store.commit(changes)


class _InLine:
    """What the daemon did before: it waited for the disk with each commit."""

    def __init__(self, store: _Counting) -> None:
        self._store = store

    async def commit(self, change: StoreChange) -> list[Recorded]:
        return commit_one(self._store, change)  # type: ignore[arg-type]


class _ThreadEach:
    """The plain alternative: a thread of the pool for each commit, one at a time."""

    def __init__(self, store: _Counting) -> None:
        self._store = store
        self._turn = asyncio.Lock()

    async def commit(self, change: StoreChange) -> list[Recorded]:
        async with self._turn:
            return await asyncio.to_thread(commit_one, self._store, change)  # type: ignore[arg-type]


def commits(stage: Stage) -> Measured:
    """64 sessions record 8 facts each. Facts: syncs per 1,000 events, and how long the loop was held up."""
    numbers = count()
    seen: dict[str, list[tuple[float, float]]] = {"in line": [], "a thread each": [], "store thread": []}

    def timed(name: str) -> float:
        path = stage.folder / f"commits-{next(numbers)}" / "store.db"
        with closing(open_store(path, now=datetime.now(UTC)).store) as opened:
            store = _Counting(opened)
            begun = perf_counter()
            lag = asyncio.run(_all(store, _ACCESS[name]))
            spent = perf_counter() - begun
        seen[name].append((1000.0 * store.transactions / (_SESSIONS * _ROUNDS), lag))
        return spent

    def candidate() -> float:
        timed("a thread each")
        return timed("store thread")

    measured = in_turn(max(3, stage.sizes.light // 6), lambda: timed("in line"), candidate)
    facts = {
        f"{name}: {what}": rounded(max(one[at] for one in found))
        for name, found in seen.items()
        for at, what in enumerate(("syncs per 1,000 events", "loop held up, ms"))
    }
    return replace(measured, facts=facts)


async def _all(store: _Counting, access_to: Callable[[_Counting], Any]) -> float:
    """Let every session record its facts, beside a clock that ticks; the longest pause of that clock, in ms."""
    access = access_to(store)
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        while True:
            before = perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, 1000 * (perf_counter() - before) - 1)

    async def one(name: str) -> None:
        created = f.Created(at=1.0, session=name, agent="scripted", cwd="/")
        session = evolve(None, created)
        await access.commit(of_session(session, [created], generation=1))
        for number in range(_ROUNDS - 1):
            fact = f.PromptQueued(at=2.0, prompt=f"p{number}", text="say hello")
            session = evolve(session, fact)
            await access.commit(of_session(session, [fact], generation=1))

    clock = asyncio.ensure_future(tick())
    await asyncio.sleep(0.005)
    await asyncio.gather(*(one(f"{index:010x}") for index in range(_SESSIONS)))
    await asyncio.sleep(0.01)  # the clock notices how long it was held up
    clock.cancel()
    if isinstance(access, StoreThread):
        await access.close()
    return longest


_ACCESS: dict[str, Callable[[_Counting], Any]] = {
    "in line": _InLine,
    "a thread each": _ThreadEach,
    "store thread": lambda store: StoreThread(store),  # type: ignore[arg-type]
}
