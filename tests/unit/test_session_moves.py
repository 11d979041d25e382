"""A session told fact by fact: the state that each leads to, the task beside it, and what is answered about it."""

from __future__ import annotations

import asyncio

import pytest

from rekindle.app.sending import sent_to
from rekindle.core.effects import Launch
from rekindle.core.session import facts as f
from rekindle.core.session.plan import plan
from rekindle.core.session.state import State
from rekindle.core.session.status import Status, executor_status, status
from rekindle.core.session.tables import REFUSALS, STOPS, TRANSITIONS
from rekindle.ports.keepers import AttemptOrder
from rekindle.runtime.engine import Engine
from rekindle.runtime.supervisor import Supervisor
from tests.fakes.keepers import FakeKeepers, FakeWorld
from tests.fakes.records import FakeRecords
from tests.fakes.store import FakeStore, InlineAccess
from tests.fakes.workplace import FakeWorkplace
from tests.sessions import folded, told

S, R, W = State.STARTING, State.RUNNING, State.WAITING_FOR_INPUT
CREATED = f.Created(at=1, session="s1", agent="a", cwd="/w")
FIRST: list[f.AnyFact] = [
    CREATED,
    f.PromptQueued(at=2, prompt="p1", text="one"),
    f.LaunchIntended(at=3, attempt=1, generation=1, how="new"),
    f.Launched(at=4, attempt=1, folder="/k/1", pid=1),
    f.Opened(at=5, attempt=1, how="new", token="tok", can_load=True),
    f.PromptSent(at=6, attempt=1, prompt="p1", message=2, text="one"),
    f.TurnBegan(at=7, attempt=1, prompt="p1"),
    f.TurnFinished(at=8, attempt=1, prompt="p1", stop_reason="end_turn"),
]
GONE = f.Exited(at=9, attempt=1, how_ended="signal SIGKILL", by_us=False)
AGAIN: list[f.AnyFact] = [
    f.ResumeAsked(at=10, by="me"),
    f.LaunchIntended(at=11, attempt=2, generation=2, how="load", token="tok"),
    f.Launched(at=12, attempt=2, folder="/k/2", pid=2),
]


def test_the_states_are_six_and_move_by_this_table() -> None:
    assert {state.value for state in State} == {
        *("STARTING", "RUNNING", "WAITING_FOR_INPUT", "COMPLETED", "FAILED", "CANCELLED"),
    }
    assert {
        (S, f.LaunchIntended): S,
        (R, f.LaunchIntended): S,
        (W, f.LaunchIntended): S,
        (State.COMPLETED, f.LaunchIntended): S,
        (State.FAILED, f.LaunchIntended): S,
        (State.CANCELLED, f.LaunchIntended): S,
        (S, f.Opened): W,
        (S, f.PromptSent): R,
        (W, f.PromptSent): R,
        (R, f.TurnFinished): W,
        (R, f.TurnFailed): W,
    } == TRANSITIONS
    assert {problem for problem, state in REFUSALS.items() if state is W} == {
        *("unknown_session", "incomplete", "unsupported"),
    }
    assert set(REFUSALS.values()) == {S, W}, "no refusal fails a session"
    assert STOPS == {
        "asleep": W,
        "cancelled": State.CANCELLED,
        "completed": State.COMPLETED,
        "failed": State.FAILED,
    }


def test_a_resume_that_succeeds_moves_the_session_and_its_task_step_by_step() -> None:
    session = folded([*FIRST, GONE])
    seen = [(session.state, session.task_state)]
    for fact in (
        *AGAIN,
        f.Opened(at=13, attempt=2, how="load", token="tok"),
        f.PromptQueued(at=14, prompt="p2", text="two"),
        f.PromptSent(at=15, attempt=2, prompt="p2", message=2, text="two"),
        f.TurnFinished(at=16, attempt=2, prompt="p2", stop_reason="end_turn"),
    ):
        session = told(session, fact)
        if seen[-1] != (session.state, session.task_state):
            seen.append((session.state, session.task_state))
    assert seen == [
        (W, "REVIEW"),
        (S, "IN_PROGRESS"),
        (W, "REVIEW"),
        (R, "IN_PROGRESS"),
        (W, "REVIEW"),
    ]


