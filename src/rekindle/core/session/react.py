"""What follows from a fact by itself: further facts. The one place where rekindle decides about a session. Pure.

`react` is asked once for each fact that changed something, and for each fact that it has derived itself. All of them
are recorded together, so that folding them later needs no rules. What has to be *done* is `plan`'s question.

| trigger | what may follow |
|---|---|
| the session begins, a person sets limits | `RulesSet` |
| an agent is started that nobody asked for | `BudgetSpent` restarts |
| an agent has opened the conversation | a cut turn goes on, is sent again, or a person is asked; the receipt |
| an agent would not open it | `HeldBack`, or the attempt is given up |
| a turn failed | a retry later, shortening, a new conversation, or nothing |
| a turn ended well, a person asks | `Progressed` |
| an agent died, could not be started | `Postponed` until the next start |
| a limit is reached | `LimitReached`, and the agent is put to sleep |
| a timer is due, a turn is silent | asleep, refused, given up |
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact, Usage
from rekindle.core.session.limits import reached
from rekindle.core.session.machine import evolve
from rekindle.core.session.receipt import receipt
from rekindle.core.session.recovery import after_failure, is_compaction
from rekindle.core.session.rules import BUILT_IN, BudgetName, Rules
from rekindle.core.session.settling import after_opening
from rekindle.core.session.staleness import is_stale
from rekindle.core.session.starting import after_launch, after_refusal, pause
from rekindle.core.session.state import OURS, Session
from rekindle.core.session.timing import is_in_turn, missing_timers

_ALL: list[BudgetName] = ["restarts", "retries", "compactions", "renewals"]
#: A person who asks for another try gets all tries; that a conversation was given up is not undone by asking.
_ASKED: list[BudgetName] = ["restarts", "retries", "compactions"]


def react(before: Session | None, fact: AnyFact, after: Session, rules: Rules) -> list[AnyFact]:
    """What follows from a fact that has led from one session to the other.

    `rules` hold where the session has none of its own yet: when it begins.
    """
    if isinstance(fact, f.Created):
        own = replace(rules, policy=fact.policy, limits=fact.limits)
        return [f.RulesSet(at=fact.at, rules=own, source="built-in")]
    assert before is not None
    proof = receipt(before, fact)
    found: list[AnyFact] = []
    if proof is not None and before.attempt is not None:
        found.append(f.ReceiptWritten(at=fact.at, attempt=before.attempt.number, receipt=proof))
    return [*found, *_follows(before, fact, after)]


def take(session: Session | None, fact: AnyFact, rules: Rules = BUILT_IN) -> tuple[Session, list[AnyFact]]:
    """Book a fact with all that follows from it. Returns the facts to record, in order; none if it changes nothing."""
    after = evolve(session, fact)
    if session is not None and after == session and (not isinstance(fact, f.Stalled) or is_stale(session, fact)):
        return session, []
    kept, waiting = [fact], react(session, fact, after, rules)
    # A timer is set when all else has followed: what it would be for may be over by then.
    while waiting := waiting or list[AnyFact](missing_timers(after, fact.at)):
        then, before = waiting.pop(0), after
        after = evolve(before, then)
        if after == before and not isinstance(then, f.RulesSet):
            continue  # rules are on record even where they are what everybody would expect today
        kept.append(then)
        waiting = [*react(before, then, after, rules), *waiting]
    return (after, []) if kept == [fact] and isinstance(fact, f.Stalled) else (after, kept)


def taken(session: Session | None, facts: Sequence[AnyFact], rules: Rules = BUILT_IN) -> tuple[Session, list[AnyFact]]:
    """Book facts one after the other, each with all that follows from it."""
    kept: list[AnyFact] = []
    for fact in facts:
        session, found = take(session, fact, rules)
        kept += found
    assert session is not None, "a session begins with Created"
    return session, kept


def _follows(before: Session, fact: AnyFact, after: Session) -> list[AnyFact]:
    match fact:
        case f.ResumeAsked():
            limits = after.rules if fact.limits is None else replace(after.rules, limits=fact.limits)
            changed = [f.RulesSet(at=fact.at, rules=limits, source=fact.by)] if limits != after.rules else []
            return [*changed, f.Progressed(at=fact.at, budgets=_ASKED)]
        case f.LaunchIntended():
            return after_launch(before, fact)
        case f.Opened():
            return after_opening(before, fact)
        case f.OpenRefused():
            return after_refusal(before, fact, after)
        case f.LaunchFailed() | f.Exited():
            return _after_end(before, fact.at, after)
        case f.Spent():
            return _limited(fact.at, after, fact.usage) if not after.over else []
        case f.TurnFinished():
            progress = [] if is_compaction(before, fact.prompt) else [f.Progressed(at=fact.at, budgets=_ALL)]
            return [*progress, *_limited(fact.at, after)]
        case f.TurnFailed():
            return [*after_failure(before, fact, after), *_limited(fact.at, after)]
        case f.Due() | f.Stalled():
            return _due(fact, after)
        case _:
            return []


def _after_end(before: Session, at: float, after: Session) -> list[AnyFact]:
    """When the next start may come by itself, if one may."""
    attempt = after.attempt
    if before.stop_asked is not None or attempt is None or attempt.by_us:
        return []
    return [f.Postponed(at=at, until=at + pause(after))]


def _limited(at: float, after: Session, running: Usage | None = None) -> list[AnyFact]:
    """Stop where a limit is reached, in the middle of a turn as well; `running` is what that one took so far.

    Where somebody has asked for another end already, that one stands.
    """
    over = reached(after.limits, after.usage.plus(running))
    if over is None:
        return []
    stop = [] if after.stop_asked is not None else [f.StopAsked(at=at, by=OURS, to="asleep")]
    return [f.LimitReached(at=at, over=over), *stop]


def _due(fact: f.Due | f.Stalled, after: Session) -> list[AnyFact]:
    attempt, limits = after.attempt, after.limits
    assert attempt is not None
    if isinstance(fact, f.Stalled):
        if limits.stall_seconds is None or fact.seconds <= limits.stall_seconds or not is_in_turn(after):
            return []
        why = f"it said nothing for {limits.stall_seconds:g} s, with no tool running"
        return [f.GivenUp(at=fact.at, attempt=attempt.number, why=why)]
    match fact.timer:
        case "idle":
            return [f.StopAsked(at=fact.at, by=OURS, to="asleep")]
        case "turn":
            why = f"its turn took longer than {limits.turn_seconds or 0:g} s"
            return [f.GivenUp(at=fact.at, attempt=attempt.number, why=why)]
        case "start":
            message = f"the agent was not ready after {after.rules.start_seconds:g} s"
            return [
                f.OpenRefused(at=fact.at, attempt=attempt.number, how=attempt.how, problem="timeout", message=message)
            ]
