"""What the session of a step says about the step: it works, asks, is done, or its try has ended. Pure."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from rekindle.core.job.rules import ends_by_rule
from rekindle.core.session.activity import rests
from rekindle.core.session.choosing import newest_turn
from rekindle.core.session.plan import is_cut
from rekindle.core.session.recovery import is_compaction
from rekindle.core.session.state import Session, State

#: Errors that another try would only meet again: a person has to do something first.
_NEEDS_A_PERSON: Final = ("unauthorized", "out_of_credits")

#: `at_rest`: its last turn ended well, and nobody wants more. `ended`: the try is over, and not well. `final`: so is
#: the step, because another try would end in the same way. `asleep`: somebody has stopped the agent or put the session
#: on hold, and may go on.
Kind = Literal["working", "asking", "asleep", "at_rest", "done", "ended", "final", "cancelled"]


class StepOutcome(msgspec.Struct, frozen=True):
    """How it stands with a step. `timed_out`: its turn took longer than it may."""

    kind: Kind
    why: str = ""
    timed_out: bool = False


def outcome(session: Session) -> StepOutcome:
    """How it stands with the step whose session this is."""
    match session.state:
        case State.COMPLETED:
            return StepOutcome("working" if session.is_up else "done")
        case State.CANCELLED if not session.is_up and session.resume_asked is None:
            return StepOutcome("cancelled", f"its session was stopped {by_whom(session.stopped_by)}")
        case _:
            pass
    asked = next((one.title for one in session.permissions if not one.answered), None)
    if asked is not None:
        return StepOutcome("asking", f"it asks: {asked}")
    if session.escalation is not None:
        return StepOutcome("asking", session.escalation.title)
    if not rests(session) or session.stop_asked is not None or session.attempt is None:
        return StepOutcome("working")
    if not session.prompts and session.state is not State.FAILED:  # it is being begun
        return StepOutcome("working")
    if is_held(session):
        return StepOutcome("asleep", "its session is on hold")  # that ends no try: it goes on when somebody says so
    if session.over:
        return StepOutcome("final", f"it has reached its limit: {session.over}")
    return _at_rest(session)


def is_held(session: Session) -> bool:
    """Whether somebody has put the session on hold, and it would go on otherwise."""
    return bool(session.on_hold) and (len(session.queued) > len(session.sendable) or is_cut(session))


def _at_rest(session: Session) -> StepOutcome:
    attempt, newest = session.attempt, newest_turn(session)
    assert attempt is not None
    refused = attempt.refused.partition(": ")[2] if not attempt.opened else ""
    error = newest.outcome.partition(":")[0] if newest is not None and newest.state == "failed" else refused
    why = session.message or (newest.outcome if newest is not None and newest.state == "failed" else "")
    if error in _NEEDS_A_PERSON or refused in _NEEDS_A_PERSON:
        return StepOutcome("final", why or error)
    if is_cut(session) or session.state is State.FAILED or session.held or newest is None:
        ended = why or f"its agent ended: {attempt.how_ended or 'nobody knows how'}"
        return StepOutcome("ended", ended, attempt.given_for == "turn")
    if newest.state == "done" and newest.outcome != "cancelled" and not session.queued:
        if not ends_by_rule(session.rules):
            return StepOutcome("at_rest")
        return (
            StepOutcome("working")
            if session.is_up
            else StepOutcome("ended", "its agent ended before its runbook decided")
        )
    if newest.state == "failed" and session.is_up and newest.attempt < attempt.number:
        return StepOutcome("asleep", "its agent was brought back, and waits to be told something")
    if newest.state == "failed":
        return StepOutcome("ended", why)
    stopped = f"it was stopped {by_whom(session.stopped_by)}"
    return StepOutcome("asleep", stopped if not session.is_up else "its turn was cancelled")


def by_whom(by: str) -> str:
    """Who has done something, for a person: a command has no name, only the number of a process that is long gone."""
    return f"by {by}" if by and not by.startswith("pid ") else "by hand"


def turns_well(session: Session) -> int:
    """How many turns of a session ended well. One that only shortened the conversation is no progress."""
    return sum(
        one.state == "done" and one.outcome != "cancelled" and not is_compaction(session, one.id)
        for one in session.prompts
    )
