"""What a fact changes in a session. `evolve` books facts and decides nothing: what follows from a fact is in `react`.

Which state follows which is in `tables`; the diagram in docs/sessions.md is made from those. Everything else that a
fact changes is in `booking`. Pure.
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from rekindle.core.session import facts as f
from rekindle.core.session import timing
from rekindle.core.session.booking import attempts, decided, life, questions, turns
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.rules import Rules
from rekindle.core.session.staleness import is_stale
from rekindle.core.session.state import Session
from rekindle.core.session.tables import TRANSITIONS


def create(fact: f.Created) -> Session:
    """A new session."""
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
        program=fact.program,
        of_run=fact.of_run,
        job=fact.job,
    )


def evolve(session: Session | None, fact: AnyFact) -> Session:
    """The session after one more fact. A repeated fact, or one about an attempt that is over, changes nothing."""
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
    if isinstance(fact, f.TurnFact):
        return turns.booked(session, fact)
    if isinstance(fact, f.AttemptFact):
        return attempts.booked(session, fact)
    if isinstance(fact, f.QuestionFact):
        return questions.booked(session, fact)
    if isinstance(fact, f.SessionFact):
        return life.booked(session, fact)
    if isinstance(fact, f.DecidedFact):
        return decided.booked(session, fact)
    assert_never(fact)
