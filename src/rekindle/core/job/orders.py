"""What is recorded about a session when its job tries again, or ends it. Pure.

Each function looks at the session as it is when its turn comes: if the effect was carried out before, or is not wanted
any more, nothing is recorded.
"""

from __future__ import annotations

from typing import Final

from rekindle.core.job.outcome import outcome
from rekindle.core.job.plan import EndSession, TryAgain
from rekindle.core.job.retrying import is_on_its_way, nothing_was_sent
from rekindle.core.runbook.limits import Limits
from rekindle.core.session import facts as f
from rekindle.core.session.choosing import newest_turn
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.history import request_of
from rekindle.core.session.prompt_ids import derived
from rekindle.core.session.quoting import quoted
from rekindle.core.session.state import OURS, TERMINAL, Session, task_of

_GO_ON: Final = "Go on from where you stopped; check the state of the files before you repeat anything."


def again(session: Session, effect: TryAgain, at: float, limits: Limits | None = None) -> list[AnyFact]:
    """Bring the agent back, in the same conversation or in a fresh one. `limits` None: they stay."""
    newest = session.attempt.number if session.attempt is not None else 0
    if newest != effect.attempt or session.is_up or is_on_its_way(session, effect.how, effect.number):
        return []
    if session.resume_asked is not None:
        return _fresh(session, effect, at)
    wish = f.ResumeAsked(at=at, by=effect.by or OURS, limits=limits)
    if nothing_was_sent(session):
        return [wish]
    return [*(_fresh(session, effect, at) if effect.how == "fresh" else _resumed(session, effect, at)), wish]


def _resumed(session: Session, effect: TryAgain, at: float) -> list[AnyFact]:
    """A turn that was cut off is continued when the conversation is open. One that failed has to be told so here."""
    last = newest_turn(session)
    if session.turn is not None or session.queued or last is None or last.state == "done":
        return []
    task = task_of(session, last)
    said = f"Your last turn ended early: {last.outcome or effect.why}."
    text = "\n".join((said, f"What you were asked: {quoted(request_of(task.text), 4000)}", _GO_ON))
    name = derived(task.id, f"j{effect.number}")
    return [f.PromptQueued(at=at, prompt=name, text=text, by=OURS, of=task.id, first=True)]


def _fresh(session: Session, effect: TryAgain, at: float) -> list[AnyFact]:
    """Leave the conversation, and give the original prompt to a new one that is told nothing about it."""
    first = next((one for one in session.prompts if one.by != OURS), None)
    if first is None:
        return []
    token = session.token or next((one.token for one in reversed(session.attempts) if one.token is not None), None)
    found: list[AnyFact] = []
    if token is not None:
        found.append(f.ConversationLeft(at=at, token=token, why=effect.why, untold=True))
    turn = session.turn
    if turn is not None and turn.state == "cut":
        outcome_ = "cut off; its job started fresh"
        found.append(f.TurnSettled(at=at, prompt=turn.id, to="failed", outcome=outcome_, cut="lost"))
    found += [f.CancelAsked(at=at, prompt=one.id) for one in session.queued if one.by == OURS]
    if first.state != "queued":
        name = derived(first.id, f"j{effect.number}")
        found.append(f.PromptQueued(at=at, prompt=name, text=first.text, by=OURS, of=first.id, first=True))
    return found


def ended(session: Session, effect: EndSession, at: float) -> list[AnyFact]:
    """End a session whose step is over."""
    if session.state in TERMINAL or session.stop_asked == effect.to:
        return []
    if effect.to == "completed" and outcome(session).kind != "at_rest":
        return []  # somebody has asked for more
    return [f.StopAsked(at=at, by=effect.by or OURS, to=effect.to, why=effect.why)]
