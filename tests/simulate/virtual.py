"""Virtual time, and event loops that live in it.

Nothing waits here: when nothing is ready, the time is that of the next timer. Several loops (several daemons) and the
world share one time, so that one seed gives one order of everything. No thread, no selector, no clock of the machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
from asyncio import base_events, events
from collections.abc import Callable, Coroutine, Generator
from math import inf
from typing import Any

from rekindle.ports.errors import RekindleError

#: Who takes more callbacks than this while no time passes goes round in circles.
MOST_CALLBACKS = 20_000
#: So long it takes until a thread begins, and so long until its result is heard of: whoever dies between has done it.
_AWAY = 0.001
#: So many tasks of a loop may have ended before they are forgotten.
_MANY = 256


class GoesRound(AssertionError):
    """Something is done again and again, without any time passing."""


class VirtualTime:
    """The time, what happens in the world at which time, and the loops that are told the time."""

    def __init__(self) -> None:
        self.now = 0.0
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self.loops: list[VirtualLoop] = []

    def later(self, seconds: float, happens: Callable[[], None]) -> None:
        """Have something happen in the world, whoever runs then."""
        self._count += 1
        heapq.heappush(self._agenda, (self.now + seconds, self._count, happens))

    def run(self, seconds: float) -> None:
        """Let so much time pass, with everything that is due in it."""
        deadline, agenda, callbacks = self.now + seconds, self._agenda, 0
        while True:
            callbacks = self._run_ready(callbacks)
            due = agenda[0][0] if agenda else inf
            for loop in self.loops:
                if not loop.is_frozen and (when := loop.next_timer()) < due:
                    due = when
            if due > deadline:
                break
            if due > self.now:
                self.now, callbacks = due, 0
            while agenda and agenda[0][0] <= self.now:
                heapq.heappop(agenda)[2]()
            for loop in self.loops:
                if not loop.is_frozen:
                    loop.ripen()
        self.now = deadline

    def _run_ready(self, callbacks: int) -> int:
        """Everything that is ready, and all that follows at once; how many callbacks that makes since time passed."""
        ran = 1
        while ran:
            ran = 0
            for loop in self.loops:
                if not loop.is_frozen:
                    ran += loop.run_ready()
            callbacks += ran
            if callbacks > MOST_CALLBACKS:
                raise GoesRound(f"more than {MOST_CALLBACKS} callbacks while no time passes")
        return callbacks


class NumberedTask(asyncio.Task[Any]):
    """A task whose place in a set depends on its number, not on where in memory it lies."""

    def __init__(self, number: int, coro: Coroutine[Any, Any, Any], loop: VirtualLoop) -> None:
        self.number = number
        super().__init__(coro, loop=loop)

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return self is other


def _unless_done(told: asyncio.Future[Any], settle: Callable[[Any], None], outcome: object) -> None:
    if not told.done():
        settle(outcome)


class VirtualLoop(base_events.BaseEventLoop):
    """One process's loop. What a process would have done in threads is done in the loop, a moment later."""

    def __init__(self, time: VirtualTime) -> None:
        super().__init__()
        self._virtual = time
        self.is_frozen = False
        self.faults: list[BaseException] = []
        self._tasks: list[NumberedTask] = []
        self._made = 0
        self._heap: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        self._line: Any = self._ready  # type: ignore[attr-defined]
        self.set_task_factory(self._make_task)
        time.loops.append(self)

    def time(self) -> float:
        return self._virtual.now

    def run_ready(self) -> int:
        """Run what is ready now; how much that was."""
        line = self._line
        count = len(line)
        if not count:
            return 0
        events._set_running_loop(self)
        try:
            for _ in range(count):
                handle = line.popleft()
                if not handle._cancelled:
                    handle._run()
        finally:
            events._set_running_loop(None)
        return count

    def next_timer(self) -> float:
        """When the next timer is due; infinity: there is none."""
        heap = self._heap
        while heap and heap[0]._cancelled:
            heapq.heappop(heap)._scheduled = False  # type: ignore[attr-defined]
        return heap[0]._when if heap else inf  # type: ignore[attr-defined]

    def ripen(self) -> None:
        """Make ready whatever is due."""
        heap, now = self._heap, self._virtual.now
        while heap and heap[0]._when <= now:  # type: ignore[attr-defined]
            handle = heapq.heappop(heap)
            handle._scheduled = False  # type: ignore[attr-defined]
            if not handle._cancelled:
                self._line.append(handle)

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """What would be done in a thread."""
        told: asyncio.Future[Any] = self.create_future()

        def work() -> None:
            if told.cancelled():
                return
            try:
                done = func(*args)
            except Exception as error:
                self.call_later(_AWAY, _unless_done, told, told.set_exception, error)
            else:
                self.call_later(_AWAY, _unless_done, told, told.set_result, done)

        self.call_later(_AWAY, work)
        return told

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """What nobody has taken care of is a fault, but for what was told to somebody who has gone away."""
        failure = context.get("exception")
        if failure is not None and not isinstance(failure, RekindleError):
            self.faults.append(failure)

    def under_way(self) -> int:
        """How many tasks have not ended."""
        self._tasks = [one for one in self._tasks if not one.done()]
        return len(self._tasks)

    def abandon(self) -> None:
        """The process is gone, with all that it was about to do."""
        self._virtual.loops.remove(self)
        self._line.clear()
        self._heap.clear()
        for task in self._tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            task._log_traceback = False
            if not task.done():
                with contextlib.suppress(BaseException):
                    task.get_coro().close()
        self._line.clear()
        self._heap.clear()

    def _make_task(
        self, _loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any] | Generator[Any, None, Any]
    ) -> NumberedTask:
        self._made += 1
        task = NumberedTask(self._made, coro, self)  # type: ignore[arg-type]
        if len(self._tasks) > _MANY:
            self._tasks = [one for one in self._tasks if not one.done()]
        self._tasks.append(task)
        return task

    def _write_to_self(self) -> None:
        pass

    def __del__(self) -> None:
        pass
