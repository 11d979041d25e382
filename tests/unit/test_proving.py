"""A turn whose record was not compared yet is being checked: in every word, in every answer, and not for ever."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, Literal

import pytest
from msgspec import to_builtins

from rekindle.app.service import Service
from rekindle.app.session_view import WholeSession, more, shown
from rekindle.core.session import facts as f
from rekindle.core.session.activity import rests
from rekindle.core.session.proving import PROOF_SECONDS, is_being_checked, may_change
from rekindle.core.session.state import Session
from rekindle.doors.cli.receipts import Receipts, print_receipt, print_woken
from rekindle.doors.cli.session_page import lines
from rekindle.doors.cli.session_screen import WORKING, group_of
from rekindle.runtime.clock import keep_time
from rekindle.runtime.engine import Engine
from rekindle.runtime.proof import stands
from rekindle.runtime.supervisor import Supervisor
from tests.crash.test_feature_races import NoPlaces
from tests.fakes.keepers import FakeKeepers, FakeWorld
from tests.fakes.records import FakeRecords
from tests.fakes.store import UnhurriedAccess
from tests.fakes.workplace import FakeWorkplace
from tests.sessions import created, folded, told
from tests.unit.test_supervisor import KINDS

Proof = Literal["transcript", "replay"]


def brought_back(proof: Proof = "transcript") -> list[f.AnyFact]:
    """An agent that died at rest is back, and in the middle of its turn."""
    known = ["do it"] if proof == "replay" else None
    return [
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
        f.LaunchIntended(at=11.0, attempt=2, generation=2, how="load", token="tok", known=["do it"]),
        f.Launched(at=12.0, attempt=2, folder="/keep/2", pid=43),
        f.Opened(at=13.0, attempt=2, how="load", token="tok", proof=proof, known=known),
        f.PromptSent(at=14.0, attempt=2, prompt="p2", message=3, text="and that"),
        f.TurnBegan(at=15.0, attempt=2, prompt="p2"),
    ]


OVER = f.TurnFinished(at=20.0, attempt=2, prompt="p2", stop_reason="end_turn")
LOOKED = f.Compared(at=20.1, attempt=2, extends=True, known=["do it", "and that"], why="")
LATE = f.Due(at=27.0, timer="proof", until=20.0 + PROOF_SECONDS)


def view(session: Session, **how: Any) -> dict[str, Any]:
    about = shown(session, 21.0, alive=how.pop("alive", True), seen_seconds_ago=None, **how)
    return dict(to_builtins(more(WholeSession, about, session=session)))


def receipt_of(session: Session) -> f.Receipt:
    assert session.attempt is not None and session.attempt.receipt is not None
    return session.attempt.receipt


def test_a_turn_that_has_ended_is_checked_before_its_session_is_at_rest() -> None:
    session = folded([*brought_back(), OVER])
    assert is_being_checked(session) and not rests(session)
    assert receipt_of(session).kind == "unproven"
    assert view(session)["status"] == "checking" and view(session)["receipt_may_change"]
    assert group_of(view(session)) == WORKING
    assert "may still change" in "\n".join(lines(view(session), 21.0))
    done = told(session, LOOKED)
    assert receipt_of(done).kind == "same"
    assert rests(done) and "proof" not in done.timers
    assert (view(done)["status"], view(done)["receipt_may_change"]) == ("waiting", False)
    assert "may still change" not in "\n".join(lines(view(done), 21.0))


def test_a_record_that_does_not_come_leaves_the_session_unproven_after_a_while_and_corrects_it_when_it_comes() -> None:
    session = told(folded([*brought_back(), OVER]), LATE)
    assert rests(session) and not may_change(session)
    assert "has not written its own record" in receipt_of(session).reason and receipt_of(session).kind == "unproven"
    assert view(session)["status"] == "waiting"
    assert receipt_of(told(session, LOOKED)).kind == "same"


@pytest.mark.parametrize(
    "facts",
    [
        brought_back(),
        brought_back()[:13],
        [*brought_back("replay"), OVER],
        [*brought_back()[:8]],
        [*brought_back(), OVER, f.PromptQueued(at=20.1, prompt="p3", text="more")],
        [*brought_back(), OVER, f.Exited(at=20.1, attempt=2, how_ended="killed", by_us=False)],
        [
            *brought_back(),
            f.TurnFailed(at=20.0, attempt=2, prompt="p2", error="rate_limited", message="", retry_at=99.0),
        ],
    ],
    ids=["in its turn", "a prompt waits", "replayed", "never resumed", "more to do", "dead", "tried again later"],
)
def test_only_a_turn_that_is_over_is_being_checked(facts: list[f.AnyFact]) -> None:
    session = folded(facts)
    assert not is_being_checked(session) and "proof" not in session.timers


def test_a_look_that_found_nothing_is_the_last_word_only_when_the_turn_is_over() -> None:
    nothing = f.Compared(at=19.0, attempt=2, extends=None, known=[], why="nothing was added")
    assert not stands(folded(brought_back()), nothing), "its record may still come"
    assert stands(folded([*brought_back(), OVER]), nothing)
    assert stands(folded(brought_back()), LOOKED)
    assert not stands(folded([*brought_back(), LOOKED]), nothing), "something was found before"


def test_a_daemon_that_takes_over_has_all_the_time_to_look_at_the_record() -> None:
    session = told(folded([*brought_back(), OVER]), f.Adopted(at=500.0, generation=3))
    assert session.timers["proof"] == 500.0 + PROOF_SECONDS


def test_without_a_daemon_it_is_said_who_will_look() -> None:
    session = folded([*brought_back(), OVER])
    assert "when the daemon runs" in view(session, served=False)["why"]
    assert view(session)["why"] == ""
    assert (view(session, alive=False)["status"], view(session, alive=False)["receipt_may_change"]) == ("dead", False)


@pytest.mark.parametrize("proof", ["transcript", "replay"])
def test_the_daemon_calls_no_session_rested_whose_proof_is_on_its_way(proof: Proof) -> None:
    async def story() -> None:
        kinds = {"scripted": replace(KINDS["fake"], proof=proof)}
        access = UnhurriedAccess()
        engine = Engine(access, lambda: 21.0)
        supervisor = Supervisor(engine, FakeKeepers(FakeWorld()), FakeWorkplace(), kinds, FakeRecords())
        service = Service(supervisor, access, kinds, places=NoPlaces())
        await engine.create(created())
        await engine.record("s1", *brought_back(proof)[1:], OVER)
        assert (await service.wait("s1", 0.01)).rested is (proof == "replay"), "a replay has shown all it can"
        await engine.record("s1", LOOKED)
        assert (await service.wait("s1", 0.01)).rested
        await supervisor.close()

    asyncio.run(story())


def test_the_clock_ends_a_check_that_takes_too_long() -> None:
    async def story() -> None:
        engine = Engine(UnhurriedAccess(), lambda: 26.5)
        supervisor = Supervisor(engine, FakeKeepers(FakeWorld()), FakeWorkplace(), KINDS, FakeRecords())
        await engine.create(created())
        await engine.record("s1", *brought_back()[1:], OVER)
        supervisor.is_followed = lambda session: session == "s1"  # type: ignore[method-assign]
        clock = asyncio.ensure_future(keep_time(supervisor, 0.0))
        while not rests(engine.session("s1")):
            await asyncio.sleep(0)
        clock.cancel()
        assert receipt_of(engine.session("s1")).kind == "unproven"
        await supervisor.close()

    asyncio.run(asyncio.wait_for(story(), 30))


def test_whoever_watches_is_told_a_receipt_when_it_is_the_last_word(capsys: pytest.CaptureFixture[str]) -> None:
    working, checked = folded(brought_back()), folded([*brought_back(), OVER])
    receipts = Receipts()
    assert receipts.news(view(working)) == ["s1: woken up, attempt 2."]
    assert receipts.news(view(checked)) == []
    [told_once] = receipts.news(view(told(checked, LOOKED)))
    assert told_once.startswith("  the same conversation: ")
    assert receipts.news(view(told(checked, LOOKED))) == []
    print_woken(view(working))
    assert "not proved" not in capsys.readouterr().out
    after = Receipts(view(working))
    assert after.news(view(told(checked, LATE)))[0].startswith("  not proved to be the same conversation: ")
    print_receipt(view(checked))
    assert "is being checked; see: rekindle show s1" in capsys.readouterr().out
    print_woken(view(told(checked, LOOKED)))
    assert "the same conversation" in capsys.readouterr().out
