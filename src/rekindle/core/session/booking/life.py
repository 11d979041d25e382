"""What a fact about the session as a whole changes in it. Pure."""

from __future__ import annotations

from typing import Final, assert_never

from msgspec.structs import replace

from rekindle.core.session import facts as f
from rekindle.core.session.booking import questions
from rekindle.core.session.outstanding import is_host_told
from rekindle.core.session.state import ACTIVE, OURS, Prompt, Session, noted
from rekindle.core.session.tables import STOPS
from rekindle.core.session.values import HostChange

#: How many lines about earlier hosts are kept until a receipt has told them.
_MISSING: Final = 20


def booked(session: Session, fact: f.SessionFact) -> Session:
    """The session with one more fact of its life."""
    match fact:
        case f.Created():
            return session
        case f.StopAsked():
            sleeps = fact.by == OURS and fact.to == "asleep"  # what was asked before is asked still
            open_ = session if sleeps else questions.decided_otherwise(session, fact.at)
            asked = replace(open_, stop_asked=fact.to, stopped_by=fact.by, resume_asked=None, gate=None)
            asked = replace(asked, message=fact.why or asked.message)
            return asked if session.is_up else stopped(asked)
        case f.ResumeAsked():
            return _resume_asked(session, fact)
        case f.HoldAsked():
            return replace(session, on_hold=fact.by)
        case f.HoldLifted():
            return replace(session, on_hold="")
        case f.Hurried():
            return _hurried(session)
        case f.Relocated():
            return replace(session, repository=fact.repository, cwd=fact.cwd, worktree=fact.worktree)
        case f.Imported():
            return replace(session, imported=fact.asked, is_foreign=True)
        case f.Adopted():
            # A daemon that takes over a session opens its conversation again, or compares its record again, and gets
            # the full time for that.
            timers = {name: at for name, at in session.timers.items() if name not in ("start", "proof")}
            return replace(session, generation=max(session.generation, fact.generation), timers=timers)
        case f.TakenOver():
            return _taken_over(session, fact)
        case f.ClockSet():
            return _moved(session, fact) if fact.number > session.clock_sets else session
        case f.Noticed():
            return noted(session, fact.message)
        case _:
            assert_never(fact)


def _taken_over(session: Session, fact: f.TakenOver) -> Session:
    """What an earlier host has taken with it is still missing, until a receipt of the same conversation says so."""
    before, newest = session.host_change, session.attempts[-1].number if session.attempts else 0
    untold = before.missing[:_MISSING] if before is not None and not is_host_told(session, newest + 1) else []
    now = replace(
        session,
        generation=max(session.generation, fact.generation),
        cwd=fact.cwd,
        repository=fact.repository,
        worktree=fact.worktree,
        branch=fact.branch,
        host_change=HostChange(fact.host, fact.before, fact.lost, list(dict.fromkeys([*fact.missing, *untold]))),
    )
    return noted(now, f"it was on host {fact.before} and was taken over by {fact.host}")


def _moved(session: Session, fact: f.ClockSet) -> Session:
    """Every deadline moves with the clock, and every time that deadlines are compared with or counted from."""
    by = fact.by
    prompts = [_moved_prompt(one, by) for one in session.prompts]
    return replace(
        session,
        clock_sets=fact.number,
        clock_set=(fact.at, by),
        prompts=prompts,
        timers={name: at + by for name, at in session.timers.items()},
        retry_at=None if session.retry_at is None else session.retry_at + by,
        load_at=None if session.load_at is None else session.load_at + by,
    )


def _moved_prompt(prompt: Prompt, by: float) -> Prompt:
    """Only the end of a service's limit, which is a time of the day, gets nearer when the clock is set forward."""
    match prompt.state:
        case "queued":
            after = prompt.after
            moves = after is not None and (by < 0 or not prompt.limit)
            return replace(prompt, at=prompt.at + by, after=(after or 0.0) + by if moves else after)
        case "sent" | "began":
            return replace(prompt, sent_at=prompt.sent_at + by)
        case _:
            return prompt


def stopped(session: Session) -> Session:
    """Where the requested stop leads, now that no agent is running any more."""
    asked = session.stop_asked or "asleep"
    state = STOPS[asked] if session.state in ACTIVE else session.state
    over = session if state in ACTIVE else replace(questions.decided_otherwise(session, session.changed_at), gate=None)
    return replace(over, state=state, stop_asked=None)


def _hurried(session: Session) -> Session:
    """Prompts of rekindle's own no longer wait. One that may not be loaded yet still does: that would do harm."""
    prompts = [
        replace(one, after=None, hurried=True) if one.state == "queued" and one.by == OURS else one
        for one in session.prompts
    ]
    return replace(session, prompts=prompts, retry_at=None, on_hold="")


def _resume_asked(session: Session, fact: f.ResumeAsked) -> Session:
    session = replace(questions.decided_otherwise(session, fact.at), gate=None)
    asked = replace(session, resume_asked=fact.by, stop_asked=None, held=False, over="", is_foreign=False)
    asked = asked if fact.by == OURS else replace(asked, on_hold="")
    at_once = [replace(one, after=None) if one.after is not None else one for one in asked.prompts]
    asked = replace(asked, message="", retry_at=None, load_at=None, prompts=at_once)
    asked = asked if fact.native is None else replace(asked, native=fact.native)
    if fact.handover is None:
        return asked
    # The new agent has no conversation yet, and may not be able to do what the old one could.
    return replace(
        asked,
        agent=fact.handover.agent,
        model=fact.handover.model,
        arguments=fact.handover.arguments,
        program="",
        token=None,
        can_load=True,
        compact=None,
        fork_of=None,
        fork_at=None,
    )
