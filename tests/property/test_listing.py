"""Lists of sessions under any facts: none that is not over gets lost, and none needs a person without a reason."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rekindle.core.session import facts as f
from rekindle.core.session.facts import Limits, Usage
from rekindle.core.session.listing import Listing, listing
from rekindle.core.session.plan import plan, wants_agent
from rekindle.core.session.starting import has_failed_to_start
from rekindle.core.session.state import Session, State
from rekindle.core.session.words import OVER, WORDS
from rekindle.doors.cli.colours import Ink
from rekindle.doors.cli.session_screen import Surface
from rekindle.doors.cli.status import open_sessions, resting_sessions
from tests.property.session_lives import FACTS, begun, folded
from tests.sessions import told

POLICIES = st.sampled_from(["ask", "continue", "never"])


def row(session: Session, listed: Listing) -> dict[str, Any]:
    about = {"id": "the-session", "agent": "a", "title": "t", "feature": None, "cwd": "/", "changed_at": 0.0}
    about["state"] = session.state.value
    return {**about, **{name: getattr(listed, name) for name in Listing.__struct_fields__}}


def on_screen(session: Session, listed: Listing, now: float) -> str:
    """All that the bare command says of a session, in lines that nothing breaks."""
    screen, rows = Surface(None, Ink(False), now), [row(session, listed)]
    return "\n".join([*open_sessions(rows, screen), *resting_sessions(rows)])


@given(FACTS, POLICIES, st.booleans(), st.booleans())
def test_a_session_that_is_not_over_is_in_every_list(
    facts: list[f.AnyFact], policy: str, alive: bool, served: bool
) -> None:
    session = folded(facts, policy)
    listed = listing(session, 5.0, alive=alive and session.is_up, served=served)
    assert listed.status in WORDS, "every list has one vocabulary"
    assert (listed.status == "paused") == (alive and session.is_up and listed.waits_until is not None)
    assert (listed.status in OVER) == (session.state in (State.COMPLETED, State.CANCELLED))
    said = on_screen(session, listed, 5.0)
    if listed.status not in OVER:
        assert "the-session" in said or "1 session" in said
    if listed.needs_you:
        assert listed.why
        assert listed.next.startswith("rekindle ")
        assert "the-session" in said


@given(FACTS, POLICIES)
def test_one_that_nobody_brings_back_needs_a_person_and_one_that_comes_back_by_itself_says_so(
    facts: list[f.AnyFact], policy: str
) -> None:
    session = folded(facts, policy)
    if session.is_up:
        return
    listed = listing(session, 5.0, alive=False)
    is_held = wants_agent(replace(session, on_hold=""))  # by a person, who has said that it is to wait
    if listed.status in ("interrupted", "failed", "queued") and not is_held:
        assert listed.needs_you
    alone = listing(session, 5.0, alive=False, served=False)
    if plan(session, 5000.0):
        assert alone.needs_you, "without a daemon nobody brings it back"
        assert "when the daemon runs" in alone.why


@pytest.mark.parametrize("end", ["failed", "completed", "cancelled"])
def test_a_session_that_has_ended_and_is_wanted_back_says_that_it_comes(
    end: Literal["failed", "completed", "cancelled"],
) -> None:
    session = told(begun(), f.StopAsked(at=1, by="me", to=end))
    assert "continues" not in listing(session, 5.0, alive=False, served=False).why
    wanted = told(session, f.ResumeAsked(at=2, by="me"))
    assert "when the daemon runs" in listing(wanted, 5.0, alive=False, served=False).why
    assert not listing(wanted, 5.0, alive=False).needs_you


def opened(policy: str = "ask", limits: Limits | None = None) -> Session:
    session = begun(policy)
    for fact in (
        f.PromptQueued(at=1, prompt="p", text="do it"),
        f.ResumeAsked(at=1, by="me", limits=limits),
        f.LaunchIntended(at=2, attempt=1, generation=1, how="new"),
        f.Launched(at=3, attempt=1, folder="x", pid=1),
        f.Opened(at=4, attempt=1, how="new", token="t"),
        f.PromptSent(at=5, attempt=1, prompt="p", message=1, text="do it"),
    ):
        session = told(session, fact)
    return session


def test_a_refused_key_needs_a_person() -> None:
    failed = f.TurnFailed(at=6, attempt=1, prompt="p", error="unauthorized", message="the key is refused")
    listed = listing(told(opened(), failed), 7.0, alive=True)
    assert (listed.needs_you, "the key is refused" in listed.why) == (True, True)


def test_a_rate_limit_says_until_when_and_needs_nobody() -> None:
    failed = f.TurnFailed(
        at=6, attempt=1, prompt="p", error="rate_limited", message="the limit is reached", retry_at=500.0
    )
    session = told(opened(), failed)
    listed = listing(session, 7.0, alive=True)
    assert (listed.needs_you, listed.waits_until) == (False, 500.5)
    assert "the limit is reached" in listed.why
    assert "continues by itself in 8 min" in on_screen(session, listed, 7.0)


def test_a_limit_of_tokens_is_named() -> None:
    done = f.TurnFinished(at=6, attempt=1, prompt="p", stop_reason="end_turn", usage=Usage(60, 60))
    session = told(opened(limits=Limits(tokens=100)), done)
    session = told(session, f.Exited(at=7, attempt=1, how_ended="stopped (asleep)", by_us=True))
    listed = listing(session, 8.0, alive=False)
    assert (listed.status, listed.needs_you) == ("asleep", True)
    assert "120 tokens" in listed.why
    assert listed.next == f"rekindle resume {session.id} --max-tokens 240"


def test_an_open_question_is_shown_with_its_words() -> None:
    asked = f.PermissionAsked(at=6, attempt=1, request="r", title="May I?", kind="execute", options=[], prompt="p")
    listed = listing(told(opened(), asked), 7.0, alive=True)
    assert (listed.status, listed.needs_you, "May I?" in listed.why) == ("asking", True, True)


def test_a_missing_program_needs_a_person_also_while_it_is_looked_for() -> None:
    session = begun("continue")
    for fact in (
        f.LaunchIntended(at=2, attempt=1, generation=1, how="new"),
        f.LaunchFailed(at=3, attempt=1, message="it is not installed", blocked=True),
    ):
        session = told(session, fact)
    listed = listing(session, 4.0, alive=False)
    assert has_failed_to_start(session)
    assert (listed.status, listed.needs_you) == ("interrupted", True)
    assert "it is not installed" in listed.why
    assert "tried again" in listed.why


@pytest.mark.parametrize(
    "session",
    [
        told(begun(), f.StopAsked(at=9, by="me", to="failed")),
        told(opened(), f.Exited(at=9, attempt=1, how_ended="killed", by_us=False)),
    ],
    ids=["failed", "cut"],
)
def test_a_session_of_a_feature_comes_back_with_its_feature(session: Session) -> None:
    alone = replace(session, feature=None, task=None)
    assert listing(alone, 10.0, alive=False).next == f"rekindle resume {alone.id}"
    of_a_run = replace(alone, feature="the shop", task="cart")
    assert listing(of_a_run, 10.0, alive=False).next == "rekindle resume 'the shop'"
    on_its_branch = replace(alone, feature="shop")
    assert listing(on_its_branch, 10.0, alive=False).next == f"rekindle resume {alone.id}"
