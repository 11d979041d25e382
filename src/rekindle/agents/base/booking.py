"""Turns an agent's output into facts, the same way for a live reader and for one who reads it years later."""

from __future__ import annotations

from rekindle.agents.base import observation as o
from rekindle.agents.base.limit_kinds import limit_in
from rekindle.agents.base.reset_times import reset_in
from rekindle.core.session import facts as f
from rekindle.core.session.history import Turn

#: What is said about an error that is taken for a limit.
UNKNOWN_WORDS = "an unknown wording; it names a time, which is waited for"


def as_fact(
    seen: o.Observation, attempt: int, at: float, said_at: float | None = None
) -> f.Named | f.Compacted | f.OpenRefused | f.Spent | f.TurnFinished | f.TurnFailed | None:
    """The fact that an observation stands for by itself, if any.

    `said_at` is when the agent said it, if that is not now: a limit may have ended since.
    """
    match seen:
        case o.ConversationNamed():
            return f.Named(at=at, attempt=attempt, token=seen.token)
        case o.AgentCompacted():
            return f.Compacted(at=at, attempt=attempt, why=seen.why)
        case o.AgentRefusedToOpen():
            how: f.How = "load" if seen.how in ("load", "resume") else "new"
            return f.OpenRefused(at=at, attempt=attempt, how=how, problem=seen.problem, message=seen.message)
        case o.AgentSpent():
            return f.Spent(at=at, attempt=attempt, prompt=seen.prompt_id, usage=seen.usage)
        case o.AgentFinishedTurn():
            return f.TurnFinished(
                at=at, attempt=attempt, prompt=seen.prompt_id, stop_reason=seen.stop_reason, usage=seen.usage
            )
        case o.AgentFailedTurn():
            return _failed(seen, attempt, at, at if said_at is None else said_at)
        case _:
            return None


def _failed(seen: o.AgentFailedTurn, attempt: int, at: float, said: float) -> f.TurnFailed:
    """A failed turn. An error in words that nobody knows is a limit if they name the time at which it ends."""
    error, message, retry = seen.error_class, seen.message, seen.resets_at
    if retry is None and seen.retry_after_seconds is not None:
        retry = said + seen.retry_after_seconds
    if retry is None and error in ("rate_limited", "other"):
        retry = reset_in(message, said)
    if error == "other" and not seen.transient and retry is not None and retry > said:
        error, message = "rate_limited", f"{message} ({UNKNOWN_WORDS})"
    return f.TurnFailed(
        at=at,
        attempt=attempt,
        prompt=seen.prompt_id,
        error=error,
        message=message,
        retry_at=retry,
        transient=seen.transient,
        usage=seen.usage,
        limit=(seen.limit or limit_in(message)) if error == "rate_limited" else "",
    )


class Replayed:
    """What an agent shows of its past while it loads a conversation: the prompts and their answers."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._pieces: list[str] = []
        self._turns: list[Turn] = []

    def take(self, seen: o.Observation) -> None:
        """The next observation, whatever it is."""
        if isinstance(seen, o.UserReplayed):
            self._pieces.append(seen.text)
            return
        self._end_of_message()
        if isinstance(seen, o.Said) and seen.replay and not seen.thought:
            self._turns.append(Turn("assistant", seen.text))

    @property
    def texts(self) -> list[str]:
        """All prompts so far."""
        self._end_of_message()
        return list(self._texts)

    @property
    def turns(self) -> list[Turn]:
        """Everything said so far, on both sides."""
        self._end_of_message()
        return list(self._turns)

    def _end_of_message(self) -> None:
        """A prompt may come in pieces: each piece counts and, if there are several, so does the whole."""
        self._texts += self._pieces
        if self._pieces:
            self._turns.append(Turn("user", "".join(self._pieces)))
        if len(self._pieces) > 1:
            self._texts.append("".join(self._pieces))
        self._pieces.clear()