def test_a_token_that_the_agent_refuses_is_cleared_and_the_session_waits_for_input() -> None:
    session = folded([*FIRST, GONE, *AGAIN])
    assert (session.state, session.token) == (S, "tok")
    refused = f.OpenRefused(at=13, attempt=2, how="load", problem="unknown_session", message="no such session")
    session = told(session, refused)
    assert (session.state, session.task_state, session.token) == (W, "REVIEW", None)
    assert "tok" in session.lost, "it is not tried again"


@pytest.mark.parametrize("by_us", [False, True])
def test_a_prompt_that_comes_while_an_agent_that_lost_the_conversation_ends_begins_a_new_one(by_us: bool) -> None:
    refused = f.OpenRefused(at=13, attempt=2, how="load", problem="unknown_session", message="no such session")
    session = folded([*FIRST, GONE, *AGAIN, refused])
    assert session.is_up and session.held
    for fact in sent_to(session, f.PromptQueued(at=14, prompt="p2", text="two")):
        session = told(session, fact)
    session = told(session, f.Exited(at=15, attempt=2, how_ended="signal SIGKILL", by_us=by_us))
    assert session.escalation is None, "the prompt is the answer"
    assert plan(session, 100.0) == [Launch("s1", 3)]


def test_a_new_conversation_that_never_began_is_paid_once() -> None:
    refused = f.OpenRefused(at=13, attempt=2, how="load", problem="unknown_session", message="no such session")
    gone = f.Exited(at=14, attempt=2, how_ended="stopped (asleep)", by_us=True)
    session = folded([*FIRST, GONE, *AGAIN, refused, gone])
    session = told(session, f.LaunchIntended(at=15, attempt=3, generation=3, how="new"))
    assert session.spent["renewals"] == 1
    session = told(session, f.LaunchFailed(at=16, attempt=3, message="no room"))
    session = told(session, f.LaunchIntended(at=17, attempt=4, generation=4, how="new"))
    assert session.spent["renewals"] == 1
    session = told(session, f.Launched(at=18, attempt=4, folder="/k/4", pid=4))
    session = told(session, f.Opened(at=19, attempt=4, how="new", token="other"))
    session = told(session, f.Exited(at=20, attempt=4, how_ended="signal SIGKILL", by_us=False))
    session = told(session, f.LaunchIntended(at=21, attempt=5, generation=5, how="new"))
    assert session.spent["renewals"] == 2, "that one had begun"


@pytest.mark.parametrize("problem", ["unauthorized", "timeout", "other"])
def test_a_refusal_that_does_not_disown_the_conversation_keeps_the_token(problem: f.Refusal) -> None:
    session = folded([*FIRST, GONE, *AGAIN, f.OpenRefused(at=13, attempt=2, how="load", problem=problem, message="no")])
    assert (session.token, session.state) == ("tok", S)


def test_a_transport_that_dies_during_a_resume_keeps_the_token() -> None:
    session = folded([*FIRST, GONE, *AGAIN, f.Exited(at=13, attempt=2, how_ended="signal SIGKILL", by_us=False)])
    assert session.token == "tok"
    assert status(session, alive=False, seen_seconds_ago=None).reason == "agent_not_running"


def test_ready_turn_finished_and_exited_are_three_things() -> None:
    ready, finished, exited = folded(FIRST[:5]), folded(FIRST), folded([*FIRST, GONE])
    assert [(one.state, one.is_up) for one in (ready, finished, exited)] == [(W, True), (W, True), (W, False)]
    assert [[prompt.state for prompt in one.prompts] for one in (ready, finished, exited)] == [
        ["queued"],
        ["done"],
        ["done"],
    ]


def test_an_idle_session_that_comes_back_is_told_nothing() -> None:
    for how, token in (("load", "tok"), ("new", "other")):
        session = folded([*FIRST, GONE, *AGAIN, f.Opened(at=13, attempt=2, how=how, token=token)])  # type: ignore[arg-type]
        assert [prompt.id for prompt in session.prompts] == ["p1"], how
        assert plan(session, 14.0) == [], how
        assert (session.state, session.is_up) == (W, True)


