"""What a fact changes in a session. `evolve` books facts, and decides nothing: what follows from a fact is in `react`.

Which state follows which is in `tables`; the diagram in docs/sessions.md is made from those. Pure.
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from rekindle.core.session import asking, timing
from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact, Usage
from rekindle.core.session.rules import Rules
from rekindle.core.session.shortening import let_go, shortened
from rekindle.core.session.staleness import is_stale, progress
from rekindle.core.session.state import (
    ACTIVE,
    OURS,
    Attempt,
    Prompt,
    Session,
    State,
    noted,
    queued_first,
    with_attempt,
    with_prompt,
)
from rekindle.core.session.tables import REFUSALS, STOPS, TRANSITIONS


def create(fact: f.Created) -> Session:
    """A session out of nothing."""
    return Session(
        id=fact.session,
        agent=fact.agent,
        cwd=fact.cwd,
        created_at=fact.at,
        changed_at=fact.at,
        title=fact.title,
        rules=Rules(policy=fact.policy, limits=fact.limits),
        permission=fact.permission,
        feature=fact.feature,
        task=fact.task,
        arguments=fact.arguments,
        model=fact.model,
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
    return timing.pruned(replace(booked, state=state, changed_at=fact.at))


def _book(session: Session, fact: AnyFact) -> Session:
    match fact:
        case f.Created():
            return session
        case f.PromptQueued() | f.PromptSent() | f.TurnBegan() | f.Spent() | f.CancelAsked() | f.TurnSettled():
            return _prompt(session, fact)
        case f.TurnFinished() | f.TurnFailed():
            return _turn_over(session, fact)
        case (
            f.LaunchIntended()
            | f.Launched()
            | f.LaunchFailed()
            | f.Opened()
            | f.OpenRefused()
            | f.Exited()
            | f.Named()
            | f.Compared()
            | f.Compacted()
            | f.GivenUp()
        ):
            return _attempt(session, fact)
        case f.PermissionAsked():
            return asking.asked(session, fact)
        case f.PermissionAnswered():
            return asking.answered(session, fact)
        case f.ReceiptWritten():
            receipts = [
                replace(one, receipt=fact.receipt) if one.number == fact.attempt else one for one in session.attempts
            ]
            return replace(session, attempts=receipts)
        case f.StopAsked():
            stopped = replace(session, stop_asked=fact.to, stopped_by=fact.by, resume_asked=None)
            return stopped if session.is_up else _stopped(stopped)
        case f.ResumeAsked():
            return _resume_asked(session, fact)
        case f.Relocated():
            return replace(session, repository=fact.repository, cwd=fact.cwd, worktree=fact.worktree)
        case f.Imported():
            return replace(session, imported=fact.asked, is_foreign=True)
        case f.Adopted():
            # A daemon that takes a session over opens its conversation anew, and has all the time for that.
            timers = {name: at for name, at in session.timers.items() if name != "start"}
            return replace(session, generation=max(session.generation, fact.generation), timers=timers)
        case f.Noticed():
            return noted(session, fact.message)
        case _:
            return _decided(session, fact)


def _decided(
    session: Session,
    fact: f.RulesSet
    | f.BudgetSpent
    | f.Progressed
    | f.Postponed
    | f.ConversationLeft
    | f.HeldBack
    | f.LimitReached
    | f.LoadPutOff
    | f.TimerSet
    | f.Due
    | f.Stalled,
) -> Session:
    match fact:
        case f.RulesSet():
            return replace(session, rules=fact.rules)
        case f.BudgetSpent():
            return replace(session, spent={**session.spent, fact.budget: session.spent.get(fact.budget, 0) + 1})
        case f.Progressed():
            left = {name: spent for name, spent in session.spent.items() if name not in fact.budgets}
            return replace(session, spent=left)
        case f.Postponed():
            return replace(session, retry_at=fact.until, message=fact.why or session.message)
        case f.LoadPutOff():
            return replace(noted(session, fact.why), load_at=fact.until, message=fact.why)
        case f.ConversationLeft():
            token = None if session.token == fact.token else session.token
            return replace(session, token=token, lost=[*session.lost, fact.token], message=fact.why)
        case f.HeldBack():
            return replace(session, held=True, message=fact.why)
        case f.LimitReached():
            return replace(session, over=fact.over, message=fact.over)
        case f.TimerSet():
            return replace(session, timers={**session.timers, fact.timer: fact.until})
        case f.Due():
            return replace(session, timers={name: at for name, at in session.timers.items() if name != fact.timer})
        case f.Stalled():
            return session
        case _:
            assert_never(fact)


def _prompt(
    session: Session, fact: f.PromptQueued | f.PromptSent | f.TurnBegan | f.Spent | f.CancelAsked | f.TurnSettled
) -> Session:
    match fact:
        case f.PromptQueued():
            if any(prompt.id == fact.prompt for prompt in session.prompts):
                return session
            prompt = Prompt(fact.prompt, fact.text, fact.at, by=fact.by, of=fact.of, after=fact.after)
            wanted = replace(session, is_foreign=session.is_foreign and fact.by == OURS)
            return queued_first(wanted, prompt) if fact.first else replace(wanted, prompts=[*session.prompts, prompt])
        case f.PromptSent():
            once = with_attempt(session, lambda a: replace(a, history=""))
            sent = with_prompt(
                once, fact.prompt, state="sent", attempt=fact.attempt, message=fact.message, text=fact.text
            )
            return with_prompt(sent, fact.prompt, sent_at=fact.at, usage=None, cut="no")
        case f.TurnBegan():
            return with_prompt(session, fact.prompt, state="began")
        case f.Spent():
            is_news = fact.usage.tokens > (_spent(session, fact.prompt) or Usage()).tokens
            return with_prompt(session, fact.prompt, usage=fact.usage) if is_news else session
        case f.CancelAsked():
            if fact.prompt in {prompt.id for prompt in session.queued}:
                return with_prompt(session, fact.prompt, state="cancelled")
            running = progress(session, fact.prompt) in ("sent", "began")
            return replace(session, cancel_asked=fact.prompt) if running else session
        case f.TurnSettled():
            if fact.to == "queued":
                return with_prompt(session, fact.prompt, state="queued")
            over = with_prompt(session, fact.prompt, state="failed", outcome=fact.outcome, cut=fact.cut)
            return replace(let_go(over, fact.prompt), message=fact.why or session.message)


def _turn_over(session: Session, fact: f.TurnFinished | f.TurnFailed) -> Session:
    usage = _taken(session, fact)
    if isinstance(fact, f.TurnFinished):
        done = with_prompt(session, fact.prompt, state="done", outcome=fact.stop_reason, usage=usage)
        over = replace(asking.turn_over(done, fact.at), message="", retry_at=None)
    else:
        told = f"{fact.error}: {fact.message}"
        failed = with_prompt(session, fact.prompt, state="failed", outcome=told, usage=usage)
        over = replace(asking.turn_over(failed, fact.at), message=told, retry_at=fact.retry_at)
    return _used(let_go(replace(over, cancel_asked=None), fact.prompt), usage)


def _attempt(
    session: Session,
    fact: f.LaunchIntended
    | f.Launched
    | f.LaunchFailed
    | f.Opened
    | f.OpenRefused
    | f.Exited
    | f.Named
    | f.Compared
    | f.Compacted
    | f.GivenUp,
) -> Session:
    match fact:
        case f.LaunchIntended():
            return _intended(session, fact)
        case f.Launched():
            return with_attempt(session, lambda a: replace(a, status="up", folder=fact.folder, pid=fact.pid))
        case f.LaunchFailed():
            gone = with_attempt(
                session, lambda a: replace(a, status="gone", how_ended=fact.message, blocked=fact.blocked)
            )
            gone = replace(_used_up(gone), message=fact.message)
            return gone if session.stop_asked is None else _stopped(gone)
        case f.Opened():
            ready = with_attempt(session, lambda a: replace(a, status="ready", token=fact.token, opened=True))
            ready = with_attempt(ready, lambda a: replace(a, opened_at=fact.at))
            ready = with_attempt(ready, lambda a: replace(a, known=None, changed=[], said=[]))
            fresh = replace(ready, token=fact.token, can_load=fact.can_load, message="", held=False)
            return replace(fresh, compact=fact.compact)
        case f.OpenRefused():
            return _refused(session, fact)
        case f.Exited():
            return _exited(session, fact)
        case f.Named():
            named = with_attempt(session, lambda a: replace(a, named=fact.token))
            attempt = session.attempts[-1]
            if attempt.how == "new":
                return replace(with_attempt(named, lambda a: replace(a, token=fact.token)), token=fact.token)
            told = "the agent did not go on with its conversation but with another one"
            return named if attempt.token == fact.token else replace(named, message=told)
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


def _resume_asked(session: Session, fact: f.ResumeAsked) -> Session:
    asked = replace(session, resume_asked=fact.by, stop_asked=None, held=False, over="", is_foreign=False)
    at_once = [replace(one, after=None) if one.after is not None else one for one in asked.prompts]
    asked = replace(asked, message="", retry_at=None, load_at=None, prompts=at_once)
    asked = asked if fact.native is None else replace(asked, native=fact.native)
    if fact.handover is None:
        return asked
    # The new agent has no conversation yet, and what the old one could do is not what the new one can.
    return replace(
        asked,
        agent=fact.handover.agent,
        model=fact.handover.model,
        arguments=fact.handover.arguments,
        token=None,
        can_load=True,
        compact=None,
        fork_of=None,
        fork_at=None,
    )


def _intended(session: Session, fact: f.LaunchIntended) -> Session:
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
    return replace(
        session,
        attempts=[*shortened(session), attempt],
        generation=max(session.generation, fact.generation),
        resume_asked=None,
        stop_asked=None,
        retry_at=None,
        load_at=None,
    )


def _refused(session: Session, fact: f.OpenRefused) -> Session:
    """Only what the agent says or shows gives a conversation up. Any other refusal says nothing about it."""
    token = session.attempts[-1].token
    is_lost = fact.problem in ("unknown_session", "incomplete")
    if fact.problem == "incomplete":
        session = with_attempt(session, lambda a: replace(a, lacks=fact.message))
    session = with_attempt(session, lambda a: replace(a, refused=f"{fact.how}: {fact.problem}"))
    return replace(
        session,
        message=fact.message,
        token=None if is_lost else session.token,
        lost=[*session.lost, token] if is_lost and token is not None else session.lost,
        held=False,
        can_load=session.can_load and fact.problem != "unsupported",
        state=REFUSALS[fact.problem] if session.state is State.STARTING else session.state,
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
    return gone if session.stop_asked is None else _stopped(gone)


def _spent(session: Session, prompt: str) -> Usage | None:
    """What a turn took, as far as it was told while it ran."""
    return next((one.usage for one in session.prompts if one.id == prompt), None)


def _taken(session: Session, fact: f.TurnFinished | f.TurnFailed) -> Usage | None:
    """What a turn took. Of one that was cancelled an agent may tell nothing at its end: what it told before counts."""
    before, told = _spent(session, fact.prompt), fact.usage
    if before is None or told is None:
        return told or before
    return told if told.tokens >= before.tokens else replace(before, cost=told.cost)


def _used(session: Session, usage: Usage | None) -> Session:
    """Book what a turn took, once it is over."""
    if usage is None:
        return session
    booked = replace(session, usage=session.usage.plus(usage))
    return with_attempt(booked, lambda a: replace(a, usage=a.usage.plus(usage)))


def _stopped(session: Session) -> Session:
    asked = session.stop_asked or "asleep"
    return replace(session, state=STOPS[asked] if session.state in ACTIVE else session.state, stop_asked=None)


def _used_up(session: Session) -> Session:
    """What was found out for an attempt goes with it."""
    return with_attempt(session, lambda a: replace(a, known=None, changed=[], history="", said=[]))
