"""Every state of a session and every transition between them. No other file changes a session's state.

`TRANSITIONS`, `REFUSALS` (by why a conversation was not opened) and `STOPS` (by what was asked for) are the whole truth
about states; `evolve` applies them and books the rest (prompts, attempts, token). The diagram in docs/sessions.md is
made from the tables. Pure.
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from rekindle.core.session import asking
from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact, Usage
from rekindle.core.session.limits import reached
from rekindle.core.session.recovery import is_compaction, try_later
from rekindle.core.session.settling import let_go, settled, shortened
from rekindle.core.session.staleness import is_stale, progress
from rekindle.core.session.starting import FULL_BUDGET, after_refusal, pause
from rekindle.core.session.state import (
    ACTIVE,
    PATIENCE,
    Attempt,
    Prompt,
    Session,
    State,
    noted,
    nothing_ever_ran,
    with_attempt,
    with_prompt,
)

S, R, W = State.STARTING, State.RUNNING, State.WAITING_FOR_INPUT
_ALL = tuple(State)

#: (state, fact) -> state. A pair that is not here leaves the state as it is: the fact is booked, and that is all.
TRANSITIONS: dict[tuple[State, type[f.Fact]], State] = {
    **{(state, f.LaunchIntended): S for state in _ALL},
    (S, f.Opened): W,
    (S, f.PromptSent): R,
    (W, f.PromptSent): R,
    (R, f.TurnFinished): W,
    (R, f.TurnFailed): W,
}

#: Where a refusal to open the conversation leads while the session is starting. What may be gone at the next try is no
#: end: the session stays where it is, and is interrupted.
REFUSALS: dict[f.Refusal, State] = {
    "unknown_session": W,
    "incomplete": W,
    "unsupported": W,
    "unauthorized": S,
    "timeout": S,
    "other": S,
}

#: Where a stop that was asked for leads, from any state, once the tree is gone.
STOPS: dict[str, State] = {
    "asleep": W,
    "cancelled": State.CANCELLED,
    "completed": State.COMPLETED,
    "failed": State.FAILED,
}


def create(fact: f.Created) -> Session:
    """A session out of nothing."""
    return Session(
        id=fact.session,
        agent=fact.agent,
        cwd=fact.cwd,
        created_at=fact.at,
        changed_at=fact.at,
        title=fact.title,
        policy=fact.policy,
        permission=fact.permission,
        feature=fact.feature,
        task=fact.task,
        arguments=fact.arguments,
        model=fact.model,
        limits=fact.limits,
        one_shot=fact.one_shot,
        fork_of=fact.fork_of,
        fork_at=fact.fork_at,
        repository=fact.repository,
        worktree=fact.worktree,
        branch=fact.branch,
        repository_id=fact.repository_id,
        native=fact.native,
        terminal=fact.terminal,
    )


def evolve(session: Session | None, fact: AnyFact) -> Session:
    """The session after one more fact. A fact that is told twice, or of an attempt that is over, changes nothing."""
    if isinstance(fact, f.Created):
        return session if session is not None else create(fact)
    assert session is not None, "a session begins with Created"
    if is_stale(session, fact):
        return session
    booked = _book(session, fact)
    state = TRANSITIONS.get((session.state, type(fact)), booked.state)
    if state is session.state and booked == session:
        return session
    return replace(booked, state=state, changed_at=fact.at)


def _spent(session: Session, prompt: str) -> Usage | None:
    """What a turn took, as far as it was told while it ran."""
    return next((one.usage for one in session.prompts if one.id == prompt), None)


def _taken(session: Session, fact: f.TurnFinished | f.TurnFailed) -> Usage | None:
    """What a turn took. Of one that was cancelled an agent may tell nothing at its end: what it told before counts."""
    before, told = _spent(session, fact.prompt), fact.usage
    if before is None or told is None:
        return told or before
    return told if told.tokens >= before.tokens else replace(before, cost=told.cost)


def _book(session: Session, fact: AnyFact) -> Session:
    match fact:
        case f.Created():
            return session
        case f.PromptQueued():
            if any(prompt.id == fact.prompt for prompt in session.prompts):
                return session
            prompt = Prompt(fact.prompt, fact.text, fact.at, by=fact.by, of=fact.of)
            return replace(session, prompts=[*session.prompts, prompt], is_foreign=False)
        case f.Relocated():
            return replace(session, repository=fact.repository, cwd=fact.cwd, worktree=fact.worktree)
        case f.Imported():
            return replace(session, imported=fact.asked, is_foreign=True)
        case f.ResumeAsked():
            asked = replace(session, resume_asked=fact.by, stop_asked=None, held=False, over="", is_foreign=False)
            asked = replace(asked, message="", retry_at=None, load_at=None, budget=FULL_BUDGET, patience=PATIENCE)
            at_once = [replace(one, after=None) if one.after is not None else one for one in asked.prompts]
            asked = replace(asked, limits=fact.limits or asked.limits, prompts=at_once)
            asked = asked if fact.native is None else replace(asked, native=fact.native)
            return asked if fact.handover is None else _handed_over(asked, fact.handover)
        case f.LoadPutOff():
            return replace(noted(session, fact.why), load_at=fact.until, message=fact.why)
        case f.LaunchIntended():
            attempt = Attempt(
                fact.attempt,
                fact.how,
                token=fact.token,
                known=fact.known,
                changed=fact.changed,
                history=fact.history,
                said=fact.said,
                notes=fact.notes,
                why=fact.why,
                agent=fact.agent or session.agent,
                compacted_before=fact.compactions,
                asked_by=session.resume_asked or "",
            )
            anew = fact.how == "new" and not nothing_ever_ran(session)
            return replace(
                session,
                attempts=[*shortened(session), attempt],
                generation=max(session.generation, fact.generation),
                resume_asked=None,
                stop_asked=None,
                retry_at=None,
                load_at=None,
                fresh_starts=session.fresh_starts + anew,
                budget=session.budget if fact.attempt == 1 or session.resume_asked else session.budget - 1,
            )
        case f.Adopted():
            return replace(session, generation=max(session.generation, fact.generation))
        case f.Launched():
            return with_attempt(session, lambda a: replace(a, status="up", folder=fact.folder, pid=fact.pid))
        case f.LaunchFailed():
            gone = with_attempt(
                session, lambda a: replace(a, status="gone", how_ended=fact.message, blocked=fact.blocked)
            )
            gone = replace(_used_up(gone), message=fact.message, retry_at=fact.at + pause(gone))
            return gone if session.stop_asked is None else _stopped(gone)
        case f.Opened():
            ready = with_attempt(session, lambda a: replace(a, status="ready", token=fact.token, opened=True))
            ready = with_attempt(ready, lambda a: replace(a, opened_at=fact.at))
            fresh = replace(ready, token=fact.token, can_load=fact.can_load, message="", held=False)
            open_again = settled(replace(fresh, compact=fact.compact), fact)
            return with_attempt(open_again, lambda a: replace(a, known=None, changed=[], said=[]))
        case f.OpenRefused():
            refused = after_refusal(session, fact)
            return replace(refused, state=REFUSALS[fact.problem]) if session.state is S else refused
        case f.Named():
            named = with_attempt(session, lambda a: replace(a, named=fact.token))
            attempt = session.attempts[-1]
            if attempt.how == "new":
                return replace(with_attempt(named, lambda a: replace(a, token=fact.token)), token=fact.token)
            if attempt.token == fact.token:
                return named
            told = "the agent did not go on with its conversation but with another one"
            return replace(named, message=told)
        case f.Compared():
            return with_attempt(session, lambda a: replace(a, compared=True))
        case f.Compacted():
            number = fact.number or session.attempts[-1].compactions + 1
            if number <= session.attempts[-1].compactions:
                return session
            told = f"the agent has compacted its conversation, and remembers a summary ({fact.why or 'by itself'})"
            return noted(with_attempt(session, lambda a: replace(a, compactions=number)), told)
        case f.GivenUp():
            if session.attempts[-1].given_up:
                return session
            return replace(with_attempt(session, lambda a: replace(a, given_up=fact.why)), message=fact.why)
        case f.PromptSent():
            once = with_attempt(session, lambda a: replace(a, history=""))
            sent = with_prompt(
                once, fact.prompt, state="sent", attempt=fact.attempt, message=fact.message, text=fact.text
            )
            return with_prompt(sent, fact.prompt, sent_at=fact.at, usage=None, cut="no")
        case f.TurnBegan():
            return with_prompt(session, fact.prompt, state="began")
        case f.Spent():
            before = _spent(session, fact.prompt) or Usage()
            if fact.usage.tokens <= before.tokens:
                return session
            return _limited(with_prompt(session, fact.prompt, usage=fact.usage), fact.usage)
        case f.TurnFinished():
            usage = _taken(session, fact)
            done = with_prompt(session, fact.prompt, state="done", outcome=fact.stop_reason, usage=usage)
            done = let_go(done, fact.prompt)
            done = replace(asking.turn_over(done, fact.at), message="", cancel_asked=None, retry_at=None)
            if not is_compaction(session, fact.prompt):
                done = replace(done, budget=FULL_BUDGET, patience=PATIENCE, fresh_starts=0)
            return _limited(_used(done, usage))
        case f.TurnFailed():
            usage = _taken(session, fact)
            told = f"{fact.error}: {fact.message}"
            failed = with_prompt(session, fact.prompt, state="failed", outcome=told, usage=usage)
            failed = replace(asking.turn_over(failed, fact.at), message=told, retry_at=fact.retry_at, cancel_asked=None)
            return _limited(_used(let_go(try_later(failed, fact), fact.prompt), usage))
        case f.CancelAsked():
            if fact.prompt in {prompt.id for prompt in session.queued}:
                return with_prompt(session, fact.prompt, state="cancelled")
            running = progress(session, fact.prompt) in ("sent", "began")
            return replace(session, cancel_asked=fact.prompt) if running else session
        case f.PermissionAsked():
            return asking.asked(session, fact)
        case f.PermissionAnswered():
            return asking.answered(session, fact)
        case f.Noticed():
            return noted(session, fact.message)
        case f.StopAsked():
            stopped = replace(session, stop_asked=fact.to, stopped_by=fact.by, resume_asked=None)
            return stopped if session.is_up else _stopped(stopped)
        case f.Exited():
            return _exited(session, fact)
        case f.ReceiptWritten():
            receipts = [
                replace(one, receipt=fact.receipt) if one.number == fact.attempt else one for one in session.attempts
            ]
            return replace(session, attempts=receipts)
        case _:
            assert_never(fact)


def _handed_over(session: Session, handover: f.Handover) -> Session:
    """The new agent has no conversation yet, and what the old one could do is not what the new one can."""
    return replace(
        session,
        agent=handover.agent,
        model=handover.model,
        arguments=handover.arguments,
        token=None,
        can_load=True,
        compact=None,
        fork_of=None,
        fork_at=None,
    )


def _exited(session: Session, fact: f.Exited) -> Session:
    given_up = session.attempts[-1].given_up
    by_us = fact.by_us and not given_up
    opened_at = session.attempts[-1].opened_at or fact.at  # it may have opened one and not lived to say so
    gone = with_attempt(
        with_attempt(session, lambda a: replace(a, opened_at=opened_at)),
        lambda a: replace(a, status="gone", how_ended=given_up or fact.how_ended, by_us=by_us, cut=fact.cut),
    )
    gone = with_attempt(gone, lambda a: replace(a, truncated=fact.truncated))
    turn = gone.turn
    if turn is not None:
        delivered = fact.cut.delivered if fact.cut is not None else "yes"
        ended = "cancelled" if turn.id == session.cancel_asked else "queued" if delivered == "no" else "cut"
        took = None if turn.state == "cut" else turn.usage
        gone = with_prompt(gone, turn.id, state=ended, cut="no" if ended == "queued" else "open")
        gone = _used(gone, took)
    gone = asking.agent_gone(_used_up(gone), fact.at)
    if fact.truncated:
        told = (
            f"attempt {fact.attempt}: something shortened the agent's output, {fact.truncated} bytes of it may be lost"
        )
        gone = noted(gone, told)
    if session.stop_asked is not None:
        return _stopped(gone)
    if by_us:
        return gone
    return replace(gone, retry_at=fact.at + pause(gone))


def _used(session: Session, usage: Usage | None) -> Session:
    """Book what a turn took, once it is over."""
    if usage is None:
        return session
    booked = replace(session, usage=session.usage.plus(usage))
    return with_attempt(booked, lambda a: replace(a, usage=a.usage.plus(usage)))


def _limited(session: Session, running: Usage | None = None) -> Session:
    """Stop where a limit is reached, in the middle of a turn as well; `running` is what that one took so far.

    Where somebody has asked for another end already, that one stands.
    """
    over = reached(session.limits, session.usage.plus(running))
    if over is None:
        return session
    stopped = replace(session, over=over, message=over)
    return stopped if session.stop_asked is not None else replace(stopped, stop_asked="asleep", stopped_by="rekindle")


def _stopped(session: Session) -> Session:
    asked = session.stop_asked or "asleep"
    return replace(session, state=STOPS[asked] if session.state in ACTIVE else session.state, stop_asked=None)


def _used_up(session: Session) -> Session:
    """What was found out for an attempt goes with it."""
    return with_attempt(session, lambda a: replace(a, known=None, changed=[], history="", said=[]))
