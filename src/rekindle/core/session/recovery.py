"""What follows a turn that failed: a prompt of our own that says so and goes on, now or later, or nothing. Pure."""

from __future__ import annotations

from typing import Final

from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact, TurnFailed
from rekindle.core.session.history import request_of
from rekindle.core.session.prompt_ids import derived
from rekindle.core.session.quoting import quoted
from rekindle.core.session.rules import Budget
from rekindle.core.session.state import OURS, Prompt, Session, task_of

#: A limit is not tried in the very moment in which it ends.
_MARGIN: Final = 0.5

_WORDS: Final = {
    "rate_limited": "the model's service has a rate limit, which was reached",
    "overloaded": "the model's service was overloaded",
    "no_internet": "the model's service could not be reached",
}


def retry_at(failed: TurnFailed, budget: Budget, spent: int) -> float | None:
    """When the turn may be tried again without anybody's help; None: never."""
    if spent >= budget.times or not (failed.transient or failed.error in _WORDS):
        return None
    if failed.retry_at is not None and failed.retry_at > failed.at:
        return failed.retry_at + _MARGIN
    return failed.at + budget.pause(spent)


def retry_prompt(failed: TurnFailed, text: str) -> str:
    """What the agent is told when its turn can go on."""
    why = _WORDS.get(failed.error, "the model's service had a fault")
    return "\n".join(
        (
            f"Your last turn ended early: {why}. It can go on now.",
            f"What you were asked: {quoted(request_of(text), 4000)}",
            "Go on from where you stopped; check the state of the files before you repeat anything.",
        )
    )


def compacted_prompt(text: str) -> str:
    """What the agent is told after its conversation had become too long and was shortened."""
    return "\n".join(
        (
            "Your conversation had become too long for the model and was shortened; you remember a summary of it.",
            f"What you were asked: {quoted(request_of(text), 4000)}",
            "Go on from where you stopped; check the state of the files before you repeat anything.",
        )
    )


def after_failure(before: Session, fact: TurnFailed, after: Session) -> list[AnyFact]:
    """What goes on with a failed turn by itself, if anything does. `before` still has the whole text of its prompt."""
    failed = next(one for one in before.prompts if one.id == fact.prompt)
    task = task_of(before, failed)
    if after.policy == "never":
        return []
    if fact.error == "context_overflow" and after.compact and after.left("compactions"):
        return _compact(after, failed, task, fact.at)
    if fact.error == "context_overflow" and after.token is not None and after.left("renewals"):
        return _begin_anew(after, failed, task, fact.at)
    when = retry_at(fact, after.rules.retries, after.spent.get("retries", 0))
    if when is None:
        return []
    text = failed.text if failed.by == OURS else retry_prompt(fact, failed.text)
    why = f"{after.message}; it goes on by itself in {max(1, round(when - fact.at))} s"
    return [
        f.PromptQueued(
            at=fact.at, prompt=_next_retry(after, task.id), text=text, by=OURS, of=task.id, after=when, first=True
        ),
        f.BudgetSpent(at=fact.at, budget="retries"),
        f.Postponed(at=fact.at, until=when, why=why),
    ]


def is_compaction(session: Session, prompt: str) -> bool:
    """Whether a turn only shortened the conversation: no progress, or it would go round and round."""
    return any(one.id == prompt and one.by == OURS and one.text == session.compact for one in session.prompts)


def _compact(session: Session, failed: Prompt, task: Prompt, at: float) -> list[AnyFact]:
    """Have the agent shorten its conversation, then go on."""
    assert session.compact is not None
    nth = session.spent.get("compactions", 0)
    told = "the conversation had become too long for the model; the agent was told to shorten it"
    go_on = compacted_prompt(task.text)
    # Each is put before what is queued: the last one told is the first one said.
    return [
        f.Noticed(at=at, message=told),
        f.BudgetSpent(at=at, budget="compactions"),
        f.PromptQueued(at=at, prompt=derived(failed.id, f"d{nth}"), text=go_on, by=OURS, of=task.id, first=True),
        f.PromptQueued(
            at=at, prompt=derived(failed.id, f"c{nth}"), text=session.compact, by=OURS, of=task.id, first=True
        ),
    ]


def _begin_anew(session: Session, failed: Prompt, task: Prompt, at: float) -> list[AnyFact]:
    """Give a conversation up that is too long for the model, for a new one that is told the history of it."""
    assert session.token is not None and session.attempt is not None
    name = derived(failed.id, f"n{len(session.attempts)}")
    why = "the conversation has become too long for the model"
    return [
        f.PromptQueued(at=at, prompt=name, text=compacted_prompt(task.text), by=OURS, of=task.id, first=True),
        f.GivenUp(at=at, attempt=session.attempt.number, why=why),
        f.ConversationLeft(at=at, token=session.token, why=why),
    ]


def _next_retry(session: Session, task: str) -> str:
    """The id of the next retry: numbered by those that there were, because the budget may have been refilled."""
    taken = {one.id for one in session.prompts}
    return next(name for number in range(len(taken) + 1) if (name := derived(task, f"r{number}")) not in taken)
