"""Somebody sets the machine's clock: what waits stays as far away as it was, and never further."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rekindle.core.governor import facts as g
from rekindle.core.governor.machine import evolve as evolve_governor
from rekindle.core.governor.state import Governor
from rekindle.core.inbox.news import News
from rekindle.core.inbox.telling import TellRules, due
from rekindle.core.inbox.told import Tellings
from rekindle.core.job import facts as jf
from rekindle.core.job.machine import evolve as evolve_job
from rekindle.core.session import facts as f
from rekindle.core.session.machine import evolve
from rekindle.core.session.state import OURS, Session
from rekindle.runtime.clock_watch import ClockWatch
from tests.job_stage import order
from tests.sessions import folded


class Clocks:
    """A wall clock that can be set, and one that cannot."""

    def __init__(self) -> None:
        self.wall, self.steady = 1000.0, 50.0
        self.watch = ClockWatch(lambda: self.wall, lambda: self.steady)

    def pass_by(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


def test_a_running_daemon_knows_by_how_much_the_clock_was_set() -> None:
    clocks = Clocks()
    clocks.watch.read("s", 990.0)
    clocks.pass_by(3600.0)
    assert clocks.watch.set_by("s", 990.0) == 0.0
    clocks.wall -= 7200.0
    clocks.pass_by(5.0)
    assert clocks.watch.set_by("s", 990.0) == -7200.0
    clocks.watch.is_right("s")
    assert clocks.watch.set_by("s", 990.0) == 0.0, "it counts once"
    clocks.wall += 60.0
    assert clocks.watch.set_by("s", 990.0) == 60.0


def test_a_clock_that_is_set_while_something_is_recorded_is_noticed_afterwards() -> None:
    clocks = Clocks()
    clocks.watch.read("s", 990.0)
    reading = clocks.watch.reading()
    clocks.wall -= 7200.0
    clocks.watch.is_right("s", reading)
    assert clocks.watch.set_by("s", 990.0) == -7200.0


def test_a_daemon_that_starts_only_knows_that_the_clock_was_set_back_before_what_was_recorded() -> None:
    clocks = Clocks()
    clocks.watch.read("ahead", 1600.0)
    assert clocks.watch.set_by("ahead", 1600.0) == -600.0
    clocks.watch.read("past", 400.0)
    assert clocks.watch.set_by("past", 400.0) == 0.0


def test_a_clock_that_is_only_corrected_was_not_set_and_without_a_steady_clock_nothing_is_known() -> None:
    clocks = Clocks()
    clocks.watch.read("s", 990.0)
    clocks.wall += 0.9
    assert clocks.watch.set_by("s", 990.0) == 0.0
    assert ClockWatch(lambda: 1.0, None).set_by("s", 990.0) == 0.0


def waiting(limit: str = "") -> Session:
    """A session with one of everything that waits for a time."""
    found = folded(
        [
            f.Created(at=1, session="s1", agent="claude", cwd="/w"),
            f.PromptQueued(at=2, prompt="p1", text="one"),
            f.PromptQueued(at=3, prompt="p1+r0", text="again", by=OURS, of="p1", after=100.0, limit=limit),
        ]
    )
    return replace(found, timers={"idle": 200.0}, retry_at=300.0, load_at=400.0)


@pytest.mark.parametrize("by", [-7200.0, 3600.0])
def test_every_deadline_of_a_session_moves_with_the_clock_and_once(by: float) -> None:
    fact = f.ClockSet(at=10.0, by=by, number=1)
    moved = evolve(waiting(), fact)
    assert moved.queued[-1].after == 100.0 + by
    assert (moved.retry_at, moved.load_at) == (300.0 + by, 400.0 + by)
    assert evolve(moved, fact) == moved
    assert evolve(moved, f.ClockSet(at=10.0, by=-by, number=2)).retry_at == 300.0


def test_what_a_person_sent_before_the_clock_was_set_stays_as_long_ago_as_it_was() -> None:
    moved = evolve(waiting(), f.ClockSet(at=10.0, by=-7200.0, number=1))
    assert moved.queued[0].at == 2 - 7200.0
    sent: list[f.AnyFact] = [
        f.LaunchIntended(at=4, attempt=1, generation=1, how="new", token=None),
        f.Launched(at=5, attempt=1, folder="/k/1", pid=1),
        f.Opened(at=6, attempt=1, how="new", token="tok"),
        f.PromptSent(at=7, attempt=1, prompt="p1", message=3, text="one"),
        f.ClockSet(at=10.0, by=-7200.0, number=1),
    ]
    found = waiting()
    for fact in sent:
        found = evolve(found, fact)
    assert found.turn is not None
    assert found.turn.sent_at == 7 - 7200.0


def test_what_was_sent_and_has_to_be_sent_again_waits_for_no_time_by_a_clock_that_was_set_back() -> None:
    sent: list[f.AnyFact] = [
        f.CancelAsked(at=4, prompt="p1"),
        f.LaunchIntended(at=4, attempt=1, generation=1, how="new", token=None),
        f.Launched(at=5, attempt=1, folder="/k/1", pid=1),
        f.Opened(at=6, attempt=1, how="new", token="tok"),
        f.PromptSent(at=107, attempt=1, prompt="p1+r0", message=3, text="again"),
        f.Exited(at=108, attempt=1, how_ended="killed by SIGKILL", by_us=False),
        f.ClockSet(at=-7091.0, by=-7200.0, number=1),
        f.TurnSettled(at=-7090.0, prompt="p1+r0", to="queued", outcome="", cut="open", why=""),
    ]
    found = waiting()
    for fact in sent:
        found = evolve(found, fact)
    assert [(one.id, one.after) for one in found.queued] == [("p1+r0", None)]


@pytest.mark.parametrize(("by", "until"), [(-7200.0, -7100.0), (3600.0, 100.0)])
def test_the_end_of_a_limit_is_a_time_of_the_day_and_gets_no_further_away(by: float, until: float) -> None:
    moved = evolve(waiting("claude:five_hour"), f.ClockSet(at=10.0, by=by, number=1))
    assert moved.queued[-1].after == until


def test_what_the_governor_counts_moves_with_the_clock_and_once() -> None:
    state = Governor()
    for fact in (
        g.RestartCounted(at=100.0, session="s1", effect="e"),
        g.LimitHeard(at=100.0, session="s1", limit="a:", until=160.0, seq=1),
        g.Returned(at=170.0, session="s1", prompt="p", limit="a:"),
        g.RestartsStopped(at=180.0),
    ):
        state = evolve_governor(state, fact)
    back = g.GovernorClockSet(at=-7000.0, by=-7200.0, number=1)
    moved = evolve_governor(state, back)
    assert moved.restarts[0].at == -7100.0
    assert (moved.limits["a:"].at, moved.limits["a:"].until) == (-7100.0, -7040.0)
    assert (moved.returns["a:"], moved.stopped and moved.stopped.since) == (-7030.0, -7020.0)
    assert evolve_governor(moved, back) == moved
    forward = evolve_governor(state, g.GovernorClockSet(at=3800.0, by=3600.0, number=1))
    assert forward.limits["a:"].until == 160.0


def test_the_retry_of_a_job_moves_and_the_time_at_which_it_is_to_begin_does_not() -> None:
    job = evolve_job(None, jf.JobSubmitted(at=1.0, job="j00000001", order=order(not_before=9000.0)))
    wanted = jf.RetryWanted(at=50.0, step="task", how="resume", why="w", until=55.0, attempt=1, number=1)
    job = evolve_job(job, wanted)
    moved = evolve_job(job, jf.RetryMoved(at=-7000.0, number=1, until=-6995.0))
    assert moved.retry is not None and moved.retry.until == -6995.0 and moved.order.not_before == 9000.0
    assert evolve_job(job, jf.RetryMoved(at=1.0, number=2, until=2.0)) == job, "it is about another retry"


def test_a_person_is_told_although_the_clock_was_set_back_after_the_question_was_asked() -> None:
    asked = News("k", "question", "may I?", "rekindle answer q1", 10_000.0, "")
    found = due([asked], Tellings(since=0.0), TellRules(dwell=30.0), 10_000.0 - 7200.0, 0.0)
    assert found.groups == ((asked,),)
