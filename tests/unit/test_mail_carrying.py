"""A message from another host is carried out once, whatever dies between taking it and saying what came of it."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from rekindle.app.fleet_doors import FleetDoors
from rekindle.app.holding import Holding
from rekindle.app.mail_carrying import MailCarrying
from rekindle.app.mail_deeds import MailDeeds
from rekindle.app.mail_sending import MailSending, MailWaits
from rekindle.app.questions import Questions
from rekindle.app.queueing import Queueing
from rekindle.app.service import Service
from rekindle.core.mail import signed, was_carried_out
from rekindle.core.session import facts as f
from rekindle.ports.errors import RekindleError, UsageError
from rekindle.ports.fleet_engine import EngineError
from rekindle.ports.mail import Mail
from rekindle.ports.store import StoreError
from rekindle.runtime.engine import Engine
from rekindle.runtime.supervisor import Supervisor
from tests.crash.test_feature_races import NoPlaces
from tests.fakes.keepers import FakeKeepers, FakeWorld
from tests.fakes.mail import FakeMail
from tests.fakes.placements import FakeFeed, Fleet
from tests.fakes.records import FakeRecords
from tests.fakes.store import FakeStore, InlineAccess
from tests.fakes.workplace import FakeWorkplace
from tests.unit.test_supervisor import KINDS, created


class Host:
    """Host a with a session `s`, and its fleet. A daemon of it can be left, and followed by another."""

    def __init__(self) -> None:
        self.fleet = Fleet()
        self.store = FakeStore()
        self.fleet.last = lambda: max((one.seq for one in self.store.facts(limit=10**6)), default=0)
        self.world = FakeWorld()
        self.ticks = iter(range(1, 10**6))
        self.afar = FakeMail(self.fleet, "b")

    async def serve(
        self, story: Callable[[Service], Awaitable[None]], mailbox: FakeMail | None = None, *, looks: bool = True
    ) -> None:
        """A daemon for the time of a story. `looks` is false for one that has not looked for messages yet."""
        access = InlineAccess(self.store)
        engine = Engine(access, lambda: float(next(self.ticks)))
        place = (FakeWorkplace(), KINDS, FakeRecords())
        supervisor = Supervisor(engine, FakeKeepers(self.world), *place, settle_seconds=0.0, pause_seconds=0.0)
        self.supervisor = supervisor
        service = Service(supervisor, access, KINDS, places=NoPlaces())
        await engine.open()
        if not await engine.knows("s"):
            await engine.create(created("s"))
            self.fleet.begin(await engine.load("s"), "a")
        await supervisor.start()
        deeds = MailDeeds(
            service, Queueing(service, supervisor), Questions(supervisor), Holding(service, supervisor), {}
        )
        box = mailbox or FakeMail(self.fleet, "a")
        sending = MailSending(box, engine.clock)
        carrying = MailCarrying(box, FakeFeed(self.fleet), deeds, access, sending, engine.clock)
        self.carrying = carrying
        work = asyncio.ensure_future(carrying.run() if looks else asyncio.sleep(0))
        moving = asyncio.ensure_future(self._move())
        try:
            await story(service)
        finally:
            for task in (work, moving):
                task.cancel()
            await asyncio.gather(work, moving, return_exceptions=True)
            await carrying.close()
            await supervisor.close()

    async def _move(self) -> None:
        while True:
            self.world.settle()
            await asyncio.sleep(0)

    def post(self, name: str, kind: str, **body: Any) -> None:
        by = signed("pid 1", "b")
        self.afar.post(Mail(name, "s", kind, json.dumps(body), by, "b", 1.0))  # type: ignore[arg-type]

    async def outcome(self, name: str) -> dict[str, Any]:
        while (found := self.afar.find(name)) is None or found.outcome is None:
            await asyncio.sleep(0.001)
        told: dict[str, Any] = json.loads(found.outcome)
        return told

    def facts(self, kind: type[f.Fact]) -> list[f.Fact]:
        return [one.fact for one in self.store.facts("session", "s", limit=10**6) if isinstance(one.fact, kind)]


class Dying(FakeMail):
    """The host dies, or its store does, before it can say what came of a message."""

    dies = True

    def settle(self, mail: str, outcome: str, at: float) -> bool:
        if self.dies:
            raise StoreError("the store is away")
        return super().settle(mail, outcome, at)


async def reached(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.001)


def test_a_prompt_whose_host_was_killed_before_it_said_so_is_delivered_once() -> None:
    host = Host()

    async def first(_service: Service) -> None:
        host.post("m1", "send", text="hello", prompt_id="p1")
        await reached(lambda: host.facts(f.PromptQueued))

    async def second(_service: Service) -> None:
        told = await host.outcome("m1")
        assert told["answer"]["prompt"] == "p1"

    asyncio.run(host.serve(first, Dying(host.fleet, "a")))
    assert host.afar.find("m1") is not None and host.afar.find("m1").outcome is None  # type: ignore[union-attr]
    asyncio.run(host.serve(second))
    assert len(host.facts(f.PromptQueued)) == 1


def test_what_waits_for_a_session_that_has_just_come_is_in_its_queue_before_it_goes_on() -> None:
    host = Host()

    async def story(_service: Service) -> None:
        host.post("m1", "send", text="hello", prompt_id="p1")
        host.post("m2", "send", text="again", prompt_id="p2")
        await host.carrying.catch_up("s")
        assert [one.prompt for one in host.facts(f.PromptQueued)] == ["p1", "p2"]  # type: ignore[attr-defined]
        await host.carrying.catch_up("s")
        assert len(host.facts(f.PromptQueued)) == 2

    asyncio.run(host.serve(story, looks=False))


def test_what_a_killed_host_had_done_is_not_done_again_after_somebody_undid_it() -> None:
    host, trace = Host(), f.HoldAsked

    async def first(_service: Service) -> None:
        host.post("m1", "hold")
        await reached(lambda: host.facts(trace))
        await host.supervisor.record("s", f.HoldLifted(at=9.0, by="somebody else"))

    async def second(_service: Service) -> None:
        assert "answer" in await host.outcome("m1")

    asyncio.run(host.serve(first, Dying(host.fleet, "a")))
    asyncio.run(host.serve(second))
    assert len(host.facts(trace)) == 1


def test_what_a_killed_host_had_not_done_is_done() -> None:
    host = Host()
    host_b = FakeMail(host.fleet, "a")

    async def nothing(_service: Service) -> None:
        pass

    asyncio.run(host.serve(nothing))
    host.post("m1", "hold")
    assert host_b.take("m1") is not None  # and then it was killed

    async def second(_service: Service) -> None:
        assert "answer" in await host.outcome("m1")

    asyncio.run(host.serve(second))
    assert len(host.facts(f.HoldAsked)) == 1


def test_prompts_are_queued_in_the_order_in_which_they_were_sent() -> None:
    host = Host()

    async def story(_service: Service) -> None:
        for number in range(8):
            host.post(f"m{number}", "send", text=f"say {number}", prompt_id=f"p{number}")
        for number in range(8):
            await host.outcome(f"m{number}")

    asyncio.run(host.serve(story))
    assert [one.prompt for one in host.facts(f.PromptQueued)] == [f"p{n}" for n in range(8)]  # type: ignore[attr-defined]


def test_what_a_use_case_refuses_is_told_as_it_is_told_there() -> None:
    host = Host()

    async def story(_service: Service) -> None:
        host.post("m1", "cancel", prompt="p9")
        host.post("m2", "send", text="  ", prompt_id="p1")
        host.post("m3", "hurry")
        assert "is over" in (await host.outcome("m1"))["error"]["message"]
        assert "nothing to send" in (await host.outcome("m2"))["error"]["message"]
        assert (await host.outcome("m3"))["error"]["exit"] == 2

    asyncio.run(host.serve(story))
    assert host.facts(f.PromptQueued) == []


def test_a_host_that_has_lost_the_session_says_nothing_about_it() -> None:
    host = Host()

    async def story(_service: Service) -> None:
        await reached(lambda: "s" in host.fleet.placed)
        from tests.fakes.placements import FakePlacements

        FakePlacements(host.fleet, "c").take("s", before="a", at=2.0)
        host.post("m1", "hold")
        for _ in range(50):
            await asyncio.sleep(0.001)

    asyncio.run(host.serve(story))
    found = host.afar.find("m1")
    assert found is not None
    assert (found.taken_by, found.outcome, host.facts(f.HoldAsked)) == (None, None, [])


def test_only_the_sender_s_own_trace_shows_that_a_message_was_carried_out() -> None:
    mine, other = signed("pid 1", "b"), signed("pid 1", "c")
    held = [f.HoldAsked(at=1.0, by=mine)]
    assert was_carried_out("hold", mine, held)
    assert not was_carried_out("hold", other, held)
    assert not was_carried_out("stop", mine, held)
    assert not was_carried_out("send", mine, held), "a prompt has an id of its own"


class Away(FakeMail):
    """The store is away for so many calls."""

    calls = 2

    def post(self, mail: Mail) -> Mail:
        self.calls -= 1
        if self.calls == 1:
            super().post(mail)  # it was recorded, and the answer was lost
        if self.calls > 0:
            raise StoreError("the store is away", code="store_away")
        return super().post(mail)


def sent(box: FakeMail, record_seconds: float = 1.0, taken_seconds: float = 1.0) -> dict[str, Any]:
    async def ask() -> dict[str, Any]:
        sending = MailSending(box, lambda: 1.0, record_seconds=record_seconds, taken_seconds=taken_seconds)
        return await sending.ask("hold", "request to hold it", "s", "a", {}, by="pid 1", name="m1")

    return asyncio.run(ask())


def test_a_message_is_recorded_once_although_the_store_was_away_when_it_was() -> None:
    fleet = Fleet()
    with pytest.raises(MailWaits, match="is recorded; host a has not taken it yet"):
        sent(Away(fleet, "b"), record_seconds=30.0, taken_seconds=0.0)
    assert len(fleet.letters) == 1


def test_an_engine_that_is_away_does_not_make_a_recorded_message_look_refused() -> None:
    """Who is told of a failure asks again, with a new id: then it would be carried out twice."""

    async def away(_session: str, _mail: str) -> None:
        raise EngineError("the fleet's engine cannot be reached")

    async def story() -> None:
        box = FakeMail(Fleet(), "b")
        sending = MailSending(box, lambda: 1.0, away, taken_seconds=0.01)
        with pytest.raises(MailWaits, match=r"is recorded; .* the fleet's engine cannot be reached"):
            await sending.ask("send", "prompt", "s", "a", {"text": "hello"}, name="m1")
        assert box.find("m1") is not None

    asyncio.run(story())


def test_nobody_says_recorded_if_that_is_not_known() -> None:
    fleet = Fleet()
    with pytest.raises(StoreError, match="it is not known whether the request to hold it for session s was recorded"):
        sent(Away(fleet, "b"), record_seconds=0.0)


def test_a_name_that_another_message_has_is_refused() -> None:
    fleet = Fleet()
    box = FakeMail(fleet, "b")
    box.post(Mail("m1", "s", "send", "{}", "x", "b", 1.0))
    with pytest.raises(UsageError, match="has the id m1"):
        sent(box)


def test_what_came_of_it_is_told_as_it_is() -> None:
    fleet = Fleet()
    box = FakeMail(fleet, "b")
    signed_by = signed("pid 1", "b")
    fleet.letters["m1"] = Mail("m1", "s", "hold", "{}", signed_by, "b", 1.0, "a", 0, '{"answer": {"id": "s"}}')
    assert sent(box) == {"id": "s"}
    error = {"code": "owned", "message": "no", "hint": "", "exit": 4, "details": {}}
    fleet.letters["m1"] = Mail("m1", "s", "hold", "{}", signed_by, "b", 1.0, "a", 0, json.dumps({"error": error}))
    with pytest.raises(RekindleError, match="no") as caught:
        sent(box)
    assert (caught.value.exit_status, caught.value.code) == (4, "owned")


@pytest.mark.parametrize("name", ["send", "answer", "resume", "hold", "hurry", "stop", "cancel", "show", "wait"])
def test_a_fleet_is_asked_as_one_machine_is(name: str) -> None:
    """The socket refuses what an operation has no parameter for, so the two may not drift apart."""
    alone = next(getattr(one, name) for one in (Service, Holding, Questions) if hasattr(one, name))
    assert inspect.signature(getattr(FleetDoors, name)) == inspect.signature(alone)
