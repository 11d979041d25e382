"""What a fact about an attempt changes in a session: its agent starts, opens the conversation, ends. Pure."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from rekindle.core.session import facts as f
from rekindle.core.session.booking import questions
from rekindle.core.session.booking.life import stopped
from rekindle.core.session.booking.spending import used
from rekindle.core.session.overflow import is_question
from rekindle.core.session.shortening import shortened
from rekindle.core.session.state import Attempt, Session, State, noted, with_attempt, with_prompt
from rekindle.core.session.tables import REFUSALS
from rekindle.core.session.values import ContextGauge


def booked(session: Session, fact: f.AttemptFact) -> Session:
    """The session with one more fact of an attempt."""
    match fact:
        case f.LaunchIntended():
            return _intended(session, fact)
        case f.Launched():
            return with_attempt(
                session, lambda a: replace(a, status="up", folder=fact.folder, pid=fact.pid, account=fact.account)
            )
        case f.LaunchFailed():
            return _launch_failed(session, fact)
        case f.Opened():
            return _opened(session, fact)
        case f.OpenRefused():
            return _refused(session, fact)
        case f.Exited():
            return _exited(session, fact)
        case f.Named():
            return _named(session, fact)
        case f.Compared():
            return with_attempt(session, lambda a: replace(a, compared=True))
        case f.Compacted():
            return _compacted(session, fact)
        case f.ContextMeasured():
            return _measured(session, fact)
        case f.GivenUp():
            if session.attempts[-1].given_up:
                return session
            given_up = with_attempt(session, lambda a: replace(a, given_up=fact.why, given_for=fact.purpose))
            return replace(given_up, message=fact.why)
        case f.LoadPutOff():
            return replace(noted(session, fact.why), load_at=fact.until, message=fact.why)
        case f.ReceiptWritten():
            receipts = [
                replace(one, receipt=fact.receipt) if one.number == fact.attempt else one for one in session.attempts
            ]
            return replace(session, attempts=receipts)
        case _:
            assert_never(fact)


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
        given=fact.given,
        behind=fact.behind,
    )
    session = replace(questions.decided_otherwise(session, fact.at), gate=None)
    return replace(
        session,
        untold=False,
        left_why="",
        attempts=[*shortened(session), attempt],
        generation=max(session.generation, fact.generation),
        resume_asked=None,
        stop_asked=None,
        retry_at=None,
        load_at=None,
    )


def _launch_failed(session: Session, fact: f.LaunchFailed) -> Session:
    gone = with_attempt(session, lambda a: replace(a, status="gone", how_ended=fact.message, blocked=fact.blocked))
    gone = replace(questions.agent_gone(_used_up(gone), fact.at), message=fact.message)
    return gone if session.stop_asked is None else stopped(gone)


def _opened(session: Session, fact: f.Opened) -> Session:
    ready = with_attempt(session, lambda a: replace(a, status="ready", token=fact.token, opened=True))
    ready = with_attempt(ready, lambda a: replace(a, opened_at=fact.at, proof=fact.proof))
    ready = with_attempt(ready, lambda a: replace(a, known=None, changed=[], said=[]))
    fresh = replace(ready, token=fact.token, can_load=fact.can_load, message="", held=False)
    is_same = fact.how == "load" and session.context is not None and session.context.token == fact.token
    return replace(fresh, compact=fact.compact, context=session.context if is_same else None)


def _refused(session: Session, fact: f.OpenRefused) -> Session:
    """Only what the agent says or shows makes us give up a conversation. Any other refusal says nothing about it."""
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


def _named(session: Session, fact: f.Named) -> Session:
    named = with_attempt(session, lambda a: replace(a, named=fact.token))
    attempt = session.attempts[-1]
    if attempt.how == "new":
        return replace(with_attempt(named, lambda a: replace(a, token=fact.token)), token=fact.token)
    told = "the agent did not go on with its conversation but with another one"
    return named if attempt.token == fact.token else replace(named, message=told)


def _compacted(session: Session, fact: f.Compacted) -> Session:
    number = fact.number or session.attempts[-1].compactions + 1
    if number <= session.attempts[-1].compactions:
        return session
    told = f"the agent has compacted its conversation, and remembers a summary ({fact.why or 'by itself'})"
    unknown = replace(session, context=None)  # it is shorter now, and nobody has told how much
    return noted(with_attempt(unknown, lambda a: replace(a, compactions=number)), told)


def _measured(session: Session, fact: f.ContextMeasured) -> Session:
    """A turn that shortens the conversation is measured before it has; one that sums it up does not empty it."""
    turn = session.turn
    if fact.number <= session.attempts[-1].measured:
        return session
    session = with_attempt(session, lambda a: replace(a, measured=fact.number))
    if turn is not None and (turn.text == session.compact or is_question(turn)):
        return session
    gauge = ContextGauge(fact.used, fact.size, session.attempts[-1].token, fact.attempt, fact.number)
    return replace(session, context=gauge, skill=session.skill if fact.skill is None else fact.skill)


def _exited(session: Session, fact: f.Exited) -> Session:
    given_up = session.attempts[-1].given_up
    by_us = fact.by_us and not given_up
    opened_at = session.attempts[-1].opened_at or fact.at  # it may have opened one and died before saying so
    gone = with_attempt(
        with_attempt(session, lambda a: replace(a, opened_at=opened_at)),
        lambda a: replace(a, status="gone", how_ended=given_up or fact.how_ended, by_us=by_us, cut=fact.cut),
    )
    gone = with_attempt(gone, lambda a: replace(a, truncated=fact.truncated, unseen=fact.unseen))
    turn = gone.turn
    if turn is not None:
        delivered = fact.cut.delivered if fact.cut is not None else "yes"
        ended = "cancelled" if turn.id == session.cancel_asked else "queued" if delivered == "no" else "cut"
        took = None if turn.state == "cut" else turn.usage
        gone = with_prompt(gone, turn.id, state=ended, cut="no" if ended == "queued" else "open")
        gone = used(gone, took)
    gone = questions.agent_gone(_used_up(gone), fact.at)
    if fact.truncated:
        told = f"attempt {fact.attempt}: the agent's output was truncated, {fact.truncated} bytes may be lost"
        gone = noted(gone, told)
    return gone if session.stop_asked is None else stopped(gone)


def _used_up(session: Session) -> Session:
    """What was found out for an attempt is dropped with it."""
    return with_attempt(session, lambda a: replace(a, known=None, changed=[], history="", said=[]))
