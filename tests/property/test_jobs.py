"""Jobs under any behaviour of their agents: each ends once, spends no more than it may, and never skips a step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.job import facts as jf
from rekindle.core.job.machine import evolve
from rekindle.core.job.order import JobOrder
from rekindle.core.job.plan import TryAgain
from rekindle.core.job.scheduling import scheduled
from rekindle.core.job.state import Job
from rekindle.core.streams import JOB
from tests.job_stage import Act, Stage, order, step

ACTS: st.SearchStrategy[list[Act]] = st.lists(
    st.sampled_from(["well", "die", "timeout", "error", "login", "too_long", "lose", "no_start"]), max_size=14
)
STEPS = st.sampled_from(
    [
        (step(),),
        (step("a", "do a"), step("b", "do b", "a")),
        (step("c", "do c", "a", "b"), step("a", "do a"), step("b", "do b")),
    ]
)
ORDERS = st.builds(
    lambda steps, retries, age, resumes, resume: order(
        *steps, retries=retries, max_age=age, max_resumes=resumes, resume=resume
    ),
    STEPS,
    st.integers(0, 4),
    st.sampled_from([None, 0.5, 20.0]),
    st.sampled_from([None, 0, 1, 2]),
    st.booleans(),
)


@given(ORDERS, ACTS)
def test_every_job_ends_once_and_nothing_of_it_runs_on(wanted: JobOrder, acts: list[Act]) -> None:
    stage = Stage(wanted, acts).run()
    assert stage.job.over is not None
    assert sum(isinstance(one, jf.JobOver) for one in stage.facts) == 1
    assert all(not one.is_up and one.state in ("COMPLETED", "FAILED") for one in stage.sessions.values())
    assert (stage.job.over == "done") == all(one.status == "done" for one in stage.job.steps)


@given(ORDERS, ACTS)
def test_retries_spend_a_budget_that_only_progress_gives_back(wanted: JobOrder, acts: list[Act]) -> None:
    stage = Stage(wanted, acts).run()
    spent = fresh = 0
    for fact in stage.facts:
        if isinstance(fact, jf.RetryWanted):
            spent, fresh = spent + 1, fresh + (fact.how == "fresh")
        elif isinstance(fact, jf.JobProgressed | jf.StepBegun):
            spent = fresh = 0
        assert spent <= wanted.retries
        assert fresh <= (1 if wanted.resume else wanted.retries), "a fresh start is made once, never in a loop"


@given(ORDERS, ACTS)
def test_a_conversation_is_resumed_only_if_it_is_known_young_and_not_worn_out(
    wanted: JobOrder, acts: list[Act]
) -> None:
    stage, seen = Stage(wanted, acts), 1
    while stage.turn():
        session, last, is_new = stage.session, stage.facts[-1], len(stage.facts) > seen
        seen = len(stage.facts)
        if not is_new or not isinstance(last, jf.RetryWanted) or session is None or last.how == "fresh":
            continue
        if not any(one.attempt for one in session.prompts):
            continue
        assert wanted.resume
        assert session.token is not None
        resumed = sum(one.how == "load" and one.opened and one.token == session.token for one in session.attempts)
        assert wanted.max_resumes is None or resumed < wanted.max_resumes
        opened = max(one.opened_at for one in session.attempts if one.token is not None)
        assert wanted.max_age is None or last.at - opened <= wanted.max_age


@given(ORDERS, ACTS)
def test_steps_run_in_order_each_in_one_session(wanted: JobOrder, acts: list[Act]) -> None:
    stage = Stage(wanted, acts).run()
    done: set[str] = set()
    begun: list[str] = []
    for fact in stage.facts:
        if isinstance(fact, jf.StepBegun):
            needs = next(one.needs for one in wanted.steps if one.name == fact.step)
            assert done.issuperset(needs)
            assert set(begun) == done, "one step at a time"
            begun.append(fact.step)
        elif isinstance(fact, jf.StepOver) and fact.how == "done":
            done.add(fact.step)
    assert len(begun) == len(set(begun)) == len(stage.sessions)


@given(ORDERS, ACTS)
def test_a_job_is_the_fold_of_its_facts_and_a_repeated_fact_changes_nothing(wanted: JobOrder, acts: list[Act]) -> None:
    stage = Stage(wanted, acts).run()
    job: Job | None = None
    for fact in stage.facts:
        job = evolve(job, fact)
        assert evolve(job, fact) == job
    assert job == stage.job == JOB.folded(stage.facts)


@given(ORDERS, ACTS)
def test_a_retry_that_was_made_is_not_made_again(wanted: JobOrder, acts: list[Act]) -> None:
    stage = Stage(wanted, acts)
    while stage.turn():
        if stage.effects and isinstance(stage.effects[-1], TryAgain):
            before = dict(stage.sessions)
            stage.perform(stage.effects[-1])
            assert stage.sessions == before
    tries = [one.number for one in stage.effects if isinstance(one, TryAgain)]
    assert len(tries) == len(set(tries))


@given(st.lists(st.floats(-90_000.0, 90_000.0), max_size=30), st.lists(st.booleans(), min_size=30, max_size=30))
def test_a_schedule_starts_each_of_its_times_at_most_once_whatever_the_clock_does(
    moves: list[float], busy: list[bool]
) -> None:
    job: Job = evolve(None, jf.JobSubmitted(at=0.0, job="j1", order=order(every="0 * * * *", zone="UTC")))
    now, runs, was_wrong = 1_000_000.0, list[str](), False
    for move, is_busy in zip([0.0, *moves], [False, *busy], strict=False):
        now += move
        was_wrong = was_wrong or (job.next_set_at is not None and job.next_set_at - now > 86_400)
        for _ in range(5):
            found = scheduled(job, now, lambda at: (at // 3600 + 1) * 3600, is_busy=is_busy)
            for fact in found:
                job = evolve(job, fact)
                assert isinstance(fact, jf.NextTimeSet)
                runs += [fact.job] if fact.job else []
        assert not scheduled(job, now, lambda at: (at // 3600 + 1) * 3600, is_busy=is_busy), "it comes to rest"
        assert job.next_at is not None
        assert job.next_at - now <= 90_000, "a clock that was wrong does not keep it waiting for long"
    assert len(runs) == len(set(runs)) or was_wrong  # a job of that id exists already, and is not started again


@pytest.mark.parametrize("hours", [1, 10, 1000])
def test_a_missed_time_runs_once_not_ten_times(hours: int) -> None:
    job: Job = evolve(None, jf.JobSubmitted(at=0.0, job="j1", order=order(every="0 * * * *", zone="UTC")))

    def next_after(at: float) -> float:
        return (at // 3600 + 1) * 3600

    for fact in scheduled(job, 0.0, next_after, is_busy=False):
        job = evolve(job, fact)
    now, started = 3600.0 * hours + 5, list[str]()
    while found := scheduled(job, now, next_after, is_busy=False):
        for fact in found:
            job = evolve(job, fact)
            assert isinstance(fact, jf.NextTimeSet)
            started.append(fact.job)
    assert len(started) == 1
    assert job.next_at == 3600.0 * (hours + 1)


def test_times_that_come_while_the_job_of_a_schedule_runs_start_one_job_when_it_has_ended() -> None:
    job: Job = evolve(None, jf.JobSubmitted(at=0.0, job="j1", order=order(every="0 * * * *", zone="UTC")))

    def next_after(at: float) -> float:
        return (at // 3600 + 1) * 3600

    for fact in scheduled(job, 0.0, next_after, is_busy=False):
        job = evolve(job, fact)
    for hours in (1, 2, 3):
        assert scheduled(job, 3600.0 * hours, next_after, is_busy=True) == [], "one job runs at a time"
    [late] = scheduled(job, 3600.0 * 3 + 60, next_after, is_busy=False)
    assert isinstance(late, jf.NextTimeSet)
    assert (bool(late.job), late.due, late.next_at) == (True, 3600.0, 3600.0 * 4)
