"""What a prompt means for the session that it is sent to: whoever was told that it is recorded gets it delivered."""

from __future__ import annotations

from rekindle.core.session import facts as f
from rekindle.core.session.state import OURS, PROMPT_SENDER, TERMINAL, Session, State
from rekindle.core.session.tables import STOPS
from rekindle.ports.errors import UsageError


def sent_to(session: Session, prompt: f.PromptQueued) -> list[f.AnyFact]:
    """A prompt for a session, and a request for an agent if it has none. Raises UsageError."""
    end = _end(session)
    known = next((one for one in session.prompts if one.id == prompt.prompt), None)
    if session.state in TERMINAL or (end is not None and known is None and not _only_done(session)):
        ended = (end or session.state).lower()
        again = f"bring it back first: rekindle resume {session.id}"
        hint = "start a new one with `rekindle run`" if ended == State.COMPLETED.lower() else again
        raise UsageError(f"session {session.id} is {ended}", hint)
    if known is not None and prompt.text not in known.text:  # the sent text may start with the history
        raise UsageError(f"another prompt of session {session.id} has the id {prompt.prompt}", "use a new id")
    if end is not None and known is None:
        # Its agent ends all the same, since nobody can stop that; the session goes on with the next one.
        return [prompt, f.StopAsked(at=prompt.at, by=OURS, to="asleep")]
    if known is not None or (session.is_up and not session.held):  # one that is held back ends, and has no successor
        return [prompt]
    return [prompt, f.ResumeAsked(at=prompt.at, by=PROMPT_SENDER)]


def _end(session: Session) -> State | None:
    """What the session becomes when its agent has ended; None: it goes on afterwards."""
    if session.stop_asked is None or not session.is_up:
        return None
    state = STOPS[session.stop_asked]
    return state if state in TERMINAL else None


def _only_done(session: Session) -> bool:
    """Whether it ends only because nobody wanted more of it: its job, or its runbook, has called it done."""
    return session.stop_asked == "completed" and session.stopped_by == OURS
