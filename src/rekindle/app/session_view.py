"""Sessions as the daemon shows them in its answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from rekindle.app.session_names import meant
from rekindle.core.session import asking
from rekindle.core.session.activity import is_back
from rekindle.core.session.facts import Limits, Receipt, Usage
from rekindle.core.session.listing import ContextShown, context_shown, listing, whereabouts
from rekindle.core.session.state import Session
from rekindle.core.session.status import ExecutorStatus, executor_status
from rekindle.ports.skills import SupervisedSkill


class UsageView(msgspec.Struct, frozen=True):
    """Tokens and money, with the sum of all tokens."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost: float | None
    tokens: int

    @classmethod
    def of(cls, usage: Usage) -> UsageView:
        """What a session has used."""
        return cls(usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cost, usage.tokens)


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """A session in every answer. The fields from `status` to `receipt_may_change` are in every list.

    `executor` is how the process of its agent stands. `asks` is what its agent asks; `question` also what rekindle asks
    about it. `context` None: it is not known. `host` is there in a fleet only: the host that has it.
    """

    id: str
    agent: str
    terminal: bool
    title: str
    cwd: str
    repository: str | None
    worktree: str | None
    branch: str | None
    feature: str | None
    task: str | None
    state: str
    task_state: str
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
    is_back: bool
    executor: ExecutorStatus
    attempt: int
    pid: int | None
    queued: int
    turn_since: float | None
    message: str
    notices: list[str]
    imported: list[str]
    asks: dict[str, Any] | None
    question: dict[str, Any] | None
    receipt: Receipt | None
    model: str | None
    usage: UsageView
    context: ContextShown | None
    limits: Limits
    created_at: float
    changed_at: float
    generation: int
    host: str | msgspec.UnsetType = msgspec.UNSET


class MailSlip(msgspec.Struct, frozen=True):
    """A prompt that is recorded for a session of another host, which has not said yet what came of it."""

    id: str
    host: str
    is_taken: bool
    told: str


class SentPrompt(SessionView, frozen=True, kw_only=True):
    """A session that got a prompt. `woken`: its agent was brought back for it.

    `mail` is there only if the session is on another host, and what came of the prompt there is not known yet.
    """

    prompt: str
    delivered: bool
    woken: bool
    stopped_keeper: int | None
    mail: MailSlip | msgspec.UnsetType = msgspec.UNSET


class BroughtBack(SessionView, frozen=True, kw_only=True):
    """A session after a request to resume it. `by_itself`: its agent was already back before anybody asked.

    `skill`: the skill session that its agent works in, with the proof of its last resume.
    """

    by_itself: bool
    skill: SupervisedSkill | None = None


class WaitedFor(SessionView, frozen=True, kw_only=True):
    """A session that somebody waited for. `rested`: it is at rest."""

    rested: bool


class AwayHost(msgspec.Struct, frozen=True):
    """The host that has a session, if that is another one. `takeover` continues it here, once that host is gone.

    `may_be_gone`: it was not seen lately. `seen_seconds_ago` None: it never was.
    """

    host: str
    seen_seconds_ago: float | None
    may_be_gone: bool
    takeover: str


class WholeSession(SessionView, frozen=True, kw_only=True):
    """A session in full. `skill`: the skill session that its agent works in, with the proof of its last resume.

    `away` is there only if another host of a fleet has it.
    """

    session: Session
    skill: SupervisedSkill | None = None
    away: AwayHost | msgspec.UnsetType = msgspec.UNSET


View = TypeVar("View", bound=SessionView)


def more(kind: type[View], view: SessionView, **about: Any) -> View:
    """A session as it is shown, with the extra fields of this answer."""
    return kind(**msgspec.structs.asdict(view), **about)


def brief(view: SessionView) -> SessionView:
    """A session as lists show it, without the extra fields of an answer."""
    return SessionView(**{name: getattr(view, name) for name in SessionView.__struct_fields__})


def find(sessions: Iterable[Session], prefix: str) -> Session:
    """The session that an id, or the beginning of one, means."""
    known = {session.id: session for session in sessions}
    return known[meant(known, prefix)]


def shown(
    session: Session, now: float, *, alive: bool, seen_seconds_ago: float | None, served: bool = True
) -> SessionView:
    """`alive`: its agent is followed. If not, its process may still have been seen a moment ago."""
    listed = listing(session, now, alive=alive, seen_seconds_ago=seen_seconds_ago, served=served)
    attempt = session.attempt
    return SessionView(
        id=session.id,
        agent=session.agent,
        terminal=session.terminal,
        title=session.title,
        cwd=session.cwd,
        repository=session.repository,
        worktree=session.worktree,
        branch=session.branch,
        feature=session.feature,
        task=session.task,
        state=session.state.value,
        task_state=session.task_state.value,
        **msgspec.structs.asdict(listed),
        is_back=is_back(session),
        executor=executor_status(session, alive=alive, seen_seconds_ago=seen_seconds_ago),
        attempt=attempt.number if attempt is not None else 0,
        pid=attempt.pid if attempt is not None and attempt.status != "gone" else None,
        queued=len(session.queued),
        turn_since=whereabouts(session).turn_since,
        message=session.message,
        notices=session.notices,
        imported=session.imported,
        asks=next((asking.shown(session, one) for one in asking.open_questions(session)), None),
        question=next((asking.shown(session, one) for one in asking.all_open(session)), None),
        receipt=attempt.receipt if attempt is not None else None,  # an earlier one's says nothing about this attempt
        model=session.model,
        usage=UsageView.of(session.usage),
        context=context_shown(session),
        limits=session.limits,
        created_at=session.created_at,
        changed_at=session.changed_at,
        generation=session.generation,
    )
