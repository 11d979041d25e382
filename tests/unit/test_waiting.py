"""How something ended that was waited for: the word, whether that is well, and what to type next."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, Literal

import pytest

from rekindle.app.journal_care import Analysed
from rekindle.app.service import Service
from rekindle.app.waiting import journal_outcome, run_outcome, session_outcome
from rekindle.core.journal.analysis import analyse
from rekindle.core.journal.decode import decode_line
from rekindle.core.journal.fold import fold
from rekindle.core.session import facts as f
from rekindle.core.session.activity import is_being_proved, rests
from rekindle.ports.errors import NoOpenRun
from rekindle.runtime.engine import Engine
from rekindle.runtime.supervisor import Supervisor
from tests.crash.test_feature_races import NoPlaces
from tests.fakes.keepers import FakeKeepers, FakeWorld
from tests.fakes.records import FakeRecords
from tests.fakes.store import UnhurriedAccess
from tests.fakes.workplace import FakeWorkplace
from tests.journals import line
from tests.sessions import booked, created
from tests.unit.test_supervisor import KINDS


def shown(**changes: Any) -> dict[str, Any]:
    at_rest = {"id": "24121c", "status": "waiting", "asks": None, "needs_you": False, "why": "", "next": ""}
    return {**at_rest, "message": "", **changes}


def question(name: str = "q1", session: str = "s1") -> dict[str, Any]:
    return {"id": name, "session": session, "title": "May I?"}


@pytest.mark.parametrize(
    ("told", "how", "is_well", "next_"),
    [
        (shown(), "finished", True, "rekindle logs 24121c"),
        (shown(status="asleep"), "finished", True, "rekindle logs 24121c"),
        (shown(status="completed"), "completed", True, "rekindle logs 24121c"),
        (shown(status="cancelled"), "cancelled", False, "rekindle resume 24121c"),
        (shown(status="failed", needs_you=True, why="no", next="n"), "failed", False, "n"),
        (shown(status="interrupted", why="killed"), "interrupted", False, "rekindle resume 24121c"),
        (shown(status="asleep", needs_you=True, why="limit", next="n"), "stopped short", False, "n"),
        (shown(status="asking", asks=question(), needs_you=True), "asking", False, "rekindle answer q1 OPTION"),
    ],
)
def test_the_end_of_a_turn_is_called_what_it_is(told: dict[str, Any], how: str, is_well: bool, next_: str) -> None:
    found = session_outcome(told)
    assert (found.how, found.is_well, found.next) == (how, is_well, next_)
    assert found.document["how"] == how and found.document["id"] == "24121c"


def run(*states: str, **changes: Any) -> dict[str, Any]:
    tasks = [{"id": str(number), "state": state, "session": "s1"} for number, state in enumerate(states)]
    about = {"feature": "shop", "branch": "feature/shop", "over": False, "reason": None, "message": "", "tasks": tasks}
    return {**about, **changes}


def test_a_run_that_is_over_names_the_merge_or_the_resume() -> None:
    done = run_outcome(run("merged", over=True, reason="completed"), [])
    assert done is not None and (done.is_well, done.next) == (True, "git merge feature/shop")
    failed = run_outcome(run("failed", over=True, reason="error", message="task 0 failed"), [])
    assert failed is not None and not failed.is_well
    assert (failed.how, failed.why, failed.next) == ("error", "task 0 failed", "rekindle resume shop")


def test_a_run_asks_only_when_nothing_else_moves_in_it() -> None:
    assert run_outcome(run("asking", "working"), [question()]) is None
    assert run_outcome(run("working"), []) is None
    asking = run_outcome(run("asking", "merged", "waiting"), [question()])
    assert asking is not None and asking.question == question()


def journal(*lines: bytes) -> Analysed:
    return Analysed(analyse(fold(map(decode_line, lines))), None)


def test_without_a_daemon_the_journal_says_how_a_run_ended() -> None:
    cut = journal_outcome("shop", journal(line("session.start")))
    assert cut is not None and (cut.how, cut.is_well, cut.next) == ("interrupted", False, "rekindle resume shop")
    ended = journal_outcome("shop", journal(line("session.start"), line("session.end", seq=1, reason="error")))
    assert ended is not None and ended.how == "error" and not ended.is_well
    done = journal_outcome("shop", journal(line("session.start"), line("session.end", seq=1, reason="completed")))
    assert done is not None and done.is_well
    with pytest.raises(NoOpenRun):
        journal_outcome("shop", journal())


RESUMED: list[f.AnyFact] = [
    created(),
    f.PromptQueued(at=2.0, prompt="p1", text="do it"),
    f.LaunchIntended(at=3.0, attempt=1, generation=1, how="new"),
    f.Launched(at=4.0, attempt=1, folder="/keep/1", pid=42),
    f.Opened(at=5.0, attempt=1, how="new", token="tok"),
    f.PromptSent(at=6.0, attempt=1, prompt="p1", message=3, text="do it"),
    f.TurnBegan(at=7.0, attempt=1, prompt="p1"),
    f.TurnFinished(at=8.0, attempt=1, prompt="p1", stop_reason="end_turn"),
    f.Exited(at=9.0, attempt=1, how_ended="killed", by_us=False),
    f.PromptQueued(at=10.0, prompt="p2", text="and that"),
    f.LaunchIntended(at=11.0, attempt=2, generation=2, how="load", token="tok"),
    f.Launched(at=12.0, attempt=2, folder="/keep/2", pid=43),
    f.Opened(at=13.0, attempt=2, how="load", token="tok", proof="transcript"),
    f.ReceiptWritten(at=13.0, attempt=2, receipt=f.Receipt(kind="unproven", reason="the next turn will show")),
    f.PromptSent(at=14.0, attempt=2, prompt="p2", message=3, text="and that"),
    f.TurnBegan(at=15.0, attempt=2, prompt="p2"),
]
OVER = f.TurnFinished(at=20.0, attempt=2, prompt="p2", stop_reason="end_turn")
LOOKED = f.Compared(at=20.5, attempt=2, extends=True, known=["do it"], why="")


def test_the_turn_of_a_resumed_agent_is_waited_for_until_its_record_was_looked_at() -> None:
    """In `RESUMED` it was read before the second attempt, and not after it."""
    assert not is_being_proved(booked(RESUMED), 21.0, 6.0), "its turn is not over"
    session = booked([*RESUMED, OVER])
    assert rests(session) and is_being_proved(session, 21.0, 6.0)
    assert not is_being_proved(session, 27.0, 6.0), "not for ever"
    assert not is_being_proved(booked([*RESUMED, OVER, LOOKED]), 21.0, 6.0)


@pytest.mark.parametrize("proof", ["transcript", "replay"])
def test_the_daemon_calls_no_session_rested_whose_proof_is_on_its_way(proof: Literal["transcript", "replay"]) -> None:
    async def story() -> None:
        kinds = {"scripted": replace(KINDS["fake"], proof=proof)}
        access = UnhurriedAccess()
        engine = Engine(access, lambda: 21.0)
        supervisor = Supervisor(engine, FakeKeepers(FakeWorld()), FakeWorkplace(), kinds, FakeRecords())
        service = Service(supervisor, access, kinds, places=NoPlaces())
        await engine.create(created())
        await engine.record("s1", *RESUMED[1:], OVER)
        assert (await service.wait("s1", 0.01)).rested is (proof == "replay"), "a replay has shown all it can"
        await engine.record("s1", LOOKED)
        assert (await service.wait("s1", 0.01)).rested
        await supervisor.close()

    asyncio.run(story())
