"""The keepers of a simulated world, as one daemon uses them."""

from __future__ import annotations

import asyncio

from rekindle.ports.errors import RekindleError
from rekindle.ports.keepers import AttemptOrder, StartedAttempt
from tests.fakes.keepers import FakeAttempt, FakeKeepers
from tests.simulate.world import SimulatedWorld


class SimulatedKeepers(FakeKeepers):
    """Keepers that take a moment. One daemon's: when that is dead, nobody can use them any more."""

    def __init__(self, world: SimulatedWorld) -> None:
        super().__init__(world)
        self._simulated = world
        self.is_dead = False

    async def _moment(self, seconds: float = 0.002) -> None:
        assert not self.is_dead, "a dead daemon acts"
        await asyncio.sleep(seconds)
        assert not self.is_dead, "a dead daemon acts"

    async def launch(self, order: AttemptOrder) -> StartedAttempt:
        await self._moment(0.03)
        is_new = (order.session, order.attempt) not in self.world.attempts
        if is_new and self._simulated.failing_starts and not self.world.is_taken(order.session):
            self._simulated.failing_starts -= 1
            one = self.world.attempts[order.session, order.attempt] = FakeAttempt(order, generation=order.generation)
            one.alive = one.ran = False
            one.die("it never ran")
            self._simulated.tell(f"the start of attempt {order.attempt} of {order.session} fails")
            raise RekindleError("its guard was killed while it was starting")
        started = await super().launch(order)
        if is_new:
            self._simulated.tell(f"attempt {order.attempt} of {order.session} is started")
        await self._moment(0.01)
        return started

    async def connect(self, session: str, attempt: int, generation: int) -> bool:
        await self._moment()
        return await super().connect(session, attempt, generation)

    async def send(self, session: str, attempt: int, message: str, payload: bytes) -> int:
        await self._moment()
        one = self.world.attempts.get((session, attempt))
        before = len(one.records) if one is not None else 0
        number = await super().send(session, attempt, message, payload)
        if one is not None and len(one.records) > before:
            self._simulated.received(one)
        await self._moment()
        return number

    def heard_at(self, session: str, attempt: int) -> float | None:
        return self._simulated.wrote_at.get((session, attempt))

    async def end(self, session: str, attempt: int, reason: str) -> None:
        await self._moment()
        await super().end(session, attempt, reason)
        one = self.world.attempts.get((session, attempt))
        if one is not None and one.alive:
            self._simulated.ending(one)
