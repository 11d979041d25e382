"""The figures about interruptions: what was cut off, what came back, what was proved, and how long all of it took."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, generate_latest

from rekindle.app.recoveries import CountedRecoveries, Recoveries
from rekindle.core.fact import Fact
from rekindle.core.session import facts as f
from rekindle.doors.http import metrics
from rekindle.ports.store import of_session
from tests.fakes.store import FakeStore, InlineAccess
from tests.sessions import folded

OPTIONS = [("yes", "Yes", "allow_once")]


def killed(at: float, attempt: int = 1) -> f.Exited:
    return f.Exited(at=at, attempt=attempt, how_ended="killed by SIGKILL", by_us=False)


def opened(at: float, attempt: int) -> f.Opened:
    return f.Opened(at=at, attempt=attempt, how="load", token="t")


def proved(at: float, attempt: int, kind: str) -> f.ReceiptWritten:
    return f.ReceiptWritten(at=at, attempt=attempt, receipt=f.Receipt(kind, ""))  # type: ignore[arg-type]


def asked(at: float, request: str, attempt: int = 1) -> f.PermissionAsked:
    return f.PermissionAsked(at=at, attempt=attempt, request=request, title="?", kind="x", options=OPTIONS)


def answered(at: float, request: str) -> f.PermissionAnswered:
    return f.PermissionAnswered(at=at, request=request, option="yes", by="me")


class Kept:
    """A store with facts of sessions, and what is counted in it."""

    def __init__(self) -> None:
        self.store = FakeStore()
        self.counting = CountedRecoveries(InlineAccess(self.store))

    def add(self, name: str, *facts: Fact) -> None:
        session = folded([f.Created(at=0, session=name, agent="a", cwd="/")])
        self.store.commit([of_session(session, facts, generation=1)])

    def counted(self) -> Recoveries:
        return asyncio.run(self.counting.counted())


def counted_of(*facts: Fact) -> Recoveries:
    kept = Kept()
    kept.add("s1", *facts)
    return kept.counted()


def test_the_time_to_recover_is_from_the_end_of_the_agent_to_its_open_conversation() -> None:
    told = counted_of(killed(10), opened(13, 2), killed(20, 2), opened(27.5, 3))
    assert (told.interruptions, told.seconds) == (2, [3.0, 7.5])


def test_an_end_that_was_asked_for_is_no_interruption_and_its_return_no_recovery() -> None:
    told = counted_of(f.Exited(at=10, attempt=1, how_ended="ended", by_us=True), opened(99, 2))
    assert (told.interruptions, told.seconds) == (0, [])


def test_a_later_receipt_of_the_same_attempt_replaces_the_earlier_one() -> None:
    told = counted_of(proved(1, 2, "unproven"), proved(2, 2, "same"), proved(3, 3, "rebuilt"))
    assert told.verdicts == {"unproven": 0, "same": 1, "rebuilt": 1}


def test_only_automatic_restarts_count_as_restarts() -> None:
    budgets: Sequence[str] = ("restarts", "nudges", "restarts", "retries:overloaded")
    assert counted_of(*(f.BudgetSpent(at=1, budget=one) for one in budgets)).restarts == 2


def test_how_long_a_question_waited_counts_whoever_asked_it() -> None:
    whole = f.Escalated(at=10, trigger="dead", attempt=1, title="?")
    told = counted_of(
        asked(1, "r1"),
        answered(5, "r1"),
        whole,
        f.EscalationAnswered(at=70, question="q", option="resume", by="me"),
    )
    assert told.waited == [4.0, 60.0]


def test_a_question_that_its_agent_never_got_an_answer_to_is_not_taken_for_the_next_one_of_its_name() -> None:
    assert counted_of(asked(1, "r1"), asked(100, "r1", 2), answered(103, "r1")).waited == [3.0]


def test_sessions_are_counted_apart_and_each_fact_once_however_often_one_asks() -> None:
    kept = Kept()
    kept.add("s1", killed(10))
    kept.add("s2", killed(11), opened(12, 2))
    assert (kept.counted().interruptions, kept.counted().seconds) == (2, [1.0])
    kept.add("s1", opened(15, 2))
    assert (kept.counted().interruptions, kept.counted().seconds) == (2, [1.0, 5.0])


def test_the_figures_are_told_by_verdict_and_in_buckets_that_add_up() -> None:
    told = Recoveries(verdicts={"same": 3, "fresh": 1}, interruptions=4, restarts=2, seconds=[0.5, 4.0, 4.0, 9000.0])
    registry = CollectorRegistry()
    registry.register(metrics._Figures(metrics._recoveries(told)))
    lines = generate_latest(registry).decode().splitlines()
    for line in (
        'rekindle_recoveries_total{verdict="same"} 3.0',
        'rekindle_recoveries_total{verdict="fresh"} 1.0',
        "rekindle_interruptions_total 4.0",
        "rekindle_restarts_total 2.0",
        'rekindle_recovery_seconds_bucket{le="1"} 1.0',
        'rekindle_recovery_seconds_bucket{le="5"} 3.0',
        'rekindle_recovery_seconds_bucket{le="7200"} 3.0',
        'rekindle_recovery_seconds_bucket{le="+Inf"} 4.0',
        "rekindle_recovery_seconds_sum 9008.5",
    ):
        assert line in lines, line