NOW = {
    "agent runs": (FIRST, True, None, Status(True, False, False, "already_running")),
    "seen 9.9 s ago": (FIRST, False, 9.9, Status(False, False, False, "recently_seen")),
    "seen 10 s ago": (FIRST, False, 10.0, Status(False, True, True, "agent_not_running")),
    "waiting, token": ([*FIRST, GONE], False, None, Status(False, True, True, "agent_not_running")),
    "running, token": ([*FIRST[:7], GONE], False, None, Status(False, True, True, "agent_not_running")),
    "starting, token": ([*FIRST, GONE, *AGAIN], False, None, Status(False, True, True, "agent_not_running")),
    "starting, no token": (FIRST[:4], False, None, Status(False, True, True, "agent_not_running_fresh_start")),
    "never started": (FIRST[:2], False, None, Status(False, False, False, "not_started")),
    **{
        to: (
            [*FIRST, f.StopAsked(at=9, by="me", to=to), f.Exited(at=10, attempt=1, how_ended="0", by_us=True)],
            False,
            None,
            Status(False, False, to != "completed", to),
        )
        for to in ("completed", "failed", "cancelled")
    },
}


@pytest.mark.parametrize("case", NOW)
def test_each_case_of_the_status_has_its_answer(case: str) -> None:
    facts, alive, seen, answer = NOW[case]
    assert status(folded(facts), alive=alive, seen_seconds_ago=seen) == answer


def test_how_the_process_of_a_session_stands_is_told_in_five_words() -> None:
    up: list[f.AnyFact] = [
        f.LaunchIntended(at=2, attempt=1, generation=1, how="new"),
        f.Launched(at=3, attempt=1, folder="", pid=1),
    ]
    ready: list[f.AnyFact] = [*up, f.Opened(at=4, attempt=1, how="new", token="tok")]
    busy: list[f.AnyFact] = [
        *ready,
        f.PromptQueued(at=5, prompt="p", text="go"),
        f.PromptSent(at=6, attempt=1, prompt="p", message=1, text="go"),
    ]
    gone: list[f.AnyFact] = [*ready, f.Exited(at=7, attempt=1, how_ended="ended", by_us=True)]

    def told(facts: list[f.AnyFact], *, alive: bool = True, seen: float | None = None) -> str:
        session = folded([f.Created(at=1, session="s", agent="fake", cwd="/"), *facts])
        return executor_status(session, alive=alive, seen_seconds_ago=seen)

    assert [told([], alive=False), told(up[:1]), told(up)] == ["stopped", "starting", "starting"]
    assert [told(ready), told(busy), told(gone, alive=False)] == ["ready", "busy", "stopped"]
    assert [told(busy, alive=False, seen=one) for one in (0.0, 9.9, 10.0, None)] == ["unknown"] * 2 + ["stopped"] * 2


class Remembered(FakeKeepers):
    """Its agent wrote something at a time that the test knows."""

    wrote = 50.0

    def heard_at(self, session: str, attempt: int) -> float | None:
        return self.wrote


def test_how_long_ago_a_keeper_that_nobody_follows_was_seen_is_measured() -> None:
    world, now = FakeWorld(), [0.0]
    keepers = Remembered(world)

    async def story() -> list[tuple[float | None, str]]:
        engine = Engine(InlineAccess(FakeStore()), lambda: now[0])
        supervisor = Supervisor(engine, keepers, FakeWorkplace(), {}, FakeRecords())
        await keepers.launch(AttemptOrder("s", 1, 1, ("agent",), "/", {}))
        await engine.create(f.Created(at=0, session="s", agent="fake", cwd="/"))
        begun: list[f.AnyFact] = [
            f.LaunchIntended(at=1, attempt=1, generation=1, how="new"),
            f.Launched(at=2, attempt=1, folder="", pid=1),
            f.Opened(at=3, attempt=1, how="new", token="tok"),
        ]
        await engine.record("s", *begun)
        found = []
        for now[0] in (50.0, 59.9, 60.0, 75.0):
            seen = supervisor.seen_seconds_ago("s")
            found.append((seen, status(engine.session("s"), alive=False, seen_seconds_ago=seen).reason))
        world.kill("s")
        found.append((supervisor.seen_seconds_ago("s"), "gone"))
        return found

    near, late = "recently_seen", "agent_not_running"
    found = asyncio.run(story())
    assert [why for _, why in found] == [near, near, late, late, "gone"]
    assert [None if seen is None else round(seen, 1) for seen, _ in found] == [0.0, 9.9, 10.0, 25.0, None]
