"""Sessions for tests: facts told one after the other, and where they lead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.machine import evolve
from rekindle.core.session.react import take
from rekindle.core.session.rules import Rules
from rekindle.core.session.state import Session
from rekindle.ports.store import Recorded, Store, commit_one, of_session


def created(session: str = "s1", at: float = 1.0, **changes: str) -> f.Created:
    return f.Created(at=at, session=session, agent="scripted", cwd="/work", **changes)  # type: ignore[arg-type]


def told(session: Session | None, fact: AnyFact) -> Session:
    """A session that was told one more fact, with all that follows from it."""
    return take(session, fact)[0]


def folded(facts: Sequence[AnyFact]) -> Session:
    """A session that was told these facts, with all that follows from them."""
    session: Session | None = None
    for fact in facts:
        session = told(session, fact)
    assert session is not None
    return session


def booked(facts: Sequence[AnyFact]) -> Session:
    """What these facts alone make of a session."""
    session: Session | None = None
    for fact in facts:
        session = evolve(session, fact)
    assert session is not None
    return session


def a_life(session: str = "s1") -> list[AnyFact]:
    """Every kind of fact once: two attempts, the first cut in its turn, the second refused, stopped."""
    cut = f.Cut(said="I was", tools=["make"], swept=["cc"], delivered="yes")
    return [
        created(session, title="a title", feature="search", task="t1"),
        f.RulesSet(at=1.0, rules=Rules(policy="ask"), source="built-in"),
        f.PromptQueued(at=2.0, prompt="p1", text="do it"),
        f.PromptQueued(at=2.0, prompt="p2", text="then that"),
        f.PromptEdited(at=2.1, prompt="p2", text="then this", by="user"),
        f.PromptsReordered(at=2.2, prompts=["p1", "p2"], by="user"),
        f.LaunchIntended(at=3.0, attempt=1, generation=1, how="new"),
        f.Launched(at=4.0, attempt=1, folder="/keep/1", pid=42),
        f.Opened(at=5.0, attempt=1, how="new", token="tok"),
        f.PromptSent(at=6.0, attempt=1, prompt="p1", message=3, text="do it"),
        f.TurnBegan(at=7.0, attempt=1, prompt="p1"),
        f.Spent(at=7.0, attempt=1, prompt="p1", usage=f.Usage(10, 5)),
        f.PermissionAsked(
            at=8.0, attempt=1, request="r1", title="rm", kind="execute", options=[("a", "Allow", "allow_once")]
        ),
        f.PermissionAnswered(at=9.0, request="r1", option="a", by="user"),
        f.CancelAsked(at=9.5, prompt="p2"),
        f.Exited(at=10.0, attempt=1, how_ended="signal SIGKILL", by_us=False, cut=cut, truncated=3),
        f.HoldAsked(at=10.5, by="user"),
        f.HoldLifted(at=10.6, by="user"),
        f.ClockSet(at=10.6, by=-2.0, number=1),
        f.Hurried(at=10.7, by="user"),
        f.ResumeAsked(at=11.0, by="user"),
        f.LoadPutOff(at=11.1, until=12.0, why="in a moment"),
        f.LaunchIntended(at=12.0, attempt=2, generation=2, how="load", token="tok"),
        f.Launched(at=13.0, attempt=2, folder="/keep/2", pid=43),
        f.Adopted(at=13.5, generation=3),
        f.Opened(at=14.0, attempt=2, how="load", token="tok", known=["do it"]),
        f.Noticed(at=22.5, message="a note"),
        f.TurnSettled(at=14.0, prompt="p1", to="failed", outcome="cut off", cut="known"),
        f.PromptQueued(at=14.0, prompt="p1+2", text="go on", by="rekindle", of="p1", first=True),
        f.TakenOver(at=22.5, generation=3, host="b", before="a", lost=1, cwd="/there", missing=["a second"]),
        f.Relocated(at=22.55, repository="/new", cwd="/new", worktree=None),
        f.Imported(at=22.6, asked=["permission: all (reset: edits)"]),
        f.ReceiptWritten(
            at=15.0, attempt=2, receipt=f.Receipt(kind="same", reason="its record", unknown=["make"], repeated=[])
        ),
        f.Named(at=15.1, attempt=2, token="tok"),
        f.Compared(at=15.2, attempt=2, extends=True, known=["do it"], why="it goes on"),
        f.Compacted(at=15.3, attempt=2, why="auto"),
        f.ContextMeasured(at=15.3, attempt=2, used=152_000, size=200_000, number=1),
        f.Stalled(at=15.4, attempt=2, seconds=241.0),
        f.GivenUp(at=15.4, attempt=2, why="it said nothing for 240 s"),
        f.PromptSent(at=16.0, attempt=2, prompt="p1+2", message=3, text="go on"),
        f.TurnFailed(at=17.0, attempt=2, prompt="p1+2", error="rate_limited", message="later", retry_at=99.5),
        f.PromptQueued(at=17.0, prompt="p1+r0", text="go on", by="rekindle", of="p1", after=99.5, first=True),
        f.BudgetSpent(at=17.0, budget="retries"),
        f.Postponed(at=17.0, until=99.5, why="later; it goes on by itself in 83 s"),
        f.PromptSent(at=17.5, attempt=2, prompt="p1+r0", message=4, text="go on"),
        f.TurnFinished(at=18.0, attempt=2, prompt="p1+r0", stop_reason="end_turn", usage=f.Usage(1, 2, 3, 0.5)),
        f.Progressed(at=18.0, budgets=["retries"]),
        f.LimitReached(at=18.0, over="it has cost $0.5, and may cost $0.4"),
        f.TimerSet(at=18.0, timer="idle", until=618.0),
        f.Due(at=618.0, timer="idle", until=618.0),
        f.HeldBack(at=618.0, why="a person decides"),
        f.ConversationLeft(at=618.0, token="old", why="it was too long"),
        f.StopAsked(at=19.0, by="user", to="asleep"),
        f.Exited(at=20.0, attempt=2, how_ended="exit code 0", by_us=True),
        f.LaunchIntended(at=21.0, attempt=3, generation=3, how="load", token="tok"),
        f.OpenRefused(at=22.0, attempt=3, how="load", problem="other", message="no"),
        f.LaunchFailed(at=23.0, attempt=3, message="no such program"),
        f.FilesChanged(at=24.0, snapshot="9f2c"),
        f.Escalated(at=25.0, trigger="dead", attempt=3, title="it ended", options=[("resume", "Go on", "go")]),
        f.EscalationAnswered(at=26.0, question="q0", option="resume", by="user", text="be quick"),
        f.GateWanted(at=27.0, gate="dead-3-1-0", trigger="dead", attempt=3, run=["make", "test"]),
        f.GateRan(at=28.0, gate="dead-3-1-0", passed=False, output="1 failed"),
    ]


def commit(store: Store, session: Session, facts: Sequence[AnyFact], *, generation: int = 1, **more: Any) -> list[int]:
    """Commit a session with facts of its own; the numbers of the facts."""
    change = of_session(session, facts, generation=generation, **more)
    return [one.seq for one in commit_one(store, change)]


def facts_of(recorded: Iterable[Recorded]) -> list[AnyFact]:
    """The facts of sessions, as they were recorded."""
    return [cast("AnyFact", one.fact) for one in recorded if one.stream == "session"]
