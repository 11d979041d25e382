"""A session as every list shows it: a word, whether a person has to act, why, and what to type next. Pure.

Every list is made from this, so that no two lists disagree, and whatever is not over is in all of them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from rekindle.core.session.activity import rests, waits_until
from rekindle.core.session.facts import Receipt, Usage
from rekindle.core.session.failure_words import plain
from rekindle.core.session.limits import raised
from rekindle.core.session.plan import is_cut, wants_agent
from rekindle.core.session.proving import is_being_checked, may_change
from rekindle.core.session.recovery import BY_ITSELF
from rekindle.core.session.starting import has_failed_to_start
from rekindle.core.session.state import OURS, Session, State
from rekindle.core.session.status import presumed_dead, status, word
from rekindle.core.terminal_text import quoted

#: How much of a command a list shows.
_COMMAND: Final = 160


class Listing(msgspec.Struct, frozen=True):
    """One line of a list. `why` is empty if there is nothing to say, `next` if there is nothing to type.

    `receipt_may_change`: its receipt is not final yet; the agent's record will arrive in a moment.
    """

    status: str
    is_running: bool
    needs_resume: bool
    is_resumable: bool
    reason: str
    needs_you: bool
    why: str
    next: str
    waits_until: float | None
    receipt_may_change: bool


class ContextShown(msgspec.Struct, frozen=True):
    """How full the context window of a conversation is: tokens, and the share in percent."""

    used: int
    size: int
    percent: int


class Whereabouts(msgspec.Struct, frozen=True):
    """What else a list shows: where a session works, on what, since when its turn runs, what it has used and proved.

    `tokens` is the sum of all tokens. `context` None: nobody knows how full the context window is.
    """

    repository: str | None
    branch: str | None
    task: str | None
    turn_since: float | None
    usage: Usage
    tokens: int
    receipt: Receipt | None
    context: ContextShown | None = None


class _Need(NamedTuple):
    needs_you: bool = False
    why: str = ""
    next: str = ""


def listing(
    session: Session, now: float, *, alive: bool, seen_seconds_ago: float | None = None, served: bool = True
) -> Listing:
    """`alive`: its agent is followed, or its lock is held. `served`: there is a daemon that brings it back."""
    found = status(session, alive=alive, seen_seconds_ago=seen_seconds_ago)
    lives = alive or seen_seconds_ago is not None
    until = waits_until(session, now)
    need = _end(session) or (_alive(session, now, served=served) if lives else _gone(session, served=served))
    return Listing(
        # A living agent is not interrupted, even while we cannot follow it: on a full disk, for example.
        "paused" if lives and until is not None else word(session, alive=lives),
        found.is_running,
        found.needs_resume,
        found.is_resumable,
        found.reason,
        *need._replace(why=plain(need.why)),
        until,
        lives and may_change(session),
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
        context_shown(session),
    )


def context_shown(session: Session) -> ContextShown | None:
    """How full the context window of the current conversation is; None: its agent has not told."""
    gauge = session.context
    if gauge is None or gauge.token != session.token:
        return None
    return ContextShown(gauge.used, gauge.size, round(100 * gauge.share))


def _end(session: Session) -> _Need | None:
    """A session that is over, or at one of its limits."""
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


def _alive(session: Session, now: float, *, served: bool) -> _Need:
    asked = next((one for one in session.permissions if not one.answered), None)
    if asked is not None:
        return _Need(True, f"it asks: {asked.title}", f"rekindle answer {session.id}")
    if session.escalation is not None:
        return _Need(True, session.escalation.title, f"rekindle answer {session.escalation.id}")
    if _is_held(session):
        return _on_hold(session)
    if waits_until(session, now) is not None:
        return _Need(False, _last_failure(session) or session.message)
    if session.gate is not None:
        return _Need(False, f"a command decides about its task: {' '.join(session.gate.run)}"[:_COMMAND])
    if is_being_checked(session) and not served:
        return _Need(False, "its turn has ended; what it proves is checked when the daemon runs")
    if session.message and rests(session):
        return _Need(True, session.message, f'rekindle send {session.id} "how to go on"')
    return _Need()


def _gone(session: Session, *, served: bool) -> _Need:
    session = presumed_dead(session)
    resume = _resume(session)
    attempt = session.attempt
    reason = session.message.removesuffix(BY_ITSELF) or _how_it_ended(session)
    if _is_held(session):
        return _on_hold(session)
    if wants_agent(session):
        by_itself = f"policy {session.policy}: it" if session.policy == "continue" else "it"
        if not served:
            told = (
                f"{reason}; {by_itself} continues when the daemon runs"
                if reason
                else "it continues when the daemon runs"
            )
            return _Need(True, told, resume)
        if attempt is not None and has_failed_to_start(session):
            when = " when that is there" if attempt.blocked else ""
            return _Need(attempt.blocked, f"{reason}; {by_itself} is tried again{when}", resume)
        return _Need(False, f"{reason}; {by_itself} continues by itself" if reason else "it is about to be started")
    if session.is_left_to_job and (is_cut(session) or session.held):
        return _Need(False, f"{reason}; its job decides what comes next", f"rekindle job show {session.job}")
    if is_cut(session):
        times = session.rules.restarts.times
        tried = f"; it was brought back {times} times" if not session.left("restarts") else ""
        return _Need(True, f"{reason}{tried}", resume)
    if session.queued:
        return _Need(True, reason or "a prompt is waiting, and there is no agent", resume)
    if session.message:
        tell = f'rekindle send {session.id} "how to go on"'
        return _Need(True, session.message, resume if _is_of_a_run(session) else tell)
    if attempt is not None and not attempt.by_us:
        return _Need(False, f"{reason}; a prompt wakes it")
    return _Need()


def _is_held(session: Session) -> bool:
    """Whether it would go on by itself, if a person had not put it on hold."""
    if not session.on_hold or wants_agent(session):
        return False
    if session.is_up:
        return len(session.queued) > len(session.sendable)
    return wants_agent(msgspec.structs.replace(session, on_hold=""))


def _on_hold(session: Session) -> _Need:
    again = f"rekindle resume {session.id}{_raised(session)}"
    if awaits_go(session):
        return _Need(True, "its turn was cut off, and goes on when you say so", again)
    told = _last_failure(session) or session.message
    why = "on hold until you resume it"
    return _Need(False, f"{why} ({plain(told)})" if told else why, again)


def awaits_go(session: Session) -> bool:
    """Whether somebody opened a conversation that was cut off: it is back, and its turn is left to a person."""
    cut = {one.id for one in session.prompts if one.cut != "no"}
    return any(one.of in cut for one in session.queued if one.by == OURS)


def _is_of_a_run(session: Session) -> bool:
    """Whether it works on a task of a feature: then the feature's run continues, and brings it back."""
    return session.feature is not None and session.task is not None


def _resume(session: Session) -> str:
    """What brings it back: its id, or its feature's name, because the run knows what its task still needs."""
    if session.feature is not None and _is_of_a_run(session):
        return f"rekindle resume {quoted(session.feature)}"
    return f"rekindle resume {session.id}{_raised(session)}"


def _raised(session: Session) -> str:
    """The limits that a session has used up, doubled, as they are typed: without them a resume is refused."""
    limits = session.limits
    higher = raised(limits, session.usage)
    words = "" if higher.tokens == limits.tokens else f" --max-tokens {higher.tokens}"
    return words if higher.cost == limits.cost else f"{words} --max-cost {higher.cost:.2f}"


def _how_it_ended(session: Session) -> str:
    attempt = session.attempt
    if attempt is None:
        return ""
    return f"its agent ended: {attempt.how_ended}" if attempt.how_ended else "its agent is gone"


def _last_failure(session: Session) -> str:
    return next((one.outcome for one in reversed(session.prompts) if one.state == "failed"), "")
