"""What follows a failed turn: a prompt of our own that says so and continues, now or later, or nothing. Pure."""

from __future__ import annotations

from typing import Final

from rekindle.core.runbook.reaction import Reaction
from rekindle.core.session import facts as f
from rekindle.core.session.choosing import ChosenRule, chosen
from rekindle.core.session.escalating import conclusion, escalation
from rekindle.core.session.facts import AnyFact, TurnFailed
from rekindle.core.session.gating import gate_wanted
from rekindle.core.session.history import request_of
from rekindle.core.session.overflow import after_summary, asks_for_summary, is_question
from rekindle.core.session.prompt_ids import derived
from rekindle.core.session.quoting import quoted
from rekindle.core.session.state import OURS, Prompt, Session, task_of

#: What a message says while something is waited for. How long that takes is not part of it: it would soon be wrong.
BY_ITSELF: Final = "; it continues by itself"
#: Do not retry at the very moment a limit ends.
_MARGIN: Final = 0.5
#: Two ends of a limit that are this close are one.
_SAME_WINDOW: Final = 60.0
#: The budget of limits that a session waits for. Only a person refills it.
WINDOWS: Final = "windows"

_WORDS: Final = {
    "rate_limited": "the model's service has a rate limit, which was reached",
    "overloaded": "the model's service was overloaded",
    "no_internet": "the model's service could not be reached",
}


def retry_at(failed: TurnFailed, pause: float) -> float:
    """When the turn may be tried again: when its limit ends, if that is known, else after a pause."""
    if failed.retry_at is not None and failed.retry_at > failed.at:
        return failed.retry_at + _MARGIN
    return failed.at + pause


def retry_prompt(failed: TurnFailed, text: str) -> str:
    """What the agent is told when its turn can continue."""
    why = _WORDS.get(failed.error, "the model's service had a fault")
    return "\n".join(
        (
            f"Your last turn ended early: {why}. It can go on now.",
            f"What you were asked: {quoted(request_of(text), 4000)}",
            "Go on from where you stopped; check the state of the files before you repeat anything.",
        )
    )


def compacted_prompt(text: str) -> str:
    """What the agent is told after its conversation became too long and was shortened."""
    return "\n".join(
        (
            "Your conversation had become too long for the model and was shortened; you remember a summary of it.",
            f"What you were asked: {quoted(request_of(text), 4000)}",
            "Go on from where you stopped; check the state of the files before you repeat anything.",
        )
    )


def renewed_prompt(text: str) -> str:
    """What the agent is told in a conversation that a rule has begun anew."""
    return "\n".join(
        (
            "Your last conversation could not go on, and this is a new one; you were told what is known of it.",
            f"What you were asked: {quoted(request_of(text), 4000)}",
            "Go on from where you stopped; check the state of the files before you repeat anything.",
        )
    )


def limit_of(session: Session, failed: TurnFailed) -> str:
    """The limit that a turn has reached, if its end is known; sessions with the same one wait in one queue.

    Another account has limits of its own.
    """
    if failed.error != "rate_limited" or failed.retry_at is None or failed.retry_at <= failed.at:
        return ""
    account = session.attempt.account if session.attempt is not None else ""
    return f"{session.agent}{f' (account {account})' if account else ''}:{failed.limit}"


def _is_same_window(before: Session, failed: TurnFailed) -> bool:
    """Whether the session has waited for the end of this very limit before: then it does not count again."""
    end, known = failed.retry_at, before.retry_at
    return end is not None and known is not None and end - known < _SAME_WINDOW


def after_failure(before: Session, fact: TurnFailed, after: Session) -> list[AnyFact]:
    """What goes on with a failed turn by itself, if anything does. `before` still has the whole text of its prompt."""
    if after.stop_asked is not None:
        return []  # somebody has decided otherwise
    failed = next(one for one in before.prompts if one.id == fact.prompt)
    task = task_of(before, failed)
    if is_question(failed) and fact.error in ("context_overflow", "session_lost", "other") and not fact.transient:
        return after_summary(before, failed.id, fact.at, after)
    held = chosen(after, "error", fact.error, transient=fact.transient, can=lambda rule: _is_possible(rule, after))
    if fact.error == "session_lost" and after.token is not None and held.rule.match != fact.error:
        lost = "the agent has lost the conversation"
        return [*_leave(after, fact.at), *escalation(after, "error", lost, fact.at, what=fact.error)]
    limit = limit_of(after, fact)
    if limit and held.rule.action in ("wait", "resume") and not _is_same_window(before, fact):
        most, waited = after.limits.windows, after.spent.get(WINDOWS, 0)
        if most is not None and waited >= most:
            told = f"it has waited for {waited} limits, and may wait for {most}: {after.message}"
            return escalation(after, "error", told, fact.at, what=WINDOWS)
        return [f.BudgetSpent(at=fact.at, budget=WINDOWS), *_again(after, fact, failed, task, held)]
    match held.rule.action:
        case "compact":
            return _compact(after, failed, task, fact.at)
        case "renew":
            return _begin_anew(after, fact, failed, task, held.rule)
        case "wait" | "resume":
            return _again(after, fact, failed, task, held)
        case "fail":
            return conclusion(fact.at, "fail", _why(held.rule, after))
        case "gate":
            return gate_wanted(after, "error", held, after.message, fact.at)
        case _:
            return escalation(after, "error", _why(held.rule, after), fact.at, what=fact.error)


