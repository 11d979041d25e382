"""What a fact about the session as a whole changes in it. Pure."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from rekindle.core.session import facts as f
from rekindle.core.session.state import ACTIVE, Session, noted
from rekindle.core.session.tables import STOPS


def booked(session: Session, fact: f.SessionFact) -> Session:
    """The session with one more fact of its life."""
    match fact:
        case f.Created():
            return session
        case f.StopAsked():
            asked = replace(session, stop_asked=fact.to, stopped_by=fact.by, resume_asked=None)
            return asked if session.is_up else stopped(asked)
        case f.ResumeAsked():
            return _resume_asked(session, fact)
        case f.Relocated():
            return replace(session, repository=fact.repository, cwd=fact.cwd, worktree=fact.worktree)
        case f.Imported():
            return replace(session, imported=fact.asked, is_foreign=True)
        case f.Adopted():
            # A daemon that takes a session over opens its conversation anew, and has all the time for that.
            timers = {name: at for name, at in session.timers.items() if name != "start"}
            return replace(session, generation=max(session.generation, fact.generation), timers=timers)
        case f.Noticed():
            return noted(session, fact.message)
        case _:
            assert_never(fact)


def stopped(session: Session) -> Session:
    """Where the stop that was asked for leads, now that no agent runs any more."""
    asked = session.stop_asked or "asleep"
    return replace(session, state=STOPS[asked] if session.state in ACTIVE else session.state, stop_asked=None)


def _resume_asked(session: Session, fact: f.ResumeAsked) -> Session:
    asked = replace(session, resume_asked=fact.by, stop_asked=None, held=False, over="", is_foreign=False)
    at_once = [replace(one, after=None) if one.after is not None else one for one in asked.prompts]
    asked = replace(asked, message="", retry_at=None, load_at=None, prompts=at_once)
    asked = asked if fact.native is None else replace(asked, native=fact.native)
    if fact.handover is None:
        return asked
    # The new agent has no conversation yet, and what the old one could do is not what the new one can.
    return replace(
        asked,
        agent=fact.handover.agent,
        model=fact.handover.model,
        arguments=fact.handover.arguments,
        token=None,
        can_load=True,
        compact=None,
        fork_of=None,
        fork_at=None,
    )
