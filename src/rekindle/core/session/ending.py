"""What to do when an agent is gone that nobody asked to end: the runbook's `on_dead`, or `on_stall`. Pure."""

from __future__ import annotations

from rekindle.core.session import facts as f
from rekindle.core.session.choosing import ChosenRule, chosen
from rekindle.core.session.escalating import conclusion, escalation
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.gating import gate_wanted
from rekindle.core.session.history import TITLE
from rekindle.core.session.overflow import after_question_cut
from rekindle.core.session.plan import is_cut, wants_agent
from rekindle.core.session.prompt_ids import derived
from rekindle.core.session.starting import has_failed_to_start, pause
from rekindle.core.session.state import OURS, Session, task_of


def after_end(before: Session, at: float, after: Session) -> list[AnyFact]:
    """When the next start may happen by itself, or what else to do about a dead agent."""
    return [*_unused(before, after, at), *_what_next(before, at, after)]


def _unused(before: Session, after: Session, at: float) -> list[AnyFact]:
    """A conversation that ended before it was told the history is not loaded: it would know nothing of the work."""
    attempt = before.attempt
    if attempt is None or after.token is None or after.token != attempt.token:
        return []
    if not attempt.history and not (attempt.how == "new" and _came_back(before, after)):
        return []
    why = attempt.why or "the last conversation ended before it was told anything"
    return [f.ConversationLeft(at=at, token=after.token, why=why, dehydrated=after.dehydrated)]


def _came_back(before: Session, after: Session) -> bool:
    """Whether the prompt that carried the history never reached the agent. It may still be withdrawn or changed."""
    turn = before.turn
    return turn is not None and turn.text.startswith(TITLE) and any(one.id == turn.id for one in after.queued)


def _what_next(before: Session, at: float, after: Session) -> list[AnyFact]:
    attempt = after.attempt
    if before.stop_asked is not None or attempt is None or attempt.by_us:
        return []
    later: list[AnyFact] = [f.Postponed(at=at, until=at + pause(after))]
    settled = after_question_cut(after, at)
    if settled and attempt.given_for == "renew":
        goes_on = [f.ResumeAsked(at=at, by=OURS)] if after.queued else []
        return [*settled, *later, *goes_on]
    if attempt.given_for == "renew":
        return later  # the next conversation is what comes of it
    return [*settled, *_after_death(after, at, later)]


def _after_death(after: Session, at: float, later: list[AnyFact]) -> list[AnyFact]:
    attempt = after.attempts[-1]
    why = after.message or f"its agent ended: {attempt.how_ended or 'nobody knows how'}"
    if has_failed_to_start(after):
        return later if wants_agent(after) else [*later, *_asked(after, why, at)]
    is_hung = attempt.given_for == "stall"
    if is_hung and (held := chosen(after, "stall")).rule.action == "resume":
        return [f.BudgetSpent(at=at, budget=held.budget), *later, f.ResumeAsked(at=at, by=OURS)]
    held = chosen(after, "dead")
    why = f"{held.rule.message} ({why})" if held.rule.message and held.rule.action in ("escalate", "fail") else why
    match held.rule.action:
        case "done" | "fail" as to if to == "fail" or not attempt.given_for:
            return conclusion(at, to, why if to == "fail" else "")
        case "gate":
            return gate_wanted(after, "dead", held, why, at)
        case "resume" if not held.rule.keeps_history and is_cut(after):
            return [*later, *_fresh(after, held, at)]
        case "escalate" | "done" if is_cut(after) and not wants_agent(after):
            return [*later, *_asked(after, why, at)]
        case _:
            return later


def _asked(session: Session, why: str, at: float) -> list[AnyFact]:
    times = session.spent.get("restarts", 0)
    tried = f"; it was brought back {times} times" if times and session.policy == "continue" else ""
    return escalation(session, "dead", f"{why}{tried}", at)


def _fresh(session: Session, held: ChosenRule, at: float) -> list[AnyFact]:
    """Begin a new conversation with the runbook's message in place of the prompt. The history is abandoned."""
    turn, token = session.turn, session.token
    why = "the runbook starts anew with a message of its own"
    left = [f.ConversationLeft(at=at, token=token, why=why, untold=True)] if token is not None else []
    if turn is None:
        return [*left]
    task = task_of(session, turn)
    over = f.TurnSettled(at=at, prompt=turn.id, to="failed", outcome=f"cut off; {why}")
    name = derived(task.id, f"f{len(session.attempts)}")
    said = f.PromptQueued(at=at, prompt=name, text=held.rule.message, by=OURS, of=task.id, first=True)
    return [*left, over, said]
