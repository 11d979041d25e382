"""Who is told outside the terminal, over fakes: once each, through kills, and never at the cost of anybody else."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from rekindle.core.inbox import told as t
from rekindle.core.inbox.news import Message, News
from rekindle.core.inbox.telling import TellRules
from rekindle.core.streams import TELLING
from rekindle.ports.notify import NotDelivered
from rekindle.ports.store import StoreError
from rekindle.runtime import telling
from rekindle.runtime.telling import Teller, TellingPorts, TellingTerms
from tests.fakes.receiver import FakeReceiver
from tests.fakes.store import FakeStore, InlineAccess

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(telling, "_LOOK_SECONDS", 0.02)


class Place:
    """A store that outlives its daemons, and the receivers that the settings name."""

    def __init__(self, *receivers: FakeReceiver, hourly: int = 50) -> None:
        self.store = FakeStore()
        self.now = 1_000_000.0
        self.receivers = {one.name: one for one in receivers}
        self.rules = TellRules(dwell=1.0, hourly=hourly)
        self.text = False

    def teller(self, *news: News, pauses: tuple[float, ...] = (0.0, 0.0)) -> Teller:
        ports = TellingPorts(
            InlineAccess(self.store),
            self.clock,
            lambda: TellingTerms(self.rules, self.receivers, self.text),
            lambda now: now / 60 % 1440,
            lambda one: replace(one, title=one.title.replace("hunter2", "[masked]")),
            self._sessions,
            pauses,
            1.0,
        )
        found = Teller(ports)
        found.put("test", news)
        return found

    def clock(self) -> float:
        self.now += 0.001
        return self.now

    async def _sessions(self) -> list[Any]:
        return []

    @property
    def facts(self) -> list[t.TellingFact]:
        found = [one.fact for one in self.store.facts(TELLING.kind)]
        return [one for one in found if isinstance(one, t.TellingFact)]

    @property
    def told(self) -> t.Tellings:
        return TELLING.folded(self.facts) or t.Tellings()


def asked(number: int) -> News:
    return News(f"q{number}", "question", f"hunter2 {number}", f"rekindle answer q{number}", 999_000.0 + number)


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.005)


def play(teller: Teller, story: Callable[[], Awaitable[None]], *, killed: bool = False) -> None:
    """Let a daemon's teller run during a story. `killed`: it gets no chance to end anything."""

    async def both() -> None:
        running = asyncio.ensure_future(teller.run())
        try:
            await story()
        finally:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
            if not killed:
                await teller.close()

    asyncio.run(both())


def test_a_question_is_told_once_masked_and_the_next_daemon_does_not_repeat_it() -> None:
    receiver = FakeReceiver()
    place = Place(receiver)
    play(place.teller(asked(1)), lambda: until(lambda: not place.told.pending and receiver.taken))
    again = place.teller(asked(1), asked(2))
    place.now += 5000
    play(again, lambda: until(lambda: len(receiver.taken) == 2 and not place.told.pending))
    assert [one.title for one in receiver.taken] == ["[masked] 1", "[masked] 2"]
    assert not any(one.may_be_repeated for one in receiver.taken)


def test_what_a_kill_left_in_doubt_is_sent_again_says_so_and_is_counted() -> None:
    slow = FakeReceiver()
    slow.free.clear()
    place = Place(slow)
    play(place.teller(asked(1)), lambda: until(lambda: slow.tried), killed=True)
    assert next(iter(place.told.pending.values())).receivers == ("fake",)
    slow.free.set()
    slow.taken.clear()
    play(place.teller(asked(1)), lambda: until(lambda: not place.told.pending))
    assert [one.may_be_repeated for one in slow.tried] == [False, True]
    assert "may be a repetition" in slow.tried[-1].body
    assert place.told.repeated == 1


def test_what_a_kill_left_in_doubt_and_is_settled_by_now_is_not_told_any_more() -> None:
    slow = FakeReceiver()
    slow.free.clear()
    place = Place(slow)
    play(place.teller(asked(1)), lambda: until(lambda: slow.tried), killed=True)
    slow.free.set()
    play(place.teller(), lambda: until(lambda: not place.told.pending))
    assert len(slow.tried) == 1
    assert isinstance(place.facts[-1], t.TellingDropped)


def test_a_receiver_that_hangs_holds_up_neither_the_others_nor_the_loop() -> None:
    stuck, well = FakeReceiver("stuck"), FakeReceiver("well")
    stuck.free.clear()
    place = Place(stuck, well)

    async def story() -> None:
        await until(lambda: len(well.taken) == 1)
        assert not stuck.taken
        assert len(stuck.tried) <= 1

    play(place.teller(asked(1)), story)
    stuck.free.set()


