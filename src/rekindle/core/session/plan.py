"""What to do next about a session: a pure function of its state and the time, level-triggered.

It never looks at the last fact, only at the state that the facts have led to, so starting up after a crash and
continuing as usual are the same call.
"""

from __future__ import annotations

from rekindle.core.effects import Answer, Cancel, Effect, End, Launch, Open, RunGate, Say, Wait
from rekindle.core.session.facts import PROMPT
from rekindle.core.session.history import request_of
from rekindle.core.session.starting import has_failed_to_start
from rekindle.core.session.state import OURS, TERMINAL, Attempt, Session, State, nothing_ever_ran


def plan(session: Session, now: float) -> list[Effect]:
    """The effects to run now. At most one of them starts, opens or ends the agent."""
    attempt = session.attempt
    if attempt is None or attempt.status == "gone":
        return _bring_up(session, now)
    if attempt.status == "launching":
        return [Launch(session.id, attempt.number)]
    if session.stop_asked is not None:
        return [End(session.id, attempt.number, session.stop_asked)]
    if attempt.given_up:
        return [End(session.id, attempt.number, "given up")]
    if attempt.status == "up":
        return _open(session, attempt)
    return _converse(session, attempt, now)


def wants_agent(session: Session) -> bool:
    """Whether somebody needs the agent to be up, whether it is or not."""
    if session.resume_asked is not None and not (session.on_hold and session.resume_asked == OURS):
        return True
    if session.state in TERMINAL or session.is_foreign or session.gate is not None:
        return False
    if session.attempt is None:
        return True
    if session.held or session.over or not session.left("restarts"):
        return False
    if session.sendable and session.state is State.WAITING_FOR_INPUT:
        return True
    if session.sendable and has_failed_to_start(session) and session.policy != "never":
        return True
    return not session.on_hold and session.policy == "continue" and (is_cut(session) or _has_lost_turn(session))


def is_cut(session: Session) -> bool:
    """Whether the agent ended in the middle of its work, and not because we asked it to."""
    attempt = session.attempt
    if attempt is None or attempt.status != "gone" or attempt.by_us or session.state in TERMINAL:
        return False
    return session.state is not State.WAITING_FOR_INPUT or bool(session.queued)


def _has_lost_turn(session: Session) -> bool:
    """Whether a turn was cut off in a conversation that the agent has since lost."""
    turn = session.turn
    return turn is not None and turn.state == "cut" and session.token is None


def next_attempt(session: Session) -> int:
    """The number of the attempt that would be started now."""
    return (session.attempt.number if session.attempt is not None else 0) + 1


def _bring_up(session: Session, now: float) -> list[Effect]:
    if not wants_agent(session):
        return _gates(session)
    if session.is_loadable and session.load_at is not None and session.load_at > now:
        return [Wait(session.id, session.load_at)]
    until = max(session.retry_at or 0.0, _not_before(session))
    if until > now and session.resume_asked is None:
        return [Wait(session.id, until)]
    return [Launch(session.id, next_attempt(session))]


def _gates(session: Session) -> list[Effect]:
    """The command that is to decide about the task."""
    if session.gate is None or session.state in TERMINAL:
        return []
    return [RunGate(session.id, session.gate.id, tuple(session.gate.run))]


def _open(session: Session, attempt: Attempt) -> list[Effect]:
    if attempt.how == "load" and attempt.token not in session.lost and session.can_load:
        return [Open(session.id, attempt.number, "load", attempt.token)]
    if attempt.how == "load" and session.token is not None:
        return [End(session.id, attempt.number, "asleep")]  # it cannot load after all: a person decides
    if attempt.how == "load" and not nothing_ever_ran(session):
        return [End(session.id, attempt.number, "asleep")]  # the agent has lost the conversation: a person decides
    return [Open(session.id, attempt.number, "new", None)]


def _not_before(session: Session) -> float:
    """When the next prompt may be sent, if it has to wait."""
    queued = session.sendable
    return queued[0].after or 0.0 if queued else 0.0


def _is_finished(session: Session, attempt: Attempt) -> bool:
    """Whether an attempt that lives only for its turns has finished them."""
    return session.one_shot and any(
        one.attempt == attempt.number and one.state in ("done", "failed") for one in session.prompts
    )


def _converse(session: Session, attempt: Attempt, now: float) -> list[Effect]:
    effects: list[Effect] = [
        Answer(session.id, attempt.number, asked.request, asked.option)
        for asked in session.permissions
        if asked.answered and asked.attempt == attempt.number
    ]
    effects += _gates(session)
    queued = session.sendable
    turn = session.turn
    if turn is not None and turn.id == session.cancel_asked:
        effects.append(Cancel(session.id, attempt.number, turn.id))
    if turn is not None or session.gate is not None:
        return effects
    if queued and _not_before(session) > now:
        effects.append(Wait(session.id, _not_before(session)))
    elif queued:
        effects.append(Say(session.id, attempt.number, queued[0].id, told(attempt, queued[0].text)))
    elif _is_finished(session, attempt):
        effects.append(End(session.id, attempt.number, "asleep"))
    return effects


def told(attempt: Attempt, text: str) -> str:
    """A prompt as it is sent: the first one of a new conversation is preceded by the history of the old one."""
    return attempt.history.replace(PROMPT, request_of(text)) if attempt.history else text
