"""What follows automatically from a fact: further facts. The one place where rekindle decides about a session. Pure.

`react` is called once for each fact that changed something, and for each fact that it has derived itself. All of them
are recorded together, so that folding them later needs no rules. What has to be *done* is up to `plan`.

| trigger | what may follow |
|---|---|
| the session begins, a person sets limits | `RulesSet` |
| an agent is started that nobody asked for | `BudgetSpent` restarts |
| an agent has opened the conversation | a cut turn goes on, is sent again, or a person is asked; the receipt |
| an agent would not open it | `HeldBack`, or the attempt is given up |
| a turn failed | by `on_error`: a retry later, shortening, a new conversation, an end, a gate, a question |
| a turn ended well, files changed, a person asks | `Progressed` |
| the context window is nearly full | by `on_context`: the agent is asked for a summary, or told to compact |
| a summary is there, or fails, or takes too long | `ConversationLeft`: a new one is told the summary |
| an agent died, could not be started | `Postponed` until the next start; by `on_dead`: an end, a gate, a question |
| a limit is reached | `LimitReached`; by `on_limit`: asleep, failed, a question |
| the agent asks | by `on_ask`: an answer |
| a timer is due, a turn is silent | by `on_idle`, `on_stall`: asleep, a nudge, given up, an end, a gate, a question |
| nobody could compare the record in time | a receipt without proof |
| a person answers, a gate has run | what the option or the exit status means |
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rekindle.core.session import facts as f
from rekindle.core.session.asking import RUNBOOK, option_meant
from rekindle.core.session.choosing import chosen, rule_for_question
from rekindle.core.session.ending import after_end
from rekindle.core.session.escalating import after_answer, conclusion, escalation
from rekindle.core.session.facts import AnyFact, Usage
from rekindle.core.session.gating import after_gate
from rekindle.core.session.idling import after_idling, after_silence, is_of_idling
from rekindle.core.session.limits import reached
from rekindle.core.session.machine import evolve
from rekindle.core.session.overflow import (
    DEHYDRATIONS,
    after_slow_summary,
    after_summary,
    asks_for_summary,
    dehydration,
)
from rekindle.core.session.receipt import receipt
from rekindle.core.session.recovery import WINDOWS, after_failure, is_compaction
from rekindle.core.session.rules import BUILT_IN, Rules
from rekindle.core.session.settling import after_opening
from rekindle.core.session.staleness import is_stale
from rekindle.core.session.starting import after_launch, after_refusal
from rekindle.core.session.state import OURS, Session
from rekindle.core.session.timing import missing_timers


def react(before: Session | None, fact: AnyFact, after: Session, rules: Rules) -> list[AnyFact]:
    """What follows from a fact that led from one session to the other.

    `rules` apply if the session has none of its own yet: when it begins.
    """
    if isinstance(fact, f.Created):
        if fact.rules is not None:
            given = fact.rules
            own = replace(rules, policy=given.policy, limits=given.limits, reactions=given.reactions)
            own = replace(own, restarts=given.restarts)
            return [f.RulesSet(at=fact.at, rules=own, source=fact.rules_source, digest=fact.rules_digest)]
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
    # A timer is set after everything else: its purpose may be over by then.
    while waiting := waiting or list[AnyFact](missing_timers(after, fact.at)):
        then, before = waiting.pop(0), after
        after = evolve(before, then)
        if after == before and not isinstance(then, f.RulesSet):
            continue  # rules are on record even if they are today's defaults
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
            return _after_wish(fact, after)
        case f.Hurried() if not after.is_up:
            return [f.ResumeAsked(at=fact.at, by=fact.by)]
        case f.PromptQueued() if fact.by != OURS:
            asked = [name for name in after.spent if name.endswith("escalate") or name == DEHYDRATIONS]
            refilled = [f.Progressed(at=fact.at, budgets=asked)] if asked else []
            return [*refilled, *_dehydrated(after, refilled)]
        case f.LaunchIntended():
            return after_launch(before, fact)
        case f.Opened():
            return after_opening(before, fact) or dehydration(after, fact.at)
        case f.ContextMeasured():
            return dehydration(after, fact.at)
        case f.OpenRefused():
            return after_refusal(before, fact, after)
        case f.LaunchFailed() | f.Exited():
            return after_end(before, fact.at, after)
        case f.Spent():
            return _limited(fact.at, after, fact.usage) if not after.over else []
        case f.TurnFinished():
            is_work = fact.stop_reason != "cancelled" and not is_compaction(before, fact.prompt)
            worked = [f.Progressed(at=fact.at, budgets=_refilled(after))] if is_work else []
            limited = _limited(fact.at, after)
            if fact.stop_reason != "cancelled" and asks_for_summary(before, fact.prompt):
                return [*after_summary(before, fact.prompt, fact.at, after), *limited]
            return [*worked, *limited, *_dehydrated(after, worked, limited)]
        case f.TurnFailed():
            return [*after_failure(before, fact, after), *_limited(fact.at, after)]
        case f.FilesChanged():
            budgets = [name for name in after.spent if is_of_idling(name) or name == DEHYDRATIONS]
            return [f.Progressed(at=fact.at, budgets=budgets)]
        case f.PermissionAsked():
            return _by_rule(fact, after)
        case f.EscalationAnswered():
            return after_answer(before, fact, after)
        case f.GateRan():
            return after_gate(before, fact, after)
        case f.Due() | f.Stalled():
            return _due(fact, after)
        case _:
            return []


def _after_wish(fact: f.ResumeAsked, after: Session) -> list[AnyFact]:
    """A person who asks for another try gets all tries; an abandoned conversation stays abandoned."""
    limits = after.rules if fact.limits is None else replace(after.rules, limits=fact.limits)
    source = after.rules_source if after.rules.reactions != BUILT_IN.reactions else fact.by
    changed: list[AnyFact] = []
    if limits != after.rules:
        changed = [f.RulesSet(at=fact.at, rules=limits, source=source, digest=after.rules_digest)]
    if fact.by == OURS:
        return changed
    return [*changed, f.Progressed(at=fact.at, budgets=[name for name in after.spent if name != "renewals"])]


def _dehydrated(after: Session, worked: Sequence[AnyFact], limited: Sequence[AnyFact] = ()) -> list[AnyFact]:
    """What to do about a full context window, once the progress that there was has been booked."""
    for one in worked:
        after = evolve(after, one)
    return dehydration(after, after.changed_at) if not limited else []


def _refilled(session: Session) -> list[str]:
    """The budgets that a turn which ended well refills. Nudges are refilled by visible work."""
    return [name for name in session.spent if not is_of_idling(name) and name not in (WINDOWS, DEHYDRATIONS)]


def _by_rule(fact: f.PermissionAsked, after: Session) -> list[AnyFact]:
    """The runbook's answer to an agent's question. What the agent does not offer is left to a person."""
    asked = next((one for one in after.permissions if one.request == fact.request and not one.answered), None)
    rule = rule_for_question(after, asked) if asked is not None else None
    option = option_meant(asked, rule.action) if asked is not None and rule is not None else None
    if asked is None or rule is None or option is None:
        return []
    told = f"answered by the runbook: {rule.action}: {asked.title}"
    return [
        f.PermissionAnswered(at=fact.at, request=fact.request, option=option, by=RUNBOOK),
        f.Noticed(at=fact.at, message=told),
    ]


def _limited(at: float, after: Session, running: Usage | None = None) -> list[AnyFact]:
    """Stop if a limit is reached, even in the middle of a turn; `running` is what that turn has used so far.

    If somebody has already asked for another end, that one stands.
    """
    over = reached(after.limits, after.usage.plus(running))
    if over is None:
        return []
    action = chosen(after, "limit").rule.action
    if action == "fail" and after.stop_asked is None:
        return [f.LimitReached(at=at, over=over), *conclusion(at, "fail", f"it has reached its limit: {over}")]
    stop: list[AnyFact] = [] if after.stop_asked is not None else [f.StopAsked(at=at, by=OURS, to="asleep")]
    asks = action == "escalate" and after.stop_asked is None
    asked = escalation(after, "limit", f"it has reached its limit: {over}", at) if asks else []
    return [f.LimitReached(at=at, over=over), *stop, *asked]


def _due(fact: f.Due | f.Stalled, after: Session) -> list[AnyFact]:
    attempt, limits = after.attempt, after.limits
    assert attempt is not None
    if isinstance(fact, f.Stalled):
        return after_silence(fact, after)
    match fact.timer:
        case "idle":
            return after_idling(fact, after)
        case "turn":
            why = f"its turn took longer than {limits.turn_seconds or 0:g} s"
            return [f.GivenUp(at=fact.at, attempt=attempt.number, why=why, purpose="turn")]
        case "start":
            message = f"the agent was not ready after {after.rules.start_seconds:g} s"
            return [
                f.OpenRefused(at=fact.at, attempt=attempt.number, how=attempt.how, problem="timeout", message=message)
            ]
        case "summary":
            return after_slow_summary(after, fact.at)
        case "proof":
            return []  # by now the receipt says that nothing is proved
