"""What a host tells the others, and what a person has made of it meanwhile."""

from __future__ import annotations

import asyncio
import threading

from rekindle.ports.hosts import HostReport, HostState
from rekindle.runtime.host_telling import HostTelling
from tests.fakes.hosts import FakeHosts
from tests.unit.test_driving import Stage, played


class SlowHosts(FakeHosts):
    """A store whose answer to a report is long on its way."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage.fleet, "a")
        self.asked, self.answered = threading.Event(), threading.Event()

    def tell(self, report: HostReport) -> HostState:
        state = super().tell(report)
        self.asked.set()
        assert self.answered.wait(10)
        return state


def test_an_answer_that_was_long_on_its_way_does_not_undo_that_a_host_is_drained() -> None:
    """It would take jobs again, for as long as it takes until it tells the next time."""

    async def story(stage: Stage) -> None:
        hosts = SlowHosts(stage)
        telling = HostTelling(hosts, stage.supervisor, stage.keepers)
        report = asyncio.ensure_future(telling.tell())
        await asyncio.to_thread(hosts.asked.wait, 10)
        await telling.change("draining")
        hosts.answered.set()
        await report
        assert telling.state == "draining"
        await telling.tell()
        assert telling.state == "draining", "the store has it too"

    played(story)


def test_before_the_store_was_asked_a_host_is_not_taken_for_ready() -> None:
    async def story(stage: Stage) -> None:
        hosts = FakeHosts(stage.fleet, "a")
        hosts.change("cordoned")
        telling = HostTelling(hosts, stage.supervisor, stage.keepers)
        assert telling.state is None
        await telling.tell()
        assert telling.state == "cordoned"

    played(story)
