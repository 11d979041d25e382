"""What spans sessions, in virtual time: whatever is killed, it happens once, and at the right time."""

from __future__ import annotations

from collections import Counter

import pytest

from rekindle.core.governor import facts as g
from rekindle.core.governor.rules import GovernorRules
from rekindle.core.session import facts as f
from rekindle.core.session.plan import is_cut
from rekindle.core.session.state import Session
from tests.crash.governed import Daemon, Nights

MANY = [f"s{number:02}" for number in range(20)]
LIMIT = 900.0


def in_first_minute(times: list[float]) -> int:
    return sum(one < times[0] + 60.0 for one in times)


def limited(rate: int, sessions: list[str], urgent: str = "") -> Nights:
    """Sessions that have all reached one limit, which has ended at the service when they come back."""
    nights = Nights(GovernorRules(returns_per_minute=rate))
    nights.world.model = ("rate_limited", LIMIT)
    for name in sessions:
        nights.begin(name, priority=int(name == urgent))
    nights.run(10)
    nights.world.model = None
    return nights


def test_twenty_sessions_that_wait_for_one_limit_come_back_one_by_one_and_the_most_urgent_first() -> None:
    nights = limited(6, MANY, urgent="s13")
    ends = [fact.retry_at for _, fact in nights.facts(f.TurnFailed)]
    nights.run(LIMIT + 300)
    times, names = zip(*nights.returns(), strict=True)
    assert sorted(names) == MANY, "each came back once"
    assert times[0] >= min(ends)
    assert names[0] == "s00", "the only one whose limit has ended by then"
    assert names[1] == "s13", "the most urgent one"
    rest = list(names[2:])
    assert rest == sorted(rest), "then those that have waited longest"
    assert in_first_minute(list(times)) <= 6
    assert max(Counter(int(one // 60) for one in times).values()) <= 7
    assert times[-1] < min(ends) + 20 * 10 + 30
    assert all(one.prompts[-1].state == "done" for one in nights.sessions())


@pytest.mark.parametrize("every", [3, 7, 11])
def test_a_daemon_that_is_killed_again_and_again_lets_no_more_of_them_back(every: int) -> None:
    nights = limited(6, MANY[:12])
    nights.run(LIMIT - 20)
    for _ in range(40):
        nights.run(every)
        nights.restart()
    nights.run(200)
    times, names = zip(*nights.returns(), strict=True)
    assert sorted(names) == MANY[:12], "each came back once"
    assert in_first_minute(list(times)) <= 6


@pytest.mark.parametrize("dies_at", range(0, 60, 3))
def test_killed_between_the_permission_to_come_back_and_the_prompt_a_session_comes_back_once(dies_at: int) -> None:
    nights = limited(6, MANY[:4])
    nights.run(LIMIT - 20)
    nights.restart(dies_at)
    nights.run(150)
    names = [name for _, name in nights.returns()]
    assert sorted(names) == MANY[:4]
    tickets = [fact.session for _, fact in nights.facts(g.Returned)]
    assert sorted(tickets) == MANY[:4]
    assert in_first_minute([at for at, _ in nights.returns()]) <= 4


def test_where_the_limit_turns_out_not_to_be_over_only_one_session_pays_for_finding_out() -> None:
    nights = limited(6, MANY[:6])
    nights.world.model = ("rate_limited", 2 * LIMIT)
    nights.run(LIMIT + 120)
    assert len(nights.returns()) == 1
    nights.world.model = None
    nights.run(2 * LIMIT + 120)
    assert Counter(name for _, name in nights.returns()) == {"s00": 2, **dict.fromkeys(MANY[1:6], 1)}


def crashing(nights: Nights) -> None:
    """Every agent dies as soon as it is there."""
    for (name, _), one in list(nights.world.attempts.items()):
        if one.alive:
            nights.world.kill(name)


def automatic(nights: Nights) -> int:
    return sum(fact.attempt > 1 for _, fact in nights.facts(f.LaunchIntended))


def open_questions(nights: Nights) -> list[str]:
    async def asked(daemon: Daemon) -> list[str]:
        return [one.id for one in (await daemon.supervisor.governing.state()).questions]

    found: list[str] = nights.ask(asked)
    return found


def answered(nights: Nights, question: str, option: str) -> None:
    async def answer(daemon: Daemon) -> object:
        fact = g.GovernorAnswered(at=nights.world.clock(), question=question, option=option, by="me")
        return await daemon.supervisor.governing.tell(lambda _state: [fact])

    nights.ask(answer)


def stormy(dies_at: int | None = None) -> Nights:
    nights = Nights(GovernorRules(restarts=5, restart_seconds=3600.0))
    for name in MANY[:8]:
        nights.begin(name, policy="continue", text="p1: build build build")
    if dies_at is not None:
        nights.restart(dies_at)
    nights.run(120, lambda: crashing(nights))
    return nights


def test_restarts_in_vain_over_all_sessions_stop_all_of_them_with_one_question() -> None:
    nights = stormy()
    assert automatic(nights) == 5
    [question] = open_questions(nights)
    nights.run(7200)
    assert automatic(nights) == 5, "nothing is restarted while nobody answers"
    assert open_questions(nights) == [question]

    async def wanted(daemon: Daemon) -> Session:
        return await daemon.supervisor.record("s07", f.ResumeAsked(at=nights.world.clock(), by="me"))

    nights.ask(wanted)
    nights.run(120)
    assert next(one for one in nights.sessions() if one.id == "s07").prompts[0].state != "queued"
    assert automatic(nights) == 6, "what a person asks for is done"
    answered(nights, question, "go-on")
    nights.run(300)
    assert open_questions(nights) == []
    assert not any(is_cut(one) for one in nights.sessions()), "all of them went on"


def test_a_breaker_that_is_told_to_stay_stopped_does_and_a_person_can_change_that() -> None:
    nights = stormy()
    [question] = open_questions(nights)
    answered(nights, question, "stay")
    nights.restart()
    nights.run(3600)
    assert (automatic(nights), open_questions(nights)) == (5, [])

    async def allowed(daemon: Daemon) -> object:
        fact = g.RestartsAllowed(at=nights.world.clock(), by="me")
        return await daemon.supervisor.governing.tell(lambda _state: [fact])

    nights.ask(allowed)
    nights.run(300)
    assert not any(is_cut(one) for one in nights.sessions())


@pytest.mark.parametrize("dies_at", range(0, 80, 4))
def test_killed_between_counting_a_restart_and_the_start_it_counts_once(dies_at: int) -> None:
    nights = stormy(dies_at)
    assert automatic(nights) == 5
    assert len(open_questions(nights)) == 1
    counted = Counter(fact.effect for _, fact in nights.facts(g.RestartCounted) if not fact.seq)
    assert max(counted.values()) == 1
    asked = [fact for _, fact in nights.facts(g.GovernorAsked)]
    assert len(asked) == 1


@pytest.mark.parametrize("dies_at", range(6))
def test_killed_while_the_question_is_answered_the_answer_counts_once_or_can_be_given_again(dies_at: int) -> None:
    nights = stormy()
    [question] = open_questions(nights)
    nights.restart(None)
    nights.ask(_ready)
    nights.daemon._left = dies_at

    async def answer(daemon: Daemon) -> object:
        fact = g.GovernorAnswered(at=nights.world.clock(), question=question, option="go-on", by="me")
        return await daemon.supervisor.governing.tell(lambda _state: [fact])

    nights.daemon.loop.create_task(answer(nights.daemon))
    nights.run(20)
    nights.daemon._left = None
    if open_questions(nights):
        answered(nights, question, "go-on")
    nights.run(300)
    told = [fact for _, fact in nights.facts(g.GovernorAnswered)]
    assert len(told) == 1
    assert not any(is_cut(one) for one in nights.sessions())


async def _ready(_daemon: Daemon) -> bool:
    return True


def test_a_machine_that_went_down_with_all_its_agents_brings_all_of_them_back() -> None:
    nights = Nights(GovernorRules(restarts=3, restart_seconds=3600.0))
    for name in MANY[:8]:
        nights.begin(name, policy="continue", text="p1: build build build")
    nights.run(5)
    for one in nights.world.attempts.values():
        one.die("its guard and keeper were killed")
        assert one.how is not None and one.ended is not None
        one.ended = type(one.ended)(one.ended.how, False, one.ended.delivered, one.ended.started, unseen=True)
    nights.restart()
    nights.run(30)
    assert automatic(nights) == 8
    assert open_questions(nights) == []