def _why(rule: Reaction, session: Session) -> str:
    return f"{rule.message} ({session.message})" if rule.message else session.message


def _is_possible(rule: Reaction, session: Session) -> bool:
    """Not every agent can shorten its conversation, and a conversation that never began cannot be begun again."""
    if rule.action == "compact":
        return session.compact is not None
    return rule.action != "renew" or session.token is not None


def _again(after: Session, fact: TurnFailed, failed: Prompt, task: Prompt, held: ChosenRule) -> list[AnyFact]:
    """Try the turn again, now or later, in the same conversation unless the rule wants a new one."""
    when, rule = retry_at(fact, held.pause), held.rule
    # What says how to go on can be said again. The request itself, which a job's fresh start gives anew, cannot.
    goes_on = failed.by == OURS and request_of(failed.text) != request_of(task.text)
    text = rule.message or (failed.text if goes_on else retry_prompt(fact, task.text))
    left: list[AnyFact] = []
    if not rule.keeps_history and after.token is not None and after.attempt is not None:
        why = "the runbook starts anew with a message of its own"
        left = [
            f.ConversationLeft(at=fact.at, token=after.token, why=why, untold=True),
            f.GivenUp(at=fact.at, attempt=after.attempt.number, why=why, purpose="renew"),
        ]
    why = f"{after.message}{BY_ITSELF}"
    name = _next_retry(after, task.id)
    return [
        *left,
        f.PromptQueued(
            at=fact.at,
            prompt=name,
            text=text,
            by=OURS,
            of=task.id,
            after=when,
            first=True,
            limit=limit_of(after, fact),
        ),
        f.BudgetSpent(at=fact.at, budget=held.budget),
        f.Postponed(at=fact.at, until=when, why=why),
    ]


def is_compaction(session: Session, prompt: str) -> bool:
    """Whether a turn only shortened the conversation or summed it up: that is not progress, or it would loop."""
    return asks_for_summary(session, prompt) or any(
        one.id == prompt and one.by == OURS and one.text == session.compact for one in session.prompts
    )


def _compact(session: Session, failed: Prompt, task: Prompt, at: float) -> list[AnyFact]:
    """Have the agent shorten its conversation, then continue."""
    assert session.compact is not None
    nth = session.spent.get("compactions", 0)
    told = "the conversation had become too long for the model; the agent was told to shorten it"
    go_on = compacted_prompt(task.text)
    # Each is put at the front of the queue: the last one added is sent first.
    return [
        f.Noticed(at=at, message=told),
        f.BudgetSpent(at=at, budget="compactions"),
        f.PromptQueued(at=at, prompt=derived(failed.id, f"d{nth}"), text=go_on, by=OURS, of=task.id, first=True),
        f.PromptQueued(
            at=at, prompt=derived(failed.id, f"c{nth}"), text=session.compact, by=OURS, of=task.id, first=True
        ),
    ]


def _begin_anew(session: Session, fact: TurnFailed, failed: Prompt, task: Prompt, rule: Reaction) -> list[AnyFact]:
    """Abandon a conversation that cannot go on, as one too long for its model, for a new one that is told of it."""
    assert session.token is not None and session.attempt is not None
    name = derived(failed.id, f"n{len(session.attempts)}")
    at, is_full = fact.at, fact.error == "context_overflow"
    why = "the conversation has become too long for the model" if is_full else f"a rule left it: {session.message}"
    text = rule.message or (compacted_prompt(task.text) if is_full else renewed_prompt(task.text))
    return [
        f.PromptQueued(at=at, prompt=name, text=text, by=OURS, of=task.id, first=True),
        f.GivenUp(at=at, attempt=session.attempt.number, why=why, purpose="renew"),
        f.ConversationLeft(at=at, token=session.token, why=why, dehydrated=True),
    ]


def _leave(session: Session, at: float) -> list[AnyFact]:
    """Abandon a conversation that the agent has lost while we were using it. A person says how to continue."""
    assert session.token is not None and session.attempt is not None
    why = "the agent has lost the conversation; the next prompt begins a new one, which is told the history of this one"
    return [
        f.ConversationLeft(at=at, token=session.token, why=why),
        f.GivenUp(at=at, attempt=session.attempt.number, why=why, purpose="renew"),
    ]


def _next_retry(session: Session, task: str) -> str:
    """The id of the next retry: numbered by past retries, because the budget may have been refilled."""
    taken = {one.id for one in session.prompts}
    return next(name for number in range(len(taken) + 1) if (name := derived(task, f"r{number}")) not in taken)
