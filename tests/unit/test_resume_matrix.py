"""The matrix of resume and fresh start, row by row, and that no cell of the table of actions is without its effect."""

from __future__ import annotations

from typing import Literal, get_args

import pytest

from rekindle.core.effects import Launch, Say
from rekindle.core.runbook.reaction import Reaction
from rekindle.core.runbook.triggers import ALLOWED, Action, Trigger
from rekindle.core.session import facts as f
from rekindle.core.session.plan import plan
from rekindle.core.session.state import Session, State
from tests.sessions import folded, told
from tests.unit.test_reactions import GATE, at_work, failed, finished, idled, killed, ruled, silent

BARE = Reaction("resume")
APPENDED = Reaction("resume", message="and mind the tests", append=True)
REPLACED = Reaction("resume", message="start over")


def back(session: Session) -> list[str]:
    """What the agent is told first, once it is there again."""
    token = session.token or "t2"
    how: Literal["new", "load"] = "load" if session.token else "new"
    session = told(session, f.LaunchIntended(at=80, attempt=2, generation=2, how=how, token=session.token))
    session = told(session, f.Launched(at=81, attempt=2, folder="/k/2", pid=2))
    session = told(session, f.Opened(at=82, attempt=2, how=how, token=token, known=["one"] if how == "load" else []))
    return [one.text for one in plan(session, 83) if isinstance(one, Say)]


def died_before_it_was_there(rule: Reaction) -> Session:
    session = folded(
        [
            f.Created(at=1, session="s1", agent="a", cwd="/w", rules=ruled(dead=rule), rules_source="book.toml"),
            f.PromptQueued(at=2, prompt="p1", text="one"),
            f.LaunchIntended(at=3, attempt=1, generation=1, how="new", token=None),
            f.Launched(at=4, attempt=1, folder="/k/1", pid=1),
        ]
    )
    return killed(session)


def test_without_a_message_the_earlier_conversation_is_resumed_and_told_nothing_but_to_go_on() -> None:
    session = killed(at_work(ruled(dead=BARE)))
    assert (session.token, session.untold, plan(session, 79)) == ("t", False, [Launch("s1", 2)])
    [said] = back(session)
    assert "the same conversation" in said
    assert session.queued == []


def test_an_appended_message_comes_behind_it_in_the_earlier_conversation() -> None:
    session = killed(at_work(ruled(dead=APPENDED)))
    assert (session.token, session.untold, plan(session, 79)) == ("t", False, [Launch("s1", 2)])
    [said] = back(session)
    assert "the same conversation" in said
    assert said.endswith("and mind the tests")


def test_a_message_that_replaces_is_all_that_a_fresh_conversation_is_told() -> None:
    session = killed(at_work(ruled(dead=REPLACED)))
    assert (session.token, session.untold, plan(session, 79)) == (None, True, [Launch("s1", 2)])
    assert back(session) == ["start over"]


@pytest.mark.parametrize("rule", [BARE, APPENDED, REPLACED])
def test_without_an_earlier_conversation_it_begins_with_the_original_prompt(rule: Reaction) -> None:
    session = died_before_it_was_there(rule)
    assert (session.token, plan(session, 79)) == (None, [Launch("s1", 2)])
    assert [one.text for one in session.queued] == ["one"]
    assert back(session) == ["one"]


@pytest.mark.parametrize(("rule", "token", "ends"), [(BARE, "t", "anything."), (APPENDED, "t", "mind the tests")])
def test_after_an_error_the_live_agent_is_told_and_a_dead_one_is_resumed_and_told(
    rule: Reaction, token: str, ends: str
) -> None:
    alive = failed(at_work(ruled(error=rule)))
    [say] = plan(alive, 79)
    assert isinstance(say, Say)
    assert say.text.endswith(ends)
    gone = killed(alive, at=30)
    assert (gone.token, plan(gone, 79)) == (token, [Launch("s1", 2)])
    [said] = back(gone)
    assert said.endswith(ends)


def triggered(trigger: Trigger, action: Action) -> tuple[Session, Session]:
    """A session before and after a trigger met a rule with this action."""
    rule = Reaction(action, message="go on" if action == "nudge" else "", run=GATE if action == "gate" else ())
    before = at_work(ruled(**{trigger: rule}))
    match trigger:
        case "idle":
            before = finished(before)
            return before, idled(before)
        case "dead":
            return before, killed(before)
        case "error":
            return before, failed(before, "context_overflow")
        case "stall":
            return before, silent(before)
        case _:
            raise AssertionError(trigger)


CELLS = [(trigger, action) for trigger in ("idle", "dead", "error", "stall") for action in ALLOWED[trigger]]


@pytest.mark.parametrize(("trigger", "action"), CELLS)
def test_every_allowed_cell_has_the_effect_of_its_action(trigger: Trigger, action: Action) -> None:
    before, after = triggered(trigger, action)
    texts = [one.text for one in after.queued]
    match action:
        case "nudge":
            assert texts == ["go on"]
        case "done":
            assert after.state is State.COMPLETED or after.stop_asked == "completed"
        case "fail":
            assert after.state is State.FAILED or after.stop_asked == "failed"
        case "resume" if trigger == "dead":
            assert (plan(after, 1e6), after.escalation) == ([Launch("s1", 2)], None)
        case "resume" | "wait" if trigger == "error":
            assert len(texts) == 1
            assert after.token == "t"
        case "resume" | "stop" if trigger == "stall":
            assert [type(one).__name__ for one in plan(after, 1e6)] == ["End"]
            assert after.escalation is None
        case "escalate":
            assert after.escalation is not None
            assert after.escalation.trigger == trigger
        case "gate":
            assert after.gate is not None
            assert after.escalation is None
        case "sleep":
            assert after.stop_asked == "asleep"
        case "compact":
            assert texts[0] == "/compact"
        case "renew":
            assert (after.token, after.escalation) == (None, None)
        case "stop":
            assert (after.state, plan(after, 1e6), after.escalation) == (before.state, [], None)
        case _:
            raise AssertionError(f"nothing is said about {action} on {trigger}")


def test_every_action_is_allowed_somewhere() -> None:
    assert {action for actions in ALLOWED.values() for action in actions} == set(get_args(Action))