def test_a_receiver_that_fails_is_tried_again_within_a_budget_and_then_named() -> None:
    lost = [NotDelivered("no route") for _ in range(3)]
    weak, well = FakeReceiver("weak", *lost), FakeReceiver("well")
    place = Place(weak, well)
    play(place.teller(asked(1)), lambda: until(lambda: not place.told.pending and place.told.keys))
    assert (len(weak.tried), weak.taken, len(well.taken)) == (3, [], 1)
    trouble = place.told.troubles["weak"]
    assert (trouble.why, trouble.lost) == ("no route", 1)
    place.now += 100
    play(place.teller(asked(1), asked(2)), lambda: until(lambda: len(weak.taken) == 1 and not place.told.pending))
    assert place.told.troubles == {}, "it takes messages again"


def test_what_may_have_arrived_although_it_failed_is_marked_when_it_is_tried_again() -> None:
    receiver = FakeReceiver("fake", NotDelivered("cut off", unsure=True))
    place = Place(receiver)
    play(place.teller(asked(1)), lambda: until(lambda: receiver.taken))
    assert [one.may_be_repeated for one in receiver.tried] == [False, True]


def test_a_question_that_stays_open_for_months_is_not_told_again_and_newer_ends_are_still_news() -> None:
    receiver = FakeReceiver()
    place = Place(receiver)
    play(place.teller(asked(1)), lambda: until(lambda: not place.told.pending and receiver.taken))
    place.now += 100 * 86400.0
    ended = News("failed-a-1", "failed", "it failed", "rekindle show a", place.now - 60.0)
    play(place.teller(asked(1), ended), lambda: until(lambda: len(receiver.taken) == 2 and not place.told.pending))
    assert [one.about for one in receiver.taken] == ["question", "failed"]


def test_a_fault_in_a_receiver_is_a_failed_try_and_not_one_that_is_made_for_ever() -> None:
    class Faulty(FakeReceiver):
        def send(self, message: Message, seconds: float) -> None:
            self.tried.append(message)
            raise AttributeError("https://token@example.org")

    faulty = Faulty("faulty")
    place = Place(faulty)
    play(place.teller(asked(1)), lambda: until(lambda: not place.told.pending and place.told.keys))
    assert len(faulty.tried) == 3
    assert place.told.troubles["faulty"].why == "it failed in an unexpected way (AttributeError)"


def test_what_is_refused_for_good_is_not_tried_again() -> None:
    receiver = FakeReceiver("fake", NotDelivered("forbidden", final=True))
    place = Place(receiver)
    play(place.teller(asked(1)), lambda: until(lambda: place.told.keys and not place.told.pending))
    assert (len(receiver.tried), place.told.troubles["fake"].lost) == (1, 1)


def test_what_cannot_be_recorded_is_not_sent() -> None:
    receiver = FakeReceiver()
    place = Place(receiver)
    teller = place.teller(asked(1))
    refused: list[str] = []

    def full(name: str) -> None:
        if name == "before commit" and len(refused) < 3 and place.told.since is not None:
            refused.append(name)
            raise StoreError("no room", "make some")

    place.store.point = full  # type: ignore[method-assign]

    async def story() -> None:
        await until(lambda: len(refused) == 3)
        assert receiver.tried == []
        await until(lambda: receiver.taken)

    play(teller, story)
    assert len(receiver.taken) == 1


def test_many_at_once_give_at_most_the_set_number_of_messages() -> None:
    receiver = FakeReceiver()
    place = Place(receiver, hourly=5)
    play(
        place.teller(*(asked(number) for number in range(1000))),
        lambda: until(lambda: sum(one.count for one in receiver.taken) == 1000),
    )
    assert len(receiver.taken) <= 5


def test_nobody_is_told_without_a_receiver_and_what_ended_meanwhile_is_no_news_later() -> None:
    place, ended = Place(), News("failed-a-1", "failed", "it failed", "rekindle show a", 999_999.0)

    async def nothing() -> None:
        await asyncio.sleep(0.05)

    play(place.teller(ended, asked(1)), nothing)
    assert place.facts == []
    receiver = FakeReceiver()
    place.receivers = {"fake": receiver}
    play(place.teller(ended, asked(1)), lambda: until(lambda: receiver.taken and not place.told.pending))
    assert [one.about for one in receiver.taken] == ["question"]
    place.receivers = {}
    play(place.teller(ended), lambda: until(lambda: place.told.since is None))
