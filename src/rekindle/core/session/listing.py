"""A session as every list shows it: a word, whether a person has to act, why, and what to type next. Pure.

Every list is made from this, so that no two of them tell different things, and what is not at an end is in all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from rekindle.core.session.activity import rests, waits_until
from rekindle.core.session.facts import Receipt, Usage
from rekindle.core.session.plan import is_cut, wants_agent
from rekindle.core.session.starting import has_failed_to_start
from rekindle.core.session.state import Session, State
from rekindle.core.session.status import presumed_dead, status, word
from rekindle.core.terminal_text import quoted

#: What a list may leave out: the session is over, and nobody has to do anything about it.
OVER = frozenset({"completed", "cancelled"})


class Listing(msgspec.Struct, frozen=True):
    """One line of a list. `why` is empty where there is nothing to say, `next` where there is nothing to type."""

    status: str
    is_running: bool
    needs_resume: bool
    is_resumable: bool
    reason: str
    needs_you: bool
    why: str
    next: str
    waits_until: float | None


class Whereabouts(msgspec.Struct, frozen=True):
    """What a list says beside: where a session works, on what, since when its turn runs, what it has used and proved.

    `tokens` is the sum of all tokens.
    """

    repository: str | None
    branch: str | None
    task: str | None
    turn_since: float | None
    usage: Usage
    tokens: int
    receipt: Receipt | None


class _Need(NamedTuple):
    needs_you: bool = False
    why: str = ""
    next: str = ""


def listing(
    session: Session, now: float, *, alive: bool, seen_seconds_ago: float | None = None, served: bool = True
) -> Listing:
    """`alive`: its agent is followed, or its lock is held. `served`: a daemon is there that brings it back."""
    found = status(session, alive=alive, seen_seconds_ago=seen_seconds_ago)
    lives = alive or seen_seconds_ago is not None
    need = _end(session) or (_alive(session, now) if lives else _gone(session, served=served))
    return Listing(
        # An agent that lives is not interrupted, also while we cannot follow it: on a full disk, for example.
        word(session, alive=lives),
        found.is_running,
        found.needs_resume,
        found.is_resumable,
        found.reason,
        *need,
        waits_until(session, now),
    )


def whereabouts(session: Session) -> Whereabouts:
    """An earlier attempt's receipt says nothing about the newest one."""
    turn, attempt = session.turn, session.attempt
    runs = turn is not None and turn.state in ("sent", "began") and turn.sent_at > 0
    return Whereabouts(
        session.repository,
        session.branch,
        session.task,
        turn.sent_at if turn is not None and runs else None,
        session.usage,
        session.usage.tokens,
        attempt.receipt if attempt is not None else None,
    )


def _end(session: Session) -> _Need | None:
    """A session that is at an end, or at a limit of its own."""
    if session.resume_asked is not None:
        return None  # somebody wants it back
    if session.state in (State.COMPLETED, State.CANCELLED):
        return _Need()
    if session.state is State.FAILED:
        return _Need(True, session.message or "it has failed", _resume(session))
    if session.over:
        return _Need(
            True,
            f"it has reached its limit: {session.over}",
            f"rekindle resume {session.id}{_raised(session)}",
        )
    return None


def _alive(session: Session, now: float) -> _Need:
    asked = next((one for one in session.permissions if not one.answered), None)
    if asked is not None:
        return _Need(True, f"it asks: {asked.title}", f"rekindle answer {session.id}")
    if waits_until(session, now) is not None:
        return _Need(False, _last_failure(session) or session.message)
    if session.message and rests(session):
        return _Need(True, session.message, f'rekindle send {session.id} "how to go on"')
    return _Need()


def _gone(session: Session, *, served: bool) -> _Need:
    session = presumed_dead(session)
    resume = _resume(session)
    attempt = session.attempt
    reason = session.message or _how_it_ended(session)
    if wants_agent(session):
        by_itself = f"policy {session.policy}: it" if session.policy == "continue" else "it"
        if not served:
            told = (
                f"{reason}; {by_itself} goes on when the daemon runs" if reason else "it goes on when the daemon runs"
            )
            return _Need(True, told, resume)
        if attempt is not None and has_failed_to_start(session):
            when = " when that is there" if attempt.blocked else ""
            return _Need(attempt.blocked, f"{reason}; {by_itself} is tried again{when}", resume)
        return _Need(False, f"{reason}; {by_itself} goes on by itself" if reason else "it is about to be started")
    if is_cut(session):
        times = session.rules.restarts.times
        tried = f"; it was brought back {times} times" if not session.left("restarts") else ""
        return _Need(True, f"{reason}{tried}", resume)
    if session.queued:
        return _Need(True, reason or "a prompt waits, and no agent is there", resume)
    if session.message:
        tell = f'rekindle send {session.id} "how to go on"'
        return _Need(True, session.message, resume if _is_of_a_run(session) else tell)
    if attempt is not None and not attempt.by_us:
        return _Need(False, f"{reason}; a prompt wakes it")
    return _Need()


def _is_of_a_run(session: Session) -> bool:
    """Whether it works on a task of a feature: then the feature's run is what goes on, and brings it back."""
    return session.feature is not None and session.task is not None


def _resume(session: Session) -> str:
    """What brings it back: by its id, or by its feature's name, as the run knows what its task still needs."""
    if session.feature is not None and _is_of_a_run(session):
        return f"rekindle resume {quoted(session.feature)}"
    return f"rekindle resume {session.id}"


def _raised(session: Session) -> str:
    """The limits that a session has used up, doubled, as they are typed."""
    limits, used = session.limits, session.usage
    raised = ""
    if limits.tokens is not None and used.tokens >= limits.tokens:
        raised += f" --max-tokens {2 * used.tokens}"
    if limits.cost is not None and used.cost is not None and used.cost >= limits.cost:
        raised += f" --max-cost {2 * used.cost:.2f}"
    return raised


def _how_it_ended(session: Session) -> str:
    attempt = session.attempt
    if attempt is None:
        return ""
    return f"its agent ended: {attempt.how_ended}" if attempt.how_ended else "its agent is gone"


def _last_failure(session: Session) -> str:
    return next((one.outcome for one in reversed(session.prompts) if one.state == "failed"), "")
