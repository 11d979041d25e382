"""What follows a turn that failed: a prompt of our own that says so and goes on, now or later, or nothing.

Every automatic retry spends patience, and only a turn that ends well refills it. Pure.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from rekindle.core.session.facts import TurnFailed
from rekindle.core.session.history import request_of
from rekindle.core.session.prompt_ids import derived
from rekindle.core.session.quoting import quoted
from rekindle.core.session.state import OURS, PATIENCE, Prompt, Session, noted, queued_first, task_of, with_attempt

#: Seconds before each retry where nobody told how long to wait.
_PAUSES: Final = (5.0, 10.0, 20.0, 45.0, 90.0, 180.0, 300.0, 600.0)
#: A limit is not tried in the very moment in which it ends.
_MARGIN: Final = 0.5

_WORDS: Final = {
    "rate_limited": "the model's service has a rate limit, which was reached",
    "overloaded": "the model's service was overloaded",
    "no_internet": "the model's service could not be reached",
}


def retry_at(failed: TurnFailed, patience: int) -> float | None:
    """When the turn may be tried again without anybody's help; None: never."""
    if patience <= 0 or not (failed.transient or failed.error in _WORDS):
        return None
    if failed.retry_at is not None and failed.retry_at > failed.at:
        return failed.retry_at + _MARGIN
    spent = PATIENCE - patience
    return failed.at + _PAUSES[min(spent, len(_PAUSES) - 1)]


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


def try_later(session: Session, fact: TurnFailed) -> Session:
    """Queue what goes on with a failed turn by itself, if anything does."""
    failed = next(one for one in session.prompts if one.id == fact.prompt)
    task = task_of(session, failed)
    nth = PATIENCE - session.patience
    if session.policy == "never":
        return session
    if fact.error == "context_overflow" and session.compact and session.patience == PATIENCE:
        shorten = Prompt(derived(failed.id, f"c{nth}"), session.compact, fact.at, by=OURS, of=task.id)
        go_on = Prompt(derived(failed.id, f"d{nth}"), compacted_prompt(task.text), fact.at, by=OURS, of=task.id)
        told = "the conversation had become too long for the model; the agent was told to shorten it"
        session = replace(noted(session, told), patience=session.patience - 1)
        return queued_first(queued_first(session, go_on), shorten)
    if fact.error == "context_overflow" and session.token is not None and session.fresh_starts == 0:
        return _begin_anew(session, failed, task, fact.at)
    when = retry_at(fact, session.patience)
    if when is None:
        return session
    text = failed.text if failed.by == OURS else retry_prompt(fact, failed.text)
    again = Prompt(_next_retry(session, task.id), text, fact.at, by=OURS, of=task.id, after=when)
    told = f"{session.message}; it goes on by itself in {max(1, round(when - fact.at))} s"
    return replace(queued_first(session, again), patience=session.patience - 1, message=told, retry_at=when)


def _next_retry(session: Session, task: str) -> str:
    """The id of the next retry: numbered by those that there were, because patience may have been refilled."""
    taken = {one.id for one in session.prompts}
    return next(name for number in range(len(taken) + 1) if (name := derived(task, f"r{number}")) not in taken)


def is_compaction(session: Session, prompt: str) -> bool:
    """Whether a turn only shortened the conversation: no progress, or it would go round and round."""
    return any(one.id == prompt and one.by == OURS and one.text == session.compact for one in session.prompts)


def _begin_anew(session: Session, failed: Prompt, task: Prompt, at: float) -> Session:
    """Give a conversation up that is too long for the model, for a new one that is told the history of it."""
    assert session.token is not None
    name = derived(failed.id, f"n{len(session.attempts)}")
    told = Prompt(name, compacted_prompt(task.text), at, by=OURS, of=task.id)
    why = "the conversation has become too long for the model"
    ended = with_attempt(queued_first(session, told), lambda a: replace(a, given_up=why))
    return replace(ended, token=None, lost=[*session.lost, session.token], message=why)
