"""Many interrupted sessions and few places, in virtual time: never more agents than places, whatever is killed when."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from itertools import pairwise
from typing import Any

import pytest

from rekindle.core.governor.room import MachineReading
from rekindle.core.governor.rules import GovernorRules
from rekindle.core.session import facts as f
from rekindle.core.session.state import Session
from tests.crash.governed import Daemon, Nights

GB = 1024**3
MANY = [f"s{number:02}" for number in range(24)]
#: The urgent ones are not those that were asked for first.
URGENCY = {name: (number * 7) % 3 - 1 for number, name in enumerate(MANY)}
WORK = "p1: build say"
#: What is still to be said when the machine goes down. An agent that is told to go on is done in a moment.
MORE = "p2: build build say"


def interrupted(rules: GovernorRules, sessions: list[str] = MANY) -> Nights:
    """Sessions that were all at work when the machine went down; the daemon has not come back yet."""
    nights = Nights(rules)
    for name in sessions:
        nights.begin(name, policy="continue", priority=URGENCY[name], text=WORK)
        nights.ask(_say_more(nights, name))
    nights.run(5)
    assert sorted(nights.alive()) == sorted(sessions), "a person has asked for each of them: nobody had to wait"
    nights.go_down(start=False)
    return nights


def _say_more(nights: Nights, session: str) -> Callable[[Daemon], Coroutine[Any, Any, Session]]:
    queued = f.PromptQueued(at=nights.world.clock(), prompt="p2", text=MORE)
    return lambda daemon: daemon.supervisor.record(session, queued)


def starts(nights: Nights) -> list[tuple[float, str]]:
    """When agents were started again, in order."""
    return [(fact.at, name) for name, fact in nights.facts(f.LaunchIntended) if fact.attempt > 1]


def until_all_done(nights: Nights, most: int, seconds: float = 900.0) -> None:
    def sample() -> None:
        alive = nights.alive()
        assert len(alive) <= most, alive

    nights.run(seconds, sample)
    assert [one.id for one in nights.sessions() if one.prompts[-1].state != "done"] == []


def test_after_a_reboot_no_more_agents_work_than_there_are_places_the_most_urgent_first_and_all_are_done() -> None:
    nights = interrupted(GovernorRules(agents_at_once=3, start_spacing=0.5))
    nights.start()
    until_all_done(nights, 3)
    told = starts(nights)
    urgency = [URGENCY[name] for _, name in told]
    assert urgency == sorted(urgency, reverse=True), told
    for level in (1, 0, -1):
        names = [name for _, name in told if URGENCY[name] == level]
        assert names == sorted(names), "then whose work was asked for first"
    assert all(later - one >= 0.5 for (one, _), (later, _) in pairwise(told)), "not two at the same moment"
    assert len(told) == len(MANY), "each was brought back once"


def test_what_a_run_begins_starts_when_there_is_a_place_and_keeps_no_distance() -> None:
    nights = Nights(GovernorRules(agents_at_once=2, start_spacing=600.0))
    for name in MANY[:6]:
        nights.begin(name, text="p1: say", of_run=True)
    nights.run(60)
    assert [one.id for one in nights.sessions() if one.prompts[-1].state != "done"] == []


@pytest.mark.parametrize("every", [3, 11, 31])
def test_a_daemon_that_is_killed_again_and_again_starts_no_more_agents_than_there_are_places(every: int) -> None:
    nights = interrupted(GovernorRules(agents_at_once=2, start_spacing=0.5), MANY[:8])
    nights.start()
    for _ in range(12):
        nights.run(every, lambda: _at_most(nights, 2))
        nights.restart()
    until_all_done(nights, 2)


@pytest.mark.parametrize("dies_at", range(0, 80, 5))
def test_killed_at_any_point_of_the_start_no_agent_has_two_and_no_session_is_forgotten(dies_at: int) -> None:
    nights = interrupted(GovernorRules(agents_at_once=2), MANY[:5])
    nights.start(dies_at)
    until_all_done(nights, 2)
    assert len(starts(nights)) >= 5


def _at_most(nights: Nights, most: int) -> None:
    assert len(nights.alive()) <= most, nights.alive()


def test_what_waits_for_its_turn_says_so_and_a_person_who_wants_it_now_gets_it_now() -> None:
    nights = interrupted(GovernorRules(agents_at_once=1), MANY[:3])
    nights.start()
    nights.run(3)

    async def told(daemon: Daemon) -> dict[str, str]:
        governing, engine = daemon.supervisor.governing, daemon.supervisor.engine
        return {one.id: governing.foresee(one, engine.due(one.id)).why for one in engine.at_hand()}

    said = nights.ask(told)
    [first] = [name for name, why in said.items() if not why]
    waiting = {name: why for name, why in said.items() if why}
    assert nights.alive() == [first]
    assert sorted(waiting.values()) == [
        "it waits for its turn: 1 of 1 agent is working",
        "it waits for its turn: 1 of 1 agent is working; 1 other session comes first",
    ]
    last = next(name for name, why in waiting.items() if "other" in why)

    async def wanted(daemon: Daemon) -> Session:
        return await daemon.supervisor.record(last, f.ResumeAsked(at=nights.world.clock(), by="me"))

    nights.ask(wanted)
    nights.run(2)
    assert sorted(nights.alive()) == sorted([first, last]), "by hand, at once, although all places are taken"
    until_all_done(nights, 2)


def test_while_memory_is_short_no_agent_starts_and_none_is_ended_and_when_it_is_back_all_go_on() -> None:
    nights = interrupted(GovernorRules(agents_at_once=4), MANY[:6])
    plenty, short = MachineReading(2, 8 * GB, 4 * GB), MachineReading(2, 8 * GB, GB // 8)
    nights.reading = plenty
    nights.start()
    nights.run(3)
    working = nights.alive()
    assert len(working) == 4
    nights.reading = short
    nights.run(120)
    assert len(starts(nights)) == 4, "those that worked went on to their end, and nobody was started"

    async def why(daemon: Daemon) -> list[str]:
        governing, engine = daemon.supervisor.governing, daemon.supervisor.engine
        return [governing.foresee(one, engine.due(one.id)).why for one in engine.at_hand() if one.id not in working]

    assert set(nights.ask(why)) == {
        "it waits for memory: 128 MB of 8.0 GB of memory are available, and 512 MB have to be"
    }

    async def wanted(daemon: Daemon) -> Session:
        name = next(one.id for one in daemon.supervisor.engine.at_hand() if one.id not in working)
        return await daemon.supervisor.record(name, f.ResumeAsked(at=nights.world.clock(), by="me"))

    nights.ask(wanted)
    nights.run(60)
    assert len(starts(nights)) == 4, "by hand it is not started either: others would be killed for it"
    nights.reading = plenty
    nights.run(3)
    assert len(starts(nights)) == 6
    until_all_done(nights, 4)


def test_an_agent_that_waits_for_a_person_takes_no_place() -> None:
    nights = Nights(GovernorRules(agents_at_once=1))
    nights.begin("s00", policy="continue", text="p1: build ask say")
    nights.begin("s01", policy="continue", text=WORK)
    nights.run(5)
    nights.go_down()
    nights.run(200)
    done = {one.id: one.prompts[-1].state for one in nights.sessions()}
    assert done["s01"] == "done", "it did not wait for an answer that nobody gives"
