"""When the time of a session has come: its turn takes too long, its agent says nothing or has nothing to do."""

from __future__ import annotations

import asyncio

import pytest

from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base.kind import AgentKind
from rekindle.core.session import facts as f
from rekindle.core.session.react import take
from rekindle.core.session.state import Session
from rekindle.runtime.clock import keep_time
from rekindle.runtime.engine import Engine
from rekindle.runtime.supervisor import Supervisor
from tests.fakes.keepers import FakeKeepers, FakeWorld
from tests.fakes.records import FakeRecords
from tests.fakes.store import InlineAccess
from tests.fakes.workplace import FakeWorkplace
from tests.sessions import booked, folded, told


def at_work(**limits: float) -> Session:
    return folded(
        [
            f.Created(at=1, session="s1", agent="claude", cwd="/w", limits=f.Limits(**limits)),  # type: ignore[arg-type]
            f.PromptQueued(at=2, prompt="p1", text="one"),
            f.LaunchIntended(at=3, attempt=1, generation=1, how="new", token="t"),
            f.Launched(at=4, attempt=1, folder="/k/1", pid=1),
            f.Opened(at=5, attempt=1, how="new", token="t"),
            f.PromptSent(at=100, attempt=1, prompt="p1", message=2, text="one"),
        ]
    )


def given_up(session: Session) -> str:
    assert session.attempt is not None
    return session.attempt.given_up


def test_a_turn_is_given_up_when_its_time_is_over() -> None:
    session = at_work(turn_seconds=30.0)
    assert session.timers == {"turn": 130.0}
    assert given_up(told(session, f.Due(at=130, timer="turn", until=129.0))) == "", "another time than it was set to"
    assert "longer than 30 s" in given_up(told(session, f.Due(at=130, timer="turn", until=130.0)))


@pytest.mark.parametrize(("silent", "reason"), [(9.0, ""), (11.0, "it said nothing for 10 s, with no tool running")])
def test_a_turn_is_given_up_when_it_is_silent(silent: float, reason: str) -> None:
    found, facts = take(at_work(stall_seconds=10.0), f.Stalled(at=101, attempt=1, seconds=silent))
    assert given_up(found) == reason
    assert bool(facts) == bool(reason), "nothing is recorded that changes nothing"


def test_a_question_waits_for_a_person_for_ever_and_the_turn_has_its_old_end_afterwards() -> None:
    asked = f.PermissionAsked(at=101, attempt=1, request="r", title="rm", kind="execute", options=[])
    session = told(at_work(turn_seconds=30.0, stall_seconds=1.0), asked)
    assert session.timers == {}
    assert given_up(told(session, f.Stalled(at=102, attempt=1, seconds=10_000.0))) == ""
    answered = told(session, f.PermissionAnswered(at=110, request="r", option=None, by="user"))
    assert answered.timers == {"turn": 130.0}
    late = told(session, f.PermissionAnswered(at=900, request="r", option=None, by="user"))
    assert late.timers == {"turn": 900.0}


def test_an_agent_that_has_nothing_to_do_is_put_to_sleep_at_a_time_that_outlives_the_daemon() -> None:
    done = told(at_work(), f.TurnFinished(at=200, attempt=1, prompt="p1", stop_reason="end_turn"))
    assert done.timers == {"idle": 800.0}
    adopted = told(done, f.Adopted(at=700, generation=9))
    assert adopted.timers == {"idle": 800.0}, "a new daemon does not start the clock over"
    assert told(adopted, f.Due(at=800, timer="idle", until=800.0)).stop_asked == "asleep"
    busy = told(adopted, f.PromptQueued(at=750, prompt="p2", text="two"))
    assert busy.timers == {}
    assert told(busy, f.Due(at=800, timer="idle", until=800.0)) == busy


def test_an_agent_that_a_new_daemon_opens_anew_has_all_the_time_for_it() -> None:
    up = folded(
        [
            f.Created(at=1, session="s1", agent="claude", cwd="/w"),
            f.LaunchIntended(at=3, attempt=1, generation=1, how="new", token="t"),
            f.Launched(at=4, attempt=1, folder="/k/1", pid=1),
        ]
    )
    assert up.timers == {"start": 64.0}
    assert told(up, f.Adopted(at=900, generation=2)).timers == {"start": 960.0}


def test_timers_are_folded_from_facts_alone() -> None:
    facts: list[f.AnyFact] = []
    session: Session | None = None
    for fact in (
        f.Created(at=1, session="s1", agent="claude", cwd="/w", limits=f.Limits(turn_seconds=9.0)),
        f.PromptQueued(at=2, prompt="p1", text="one"),
        f.LaunchIntended(at=3, attempt=1, generation=1, how="new", token="t"),
        f.Launched(at=4, attempt=1, folder="/k/1", pid=1),
        f.Opened(at=5, attempt=1, how="new", token="t"),
        f.PromptSent(at=100, attempt=1, prompt="p1", message=2, text="one"),
    ):
        session, found = take(session, fact)
        facts += found
        assert booked(facts) == session


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (f.Limits(stall_seconds=60.0), "said nothing for 60 s"),
        (f.Limits(turn_seconds=60.0), "longer than 60 s"),
    ],
    ids=["silence", "turn"],
)
@pytest.mark.parametrize(
    ("jump", "slept"),
    [(8 * 3600.0, 8 * 3600.0), (-7200.0, 0.0), (7200.0, 0.0)],
    ids=["slept", "set back", "set forward"],
)
def test_the_time_that_a_machine_slept_or_by_which_a_clock_was_set_is_held_against_no_agent(
    jump: float, slept: float, limits: f.Limits, why: str
) -> None:
    world, now, steady = FakeWorld(), [10_000.0], [500.0]
    engine = Engine(InlineAccess(), lambda: now[0], steady=lambda: steady[0])
    kinds = {"fake": AgentKind("fake", "Fake", lambda _start: ("fake",), AcpDialect)}

    async def pass_by(seconds: float, truly: float | None = None) -> None:
        now[0] += seconds
        steady[0] += seconds if truly is None else truly
        for _ in range(20):
            await asyncio.sleep(0)

    async def story() -> None:
        supervisor = Supervisor(engine, FakeKeepers(world), FakeWorkplace(), kinds, FakeRecords(), settle_seconds=0.0)
        await engine.create(f.Created(at=0, session="s", agent="fake", cwd="/", limits=limits))
        await supervisor.record("s", f.PromptQueued(at=0, prompt="p", text="hello"))
        while engine.session("s").prompts[0].state == "queued":
            if not any(b"session/prompt" in one.payload for one in world.attempts["s", 1].records):
                world.settle()  # it does not get to its turn
            await asyncio.sleep(0)
        watching = asyncio.ensure_future(keep_time(supervisor, 0.0))
        await pass_by(0.0)
        await pass_by(jump, slept)
        for passed in [5.0] * 9:
            await pass_by(passed)
        assert engine.session("s").attempts[-1].given_up == ""
        for passed in [5.0] * 6:
            await pass_by(passed)
        assert why in engine.session("s").attempts[-1].given_up
        watching.cancel()
        await supervisor.close()

    asyncio.run(story())
