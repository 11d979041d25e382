"""Whether a session has an agent already, so that a second one would conflict with it."""

from __future__ import annotations

from rekindle.core.session.activity import who_has_it
from rekindle.core.session.plan import wants_agent
from rekindle.core.session.state import Session
from rekindle.ports.errors import OwnedError


def refuse_owned(session: Session) -> None:
    """An agent that is up, or is coming up, is not brought back a second time."""
    if session.is_up or (session.resume_asked is not None and wants_agent(session)):  # on hold, nothing comes
        raise owned(session)


def owned(session: Session) -> OwnedError:
    """What to say about a session that has an agent."""
    return OwnedError(
        f"session {session.id} has an agent: {who_has_it(session)}",
        f"watch it: rekindle attach {session.id}; or end it first: rekindle resume --kill {session.id}",
    )
