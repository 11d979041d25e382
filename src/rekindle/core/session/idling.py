"""What to do when an agent has nothing to do, or has fallen silent: the runbook's `on_idle` and `on_stall`. Pure."""

from __future__ import annotations

from rekindle.core.session import facts as f
from rekindle.core.session.choosing import ChosenRule, chosen, idle_rule, newest_turn
from rekindle.core.session.escalating import GO_ON, conclusion, escalation
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.gating import gate_wanted
from rekindle.core.session.prompt_ids import derived
from rekindle.core.session.state import OURS, Session
from rekindle.core.session.timing import is_in_turn


def after_idling(fact: f.Due, after: Session) -> list[AnyFact]:
    """The agent is up and at rest, and its time is over."""
    held = idle_rule(after)
    why = "the agent is idle"
    match held.rule.action:
        case "nudge":
            return _nudge(after, held, fact.at)
        case "done" | "fail" as to:
            return conclusion(fact.at, to, why if to == "fail" else "")
        case "gate":
            return gate_wanted(after, "idle", held, why, fact.at)
        case "escalate":
            asked = escalation(after, "idle", why, fact.at)
            return asked or [f.StopAsked(at=fact.at, by=OURS, to="asleep")]
        case _:
            return [f.StopAsked(at=fact.at, by=OURS, to="asleep")]


def after_silence(fact: f.Stalled, after: Session) -> list[AnyFact]:
    """A turn is running, no tool is, and nothing was said for too long. A waiting question is not a stall."""
    most, attempt, turn = after.limits.stall_seconds, after.attempt, after.turn
    if most is None or fact.seconds <= most or not is_in_turn(after) or attempt is None or turn is None:
        return []
    if after.stop_asked is not None:
        return []  # somebody has decided otherwise
    why = f"it said nothing for {most:g} s, with no tool running"
    if after.cancel_asked == turn.id:  # it was told to end its turn: it gets the same time again for that
        return [f.GivenUp(at=fact.at, attempt=attempt.number, why=why)] if fact.seconds > 2 * most else []
    held = chosen(after, "stall")
    match held.rule.action:
        case "nudge":
            told = f.Noticed(at=fact.at, message=f"{why}: its turn was cancelled, and it was told to go on")
            return [told, f.CancelAsked(at=fact.at, prompt=turn.id), *_nudge(after, held, fact.at)]
        case "fail":
            return conclusion(fact.at, "fail", why)
        case "escalate" if not after.of_run:
            return escalation(after, "stall", why, fact.at)
        case _:
            return [f.GivenUp(at=fact.at, attempt=attempt.number, why=why, purpose="stall")]


def is_of_idling(budget: str) -> bool:
    """Whether a budget is for reactions to an idle agent: visible work refills it, a turn alone does not."""
    return budget == "nudges" or budget.startswith("idle")


def _nudge(session: Session, held: ChosenRule, at: float) -> list[AnyFact]:
    newest = newest_turn(session)
    task = newest.of or newest.id if newest is not None else session.id
    name = derived(task, f"i{len(session.prompts)}")
    text = held.rule.message or GO_ON
    return [
        f.BudgetSpent(at=at, budget=held.budget),
        f.PromptQueued(at=at, prompt=name, text=text, by=OURS, of=task if newest is not None else "", first=True),
    ]
