"""What the daemon's store costs: commits of many sessions at once, against one after the other in the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import count
from statistics import median
from time import perf_counter
from typing import Any

from bench.measured import Measured, rounded
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


def syncs(stage: Stage) -> Measured:
    """How often the store syncs while 64 sessions record facts, against once for each fact."""
    seen = _seen(stage)
    made = [one.transactions for one in seen["store thread"]]
    facts = {"unit": "syncs", "times as fast as in the loop": rounded(_median(seen, "in line") / _median(seen))}
    return Measured([float(_SESSIONS * _ROUNDS)] * len(made), [float(one) for one in made], facts)


def pauses(stage: Stage) -> Measured:
    """The longest time that the daemon's loop is held up meanwhile, against commits in the loop itself."""
    seen = _seen(stage)
    lags = {name: [one.lag for one in found] for name, found in seen.items()}
    facts = {"with a thread of the pool for each, ms": rounded(max(lags["a thread each"]))}
    return Measured([one / 1000 for one in lags["in line"]], [one / 1000 for one in lags["store thread"]], facts)


@dataclass(frozen=True)
class _Seen:
    """One round: how many transactions there were, how long the loop was held up at most (ms), and how long it took."""

    transactions: int
    lag: float
    seconds: float


def _median(seen: dict[str, list[_Seen]], name: str = "store thread") -> float:
    return median(one.seconds for one in seen[name])


@cache
def _seen(stage: Stage) -> dict[str, list[_Seen]]:
    """64 sessions record 8 facts each, in every way, one after the other."""
    numbers = count()
    seen: dict[str, list[_Seen]] = {name: [] for name in _ACCESS}
    for _ in range(max(3, stage.sizes.light // 6)):
        for name, access in _ACCESS.items():
            path = stage.folder / f"commits-{next(numbers)}" / "store.db"
            with closing(open_store(path, now=datetime.now(UTC)).store) as opened:
                store = _Counting(opened)
                begun = perf_counter()
                lag = asyncio.run(_all(store, access))
                seen[name].append(_Seen(store.transactions, lag, perf_counter() - begun))
    return seen


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
