"""Copying sessions off their host: in the background all the time, and at once when a job is let go."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from rekindle.core.session.state import Session
from rekindle.ports.off_host import Shipped
from rekindle.runtime.fleet_member import FleetMember
from tests.fakes.placements import FakeFeed
from tests.unit.test_driving import Stage, played


class MeetingCopies:
    """Copies that notice whether two are made at once: then each would go on where the other one is."""

    def __init__(self) -> None:
        self._meeting = threading.Barrier(2)
        self.met: list[str] = []
        self.made = 0

    def ship(self, session: Session, now: float) -> Shipped:
        try:
            self._meeting.wait(0.3)
            self.met.append(session.id)
        except threading.BrokenBarrierError:
            self._meeting.reset()
        self.made += 1
        return Shipped(now, 0, 0, lags=False)


def test_a_session_is_copied_by_one_at_a_time() -> None:
    async def story(stage: Stage) -> None:
        copies: Any = MeetingCopies()
        member = FleetMember(stage.supervisor, stage.placements, copies, FakeFeed(stage.fleet))
        await stage.begin("s", "say one", job="")
        await stage.until(lambda: stage.engine.session("s").attempts)
        session = stage.engine.session("s")
        await asyncio.gather(member.ship_now(session), member.ship_now(session))
        assert (copies.met, copies.made) == ([], 2)

    played(story)
