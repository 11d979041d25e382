"""A session that waits for a limit: its time, a hold, a hurry, and how many limits it waits for."""

from __future__ import annotations

from typing import Any

from rekindle.core.effects import Launch, Say, Wait
from rekindle.core.session import facts as f
from rekindle.core.session.activity import rests, waits_until
from rekindle.core.session.listing import listing
from rekindle.core.session.plan import plan, wants_agent
from rekindle.core.session.state import OURS, Session
from tests.sessions import told
from tests.unit.test_limit_kinds import working


def limited(session: Session, at: float = 100.0, end: float = 5000.0, prompt: str = "") -> Session:
    """The session's turn reaches a limit."""
    running = prompt or (session.turn.id if session.turn is not None else "")
    return told(
        session,
        f.TurnFailed(
            at=at, attempt=1, prompt=running, error="rate_limited", message="limit", retry_at=end, limit="five_hour"
        ),
    )


def again(session: Session, at: float) -> Session:
    """What waited is sent."""
    queued = session.queued[0]
    return told(session, f.PromptSent(at=at, attempt=1, prompt=queued.id, message=3, text=queued.text))


def test_a_session_says_which_limit_it_waits_for_and_until_when() -> None:
    session = limited(working())
    assert (session.queued[0].limit, session.queued[0].after) == ("claude:five_hour", 5000.5)
    assert waits_until(session, 200.0) == 5000.5
    assert listing(session, 200.0, alive=True).waits_until == 5000.5


def test_a_session_on_hold_rests_and_what_a_person_says_is_sent() -> None:
    held = told(limited(working()), f.HoldAsked(at=200, by="me"))
    assert rests(held)
    assert plan(held, 9000.0) == []
    shown = listing(held, 9000.0, alive=True)
    assert (shown.waits_until, shown.needs_you, shown.next) == (None, False, "rekindle resume s1")
    asked = told(held, f.PromptQueued(at=300, prompt="p2", text="mine"))
    assert plan(asked, 400.0) == [Say("s1", 1, "p2", "mine")]
    lifted = told(held, f.HoldLifted(at=300, by="me"))
    assert plan(lifted, 400.0) == [Wait("s1", 5000.5)], "its own time still stands"
    assert isinstance(plan(lifted, 5001.0)[0], Say)


def test_a_dead_agent_on_hold_is_not_brought_back_until_a_person_says_so() -> None:
    dead = told(limited(working()), f.Exited(at=300, attempt=1, how_ended="killed", by_us=False))
    assert plan(dead, 400.0) == [Wait("s1", 5000.5)]
    held = told(dead, f.HoldAsked(at=400, by="me"))
    assert (plan(held, 9000.0), wants_agent(held)) == ([], False)
    assert not wants_agent(told(held, f.ResumeAsked(at=500, by=OURS)))
    assert plan(told(held, f.ResumeAsked(at=500, by="me")), 501.0) == [Launch("s1", 2)]


def test_an_agent_on_hold_goes_to_sleep_as_any_other_that_has_nothing_to_do() -> None:
    held = told(limited(working()), f.HoldAsked(at=200, by="me"))
    assert held.timers == {"idle": 800.0}
    asleep = told(held, f.Due(at=800, timer="idle", until=800.0))
    assert asleep.stop_asked == "asleep"


def test_a_session_that_is_hurried_goes_on_at_once_also_without_an_agent() -> None:
    hurried = told(limited(working()), f.Hurried(at=200, by="me"))
    [say] = plan(hurried, 200.0)
    assert isinstance(say, Say)
    assert hurried.queued[0].hurried
    dead = told(limited(working()), f.Exited(at=300, attempt=1, how_ended="killed", by_us=False))
    assert plan(told(dead, f.Hurried(at=400, by="me")), 400.0) == [Launch("s1", 2)]


def test_a_session_waits_for_so_many_limits_and_then_asks() -> None:
    session = working(windows=2)
    for number in range(2):
        session = limited(session, 100.0 + 10_000 * number, 5000.0 + 10_000 * number)
        assert session.escalation is None
        session = again(session, 6000.0 + 10_000 * number)
    session = limited(session, 30_000.0, 35_000.0)
    assert session.queued == []
    assert session.escalation is not None
    assert "waited for 2 limits" in session.escalation.title


def test_a_limit_that_is_told_twice_counts_once_and_a_turn_that_ends_well_gives_no_windows_back() -> None:
    session = again(limited(working(windows=1)), 4000.0)
    session = limited(session, 4001.0, 5001.0)
    assert session.escalation is None, "it was the same limit"
    session = again(session, 6000.0)
    done: dict[str, Any] = {"attempt": 1, "prompt": session.turn.id if session.turn is not None else ""}
    session = told(session, f.TurnFinished(at=6100, stop_reason="end_turn", **done))
    session = told(session, f.PromptQueued(at=6200, prompt="p9", text="more"))
    session = told(session, f.PromptSent(at=6201, attempt=1, prompt="p9", message=9, text="more"))
    session = limited(session, 6300.0, 9000.0)
    assert session.escalation is not None


def test_no_message_says_how_long_it_takes_because_it_is_read_later() -> None:
    waiting = limited(working())
    assert waiting.message.endswith("; it continues by itself")
    lifted = told(told(waiting, f.HoldAsked(at=200, by="me")), f.HoldLifted(at=6000, by="me"))
    assert " s" not in lifted.message.partition(";")[2].replace("itself", "")
    dead = told(waiting, f.Exited(at=300, attempt=1, how_ended="killed", by_us=False))
    why = listing(dead, 400.0, alive=False).why
    assert why.count("continues by itself") <= 1
