"""Lives of sessions: facts that lead somewhere, and now and then anything at all.

Facts at random lead nowhere: not one session in a hundred would ever have an agent that is ready.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, get_args

from hypothesis import strategies as st
from msgspec.structs import replace

from rekindle.core.runbook.reaction import Reaction
from rekindle.core.runbook.runbook import Reactions
from rekindle.core.runbook.triggers import ALLOWED, TRIGGERS, Trigger
from rekindle.core.session import facts as f
from rekindle.core.session.asking import escalation_id
from rekindle.core.session.facts import Usage
from rekindle.core.session.machine import evolve
from rekindle.core.session.rules import Budget, Rules, governed
from rekindle.core.session.state import Session, State
from rekindle.core.session.tables import ATTEMPTS, Status
from rekindle.core.session.tables import PROMPTS as PROMPT_TABLE
from tests.sessions import told

PROMPTS = ("p1", "p2", "p3")
_attempts = st.integers(1, 3)
_prompts = st.sampled_from(PROMPTS)
_cuts = st.one_of(
    st.none(),
    st.builds(
        f.Cut,
        said=st.sampled_from(["", "half a"]),
        tools=st.lists(st.just("run: x"), max_size=1),
        delivered=st.sampled_from(["yes", "no", "unknown"]),
    ),
)
_at = st.just(1.0)
_names = st.sampled_from(["a", "b"])
_usages = st.builds(Usage, st.integers(0, 9), st.integers(0, 9))
_receipts = st.builds(f.Receipt, kind=st.sampled_from(["same", "unproven"]), reason=st.just("r"))
_known = st.one_of(st.none(), st.lists(st.sampled_from(["do a", "do b"])))
_budgets = st.sampled_from(["restarts", "retries", "compactions", "renewals"])
_timers = st.sampled_from(["idle", "start", "turn"])
_triggers = st.sampled_from(TRIGGERS[:2])
_CHOICES = [("resume", "Go on", "go")]
#: The ids of the questions that can be made here.
QUESTIONS = [
    escalation_id("s", f.Escalated(at=1.0, trigger=trigger, attempt=number, title=title, options=_CHOICES))
    for trigger in TRIGGERS[:2]
    for number in (1, 2, 3)
    for title in ("a", "b")
]


def _rules_for(trigger: Trigger) -> st.SearchStrategy[tuple[Reaction, ...] | None]:
    """Any rules that a runbook can have for a trigger."""
    rule = st.builds(
        Reaction,
        st.sampled_from(ALLOWED[trigger]),
        match=st.sampled_from(["", "rate_limited", "context_overflow"]) if trigger == "error" else st.just(""),
        message=st.sampled_from(["", "go on"]),
        append=st.booleans(),
        run=st.just(("make", "test")),
        attempts=st.sampled_from([1, 2, None]),
        cooldown=st.sampled_from([(0.0,), (5.0, 60.0)]),
    )
    return st.one_of(st.none(), st.lists(rule, min_size=1, max_size=3).map(tuple))


REACTIONS = st.builds(Reactions, **{trigger: _rules_for(trigger) for trigger in TRIGGERS})
_PLAIN_RULES = st.builds(
    Rules,
    policy=st.sampled_from(["ask", "continue", "never"]),
    limits=st.sampled_from([f.Limits(), f.Limits(tokens=5), f.Limits(turn_seconds=3.0), f.Limits(stall_seconds=None)]),
    restarts=st.sampled_from([Budget(3, (0.0, 2.0, 8.0)), Budget(0), Budget(1, (60.0,))]),
    retries=st.sampled_from([Budget(12, (5.0, 10.0)), Budget(0), Budget(1)]),
    compactions=st.sampled_from([Budget(0), Budget(1)]),
    renewals=st.sampled_from([Budget(0), Budget(2)]),
)
RULES = st.one_of(_PLAIN_RULES, st.builds(governed, _PLAIN_RULES, REACTIONS))
#: One way to make each kind of fact, with what it is made of.
MADE: dict[type[f.Fact], dict[str, st.SearchStrategy[object]]] = {
    f.PromptQueued: {
        "prompt": _prompts,
        "text": st.sampled_from(["do a", "do b"]),
        "first": st.booleans(),
        "after": st.sampled_from([None, 3.0]),
    },
    f.ResumeAsked: {
        "by": st.just("me"),
        "limits": st.sampled_from([None, f.Limits(tokens=9)]),
        "handover": st.sampled_from([None, f.Handover(agent="b")]),
    },
    f.LoadPutOff: {"until": st.sampled_from([0.5, 60.0]), "why": st.just("later")},
    f.LaunchIntended: {
        "attempt": _attempts,
        "generation": st.integers(0, 5),
        "how": st.sampled_from(["new", "load"]),
        "token": st.sampled_from([None, "t"]),
        "history": st.sampled_from(["", "what was said"]),
    },
    f.Launched: {"attempt": _attempts, "folder": st.just("x"), "pid": st.just(7)},
    f.LaunchFailed: {"attempt": _attempts, "message": st.just("no"), "blocked": st.booleans()},
    f.Adopted: {"generation": st.integers(0, 9)},
    f.Opened: {
        "attempt": _attempts,
        "how": st.sampled_from(["new", "load"]),
        "token": st.just("t"),
        "known": _known,
        "proof": st.sampled_from(["replay", "transcript"]),
        "compact": st.sampled_from([None, "/compact"]),
    },
    f.Named: {"attempt": _attempts, "token": st.sampled_from(["t", "u"])},
    f.Compared: {"attempt": _attempts, "extends": st.sampled_from([None, True, False]), "known": st.just(["do a"])},
    f.OpenRefused: {
        "attempt": _attempts,
        "how": st.just("load"),
        "problem": st.sampled_from(get_args(f.Refusal)),
        "message": st.just("m"),
    },
    f.PromptSent: {"attempt": _attempts, "prompt": _prompts, "message": st.integers(1, 4), "text": st.just("do a")},
    f.TurnBegan: {"attempt": _attempts, "prompt": _prompts},
    f.Spent: {"attempt": _attempts, "prompt": _prompts, "usage": _usages},
    f.TurnFinished: {
        "attempt": _attempts,
        "prompt": _prompts,
        "stop_reason": st.just("end_turn"),
        "usage": st.sampled_from([None, Usage(5, 5)]),
    },
    f.TurnFailed: {
        "attempt": _attempts,
        "prompt": _prompts,
        "error": st.sampled_from(["other", "rate_limited", "context_overflow"]),
        "message": st.just("m"),
    },
    f.GivenUp: {"attempt": _attempts, "why": st.just("silent")},
    f.Compacted: {"attempt": _attempts, "why": st.just("auto"), "number": st.integers(0, 2)},
    f.ContextMeasured: {
        "attempt": _attempts,
        "used": st.sampled_from([10, 80, 99]),
        "size": st.just(100),
        "number": st.integers(1, 4),
        "skill": st.sampled_from([None, "", "sessions/a"]),
    },
    f.CancelAsked: {"prompt": _prompts},
    f.PromptEdited: {"prompt": _prompts, "text": st.just("something else"), "by": st.just("user")},
    f.PromptsReordered: {"prompts": st.lists(_prompts, max_size=3), "by": st.just("user")},
    f.PermissionAsked: {
        "attempt": _attempts,
        "request": _names,
        "title": st.just("rm"),
        "kind": st.just("execute"),
        "options": st.just([("a", "Allow", "allow_once")]),
        "prompt": st.sampled_from(["", *PROMPTS]),
    },
    f.PermissionAnswered: {"request": _names, "option": st.just("a"), "by": st.just("me")},
    f.StopAsked: {"by": st.just("me"), "to": st.sampled_from(["asleep", "cancelled", "completed", "failed"])},
    f.Exited: {"attempt": _attempts, "how_ended": st.just("killed"), "by_us": st.booleans(), "cut": _cuts},
    f.ReceiptWritten: {"attempt": _attempts, "receipt": _receipts},
    f.Noticed: {"message": _names},
    f.HoldAsked: {"by": st.just("me")},
    f.HoldLifted: {"by": st.just("me")},
    f.ClockSet: {"by": st.sampled_from([-7200.0, -5.0, 5.0, 7200.0]), "number": st.integers(1, 3)},
    f.Hurried: {"by": st.just("me")},
    f.TakenOver: {
        "generation": st.integers(0, 9),
        "host": st.sampled_from(["a", "b"]),
        "before": st.sampled_from(["a", "b"]),
        "lost": st.integers(0, 3),
        "cwd": st.just("/there"),
        "missing": st.just(["a second"]),
    },
    f.Imported: {"asked": st.just(["permission: all"])},
    f.Relocated: {"repository": st.just("/new"), "cwd": st.just("/new"), "worktree": st.none()},
    f.RulesSet: {"rules": RULES, "source": st.just("a file")},
    f.BudgetSpent: {"budget": _budgets},
    f.Progressed: {"budgets": st.lists(_budgets, unique=True)},
    f.Postponed: {"until": st.sampled_from([0.5, 60.0]), "why": _names},
    f.TurnSettled: {"prompt": _prompts, "to": st.sampled_from(["queued", "failed"]), "cut": st.just("lost")},
    f.ConversationLeft: {"token": st.sampled_from(["t", "u"]), "why": st.just("too long")},
    f.HeldBack: {"why": st.just("a person decides")},
    f.Escalated: {
        "trigger": _triggers,
        "attempt": _attempts,
        "title": _names,
        "options": st.just(_CHOICES),
    },
    f.EscalationAnswered: {
        "question": st.sampled_from(["q0", *QUESTIONS]),
        "option": st.sampled_from(["resume", "nudge", "raise", "done", "fail", "leave", "odd"]),
        "by": st.just("me"),
        "text": st.sampled_from(["", "use B"]),
    },
    f.GateWanted: {"gate": _names, "trigger": _triggers, "attempt": _attempts, "run": st.just(["make"])},
    f.GateRan: {"gate": _names, "passed": st.booleans()},
    f.FilesChanged: {"snapshot": st.just("abc")},
    f.LimitReached: {"over": st.just("it has cost too much")},
    f.TimerSet: {"timer": _timers, "until": st.sampled_from([2.0, 9.0])},
    f.Due: {"timer": _timers, "until": st.sampled_from([2.0, 4.0, 9.0, 61.0, 601.0])},
    f.Stalled: {"attempt": _attempts, "seconds": st.sampled_from([1.0, 999.0])},
}
#: What a session is told from outside: by people, by agents and by the clock.
TOLD: list[type[f.Fact]] = [
    f.PromptQueued,
    f.ResumeAsked,
    f.LoadPutOff,
    f.LaunchIntended,
    f.Launched,
    f.LaunchFailed,
    f.Adopted,
    f.Opened,
    f.Named,
    f.Compared,
    f.OpenRefused,
    f.PromptSent,
    f.TurnBegan,
    f.Spent,
    f.TurnFinished,
    f.TurnFailed,
    f.Compacted,
    f.ContextMeasured,
    f.CancelAsked,
    f.PromptEdited,
    f.PromptsReordered,
    f.PermissionAsked,
    f.PermissionAnswered,
    f.StopAsked,
    f.Exited,
    f.Noticed,
    f.HoldAsked,
    f.HoldLifted,
    f.ClockSet,
    f.Hurried,
    f.Due,
    f.Stalled,
    f.FilesChanged,
]


def begun(policy: str = "ask") -> Session:
    return told(None, f.Created(at=0.0, session="s", agent="a", cwd="/", policy=policy))


def folded(facts: list[f.AnyFact], policy: str = "ask") -> Session:
    session = begun(policy)
    for fact in facts:
        session = told(session, fact)
    return session


def _fits(session: Session, kind: type[f.Fact]) -> bool:
    """Whether the tables have a row for such a fact as the session is now."""
    status: Status = session.attempt.status if session.attempt is not None else "none"
    if any(kind is fact for _, fact in ATTEMPTS) and (status, kind) not in ATTEMPTS:
        return False
    if kind is f.PermissionAnswered:
        return any(not one.answered for one in session.permissions)
    if kind is f.EscalationAnswered:
        return session.escalation is not None
    if kind is f.Due:
        return bool(session.timers)
    return not any(kind is fact for _, fact in PROMPT_TABLE) or any(_takers(session, kind))


def _takers(session: Session, kind: type[f.Fact]) -> Iterator[str]:
    """The prompts that such a fact can be about."""
    known = {one.id: one.state for one in session.prompts}
    return (name for name in (*PROMPTS, *known) if (known.get(name, "none"), kind) in PROMPT_TABLE)


def _aimed(session: Session, fact: f.AnyFact) -> f.AnyFact:
    """The same fact about the newest attempt, or the next one, and about a prompt that it can be about."""
    changes: dict[str, object] = {}
    if hasattr(fact, "attempt"):
        newest = session.attempt.number if session.attempt is not None else 0
        changes["attempt"] = newest + isinstance(fact, f.LaunchIntended)
    if any(isinstance(fact, kind) for _, kind in PROMPT_TABLE):
        changes["prompt"] = next(_takers(session, type(fact)))
    if isinstance(fact, f.PermissionAnswered):
        changes["request"] = session.permissions[-1].request
    if isinstance(fact, f.EscalationAnswered) and session.escalation is not None:
        changes["question"] = session.escalation.id
    if isinstance(fact, f.Progressed):
        changes["budgets"] = list(session.spent)
    if isinstance(fact, f.TimerSet):
        changes["timer"] = "start" if not session.is_up or session.state is State.STARTING else "idle"
    if isinstance(fact, f.Due):
        changes["timer"], changes["until"] = next(iter(session.timers.items()))
    return replace(fact, **changes)


def _next(session: Session) -> list[type[f.Fact]]:
    """What is likely to happen next. What happens more often is named more often."""
    attempt, turn = session.attempt, session.turn
    if attempt is None or attempt.status == "gone":
        return [f.LaunchIntended, f.TurnSettled if turn is not None else f.PromptQueued]
    if attempt.status == "launching":
        return [f.Launched, f.Launched, f.Launched, f.LaunchFailed]
    if attempt.status == "up":
        return [f.Opened, f.Opened, f.Opened, f.OpenRefused]
    if turn is not None and turn.state == "sent":
        return [f.TurnBegan]
    if turn is not None:
        return [f.TurnFinished, f.TurnFinished, f.TurnFailed, f.TurnSettled, f.Spent, f.Stalled, f.Exited]
    if session.queued:
        return [f.PromptSent]
    return [f.PromptQueued, f.PromptQueued, f.PermissionAsked, f.PermissionAnswered, f.TimerSet, f.Due, f.Exited]


@st.composite
def lives(
    draw: st.DrawFn, kinds: Sequence[type[f.Fact]], book: Callable[[Session, f.AnyFact], Session] = told
) -> list[f.AnyFact]:
    """What a session is told: mostly what comes next, at times what else can happen now, and now and then anything."""
    session, found = begun(), list[f.AnyFact]()
    for _ in range(draw(st.integers(0, 30))):
        how = draw(st.sampled_from(["next", "next", "next", "next", "fits", "fits", "anything"]))
        fitting = _next(session) if how == "next" else kinds
        fitting = [kind for kind in fitting if kind in kinds and (how == "anything" or _fits(session, kind))]
        fact: f.AnyFact = draw(_MADE[draw(st.sampled_from(fitting))])
        fact = fact if how == "anything" else _aimed(session, fact)
        if isinstance(fact, f.PromptSent) and session.turn is not None:
            continue  # nobody speaks in a turn, not even by mistake: see what a plan says
        session = book(session, fact)
        found.append(fact)
    return found


#: What may follow from that under the built-in rules.
DERIVED: list[type[f.Fact]] = [
    f.RulesSet,
    f.BudgetSpent,
    f.Progressed,
    f.Postponed,
    f.TurnSettled,
    f.ConversationLeft,
    f.HeldBack,
    f.LimitReached,
    f.TimerSet,
    f.GivenUp,
    f.ReceiptWritten,
]
_MADE: dict[type[f.Fact], st.SearchStrategy[Any]] = {
    kind: st.builds(kind, at=_at, **made) for kind, made in MADE.items()
}
FACTS = lives(TOLD)
EVERY_FACT = lives(list(MADE), evolve)
