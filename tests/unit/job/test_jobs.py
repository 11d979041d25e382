"""Jobs and their steps: order, ends, cancellation, room, and what the record says."""

from __future__ import annotations

from itertools import pairwise

import pytest

from rekindle.core.job import facts as jf
from rekindle.core.job.order import StepOrder, in_order, session_of
from rekindle.core.job.plan import TryAgain, plan, wakes_at
from rekindle.core.job.react import could_not_begin, react
from rekindle.core.job.rules import job_rules
from rekindle.core.job.scheduling import has_room
from rekindle.core.runbook.limits import Limits
from rekindle.core.runbook.reaction import Reaction
from rekindle.core.runbook.runbook import Reactions
from rekindle.core.session import facts as f
from tests.job_stage import Stage, order, step

PIPELINE = (step("test", "test it", "build"), step("build", "build it"), step("ship", "ship it", "test"))


def statuses(stage: Stage) -> list[tuple[str, str]]:
    return [(one.name, one.status) for one in stage.record.steps]


def test_steps_run_one_after_the_other_each_in_a_session_of_its_own() -> None:
    stage = Stage(order(*PIPELINE)).run()
    assert statuses(stage) == [("build", "done"), ("test", "done"), ("ship", "done")]
    assert [text for _, text, _ in stage.said] == ["build it", "test it", "ship it"]
    assert len(stage.sessions) == 3
    assert (stage.record.status, stage.record.later_steps) == ("done", [])


def test_later_steps_follow_a_resumed_one_as_they_would_have() -> None:
    stage = Stage(order(*PIPELINE), ["die", "well", "timeout", "well", "well"]).run()
    assert stage.record.status == "done"
    assert [one.resume_count for one in stage.record.steps] == [1, 1, 0]
    begun = [one.step for one in stage.facts if isinstance(one, jf.StepBegun)]
    assert begun == ["build", "test", "ship"]


def test_a_failed_step_fails_the_job_and_names_what_was_not_run() -> None:
    stage = Stage(order(*PIPELINE, retries=1), ["well", "die", "die"]).run()
    assert statuses(stage) == [("build", "done"), ("test", "failed"), ("ship", "not_run")]
    assert (stage.record.status, stage.record.later_steps) == ("failed", ["ship"])
    assert stage.record.why.startswith("step test: ")
    assert len(stage.sessions) == 2


def test_a_retry_of_a_failed_pipeline_goes_on_with_its_failed_step_and_those_after_it() -> None:
    stage = Stage(order(*PIPELINE, retries=0), ["well", "die"]).run()
    stage.tell(jf.JobRetryAsked(at=stage.now, by="ada"))
    stage.run()
    assert statuses(stage) == [("build", "done"), ("test", "done"), ("ship", "done")]
    assert [text for _, text, _ in stage.said].count("build it") == 1


def test_each_step_has_the_whole_budget() -> None:
    stage = Stage(order(*PIPELINE, retries=1), ["die", "well", "die", "well", "die", "well"]).run()
    assert stage.record.status == "done"


def test_steps_that_need_one_another_are_refused() -> None:
    with pytest.raises(ValueError, match="need one another"):
        in_order((step("a", "x", "b"), step("b", "x", "a")))


def test_a_job_that_is_cancelled_before_it_began_starts_nothing() -> None:
    stage = Stage(order(not_before=99_999.0))
    stage.tell(jf.JobCancelAsked(at=stage.now, by="ada"))
    stage.run()
    assert (stage.record.status, stage.record.why, stage.sessions) == ("cancelled", "cancelled by ada", {})


def test_a_job_that_is_cancelled_while_it_works_ends_its_session_first() -> None:
    stage = Stage(order(*PIPELINE))
    while not stage.said:
        stage.turn()
    stage.tell(jf.JobCancelAsked(at=stage.now, by="ada"))
    stage.run()
    assert stage.record.status == "cancelled"
    assert statuses(stage) == [("build", "cancelled"), ("test", "not_run"), ("ship", "not_run")]
    assert [one.state for one in stage.sessions.values()] == ["CANCELLED"]


def test_a_job_whose_session_a_person_stops_is_cancelled_and_can_be_retried() -> None:
    stage = Stage(order(), ["die"])
    while stage.job.retry is None:
        stage.turn()
    stage.book(session_of(stage.job.id, "task"), f.StopAsked(at=stage.now, by="ada", to="cancelled"))
    stage.tell(jf.RetryWanted(at=stage.now, step="task", how="resume", why="", until=0, attempt=0, number=9))
    stage.run()
    assert (stage.record.status, stage.record.why) == ("cancelled", "its session was stopped by ada")
    stage.tell(jf.JobRetryAsked(at=stage.now, by="ada"))
    stage.run()
    assert stage.record.status == "done"


def test_a_job_waits_for_its_time_and_says_when() -> None:
    stage = Stage(order(not_before=5000.0))
    assert (stage.turn(), stage.record.status, stage.record.next_at) == (True, "queued", 5000.0)
    stage.run()
    assert stage.record.status == "done"
    assert stage.job.steps[0].begun_at is not None
    assert stage.job.steps[0].begun_at >= 5000.0


def test_a_job_with_a_question_waits_for_a_person_and_says_what_to_type() -> None:
    stage = Stage(order())
    while not stage.said:
        stage.turn()
    stage = Stage(order(), ["die"])
    while stage.session is None or stage.session.attempt is None or stage.session.attempt.status != "up":
        stage.turn()
    name = stage.session.id
    asked = f.PermissionAsked(
        at=stage.now, attempt=1, request="r", title="rm -rf", kind="execute", options=[("a", "Allow", "allow_once")]
    )
    stage.book(name, asked)
    assert (stage.record.status, stage.record.needs_you) == ("waiting", True)
    assert stage.record.next == f"rekindle answer {name}"


def test_a_retry_that_waits_is_queued_and_says_when_and_how() -> None:
    stage = Stage(order(retries=2), ["die", "die"])
    while stage.job.retries < 2:
        stage.turn()
    assert (stage.record.status, stage.record.retry, stage.record.retries_left) == ("queued", "resume", 0)
    assert stage.record.next_at == stage.job.retry.until if stage.job.retry is not None else False


def test_a_limit_that_is_reached_ends_the_job_without_another_try() -> None:
    stage = Stage(order())
    while not stage.sessions:
        stage.turn()
    [name] = stage.sessions
    stage.book(
        name, f.LimitReached(at=stage.now, over="it has cost $2"), f.StopAsked(at=stage.now, by="rekindle", to="asleep")
    )
    stage.run()
    assert (stage.record.status, stage.job.retries) == ("failed", 0)
    assert "it has cost $2" in stage.record.why


def test_the_most_urgent_job_has_room_first_and_waiting_for_a_person_takes_none() -> None:
    stages = [Stage(order(priority=number)) for number in (0, 5, 1)]
    jobs = []
    for number, stage in enumerate(stages):
        jobs.append(stage.job.__class__(f"j{number}", stage.job.order, 1000.0 + number, stage.job.steps))
    room = {one.id: has_room(one, jobs, 2000.0, at_once=1) for one in jobs}
    assert room == {"j0": False, "j1": True, "j2": False}
    busy = Stage(order())
    busy.turn()
    assert busy.job.has_begun
    assert not has_room(jobs[1], [*jobs, busy.job], 2000.0, at_once=1)
    assert has_room(jobs[1], [*jobs, busy.job], 2000.0, at_once=1, resting={busy.job.id})
    assert has_room(busy.job, [*jobs, busy.job], 2000.0, at_once=1)


def test_a_job_that_is_cancelled_when_its_work_is_complete_says_that_it_is_done() -> None:
    stage = Stage(order(step("build", "build it")))
    while not any(one.state == "COMPLETED" for one in stage.sessions.values()):
        stage.turn()
    stage.tell(jf.JobCancelAsked(at=stage.now, by="ada"))
    stage.run()
    assert (stage.record.status, statuses(stage)) == ("done", [("build", "done")])


def test_a_pipeline_that_is_cancelled_between_two_steps_keeps_the_one_that_is_done() -> None:
    stage = Stage(order(*PIPELINE))
    while not any(one.state == "COMPLETED" for one in stage.sessions.values()):
        stage.turn()
    stage.tell(jf.JobCancelAsked(at=stage.now, by="pid 7 on /dev/pts/1"))
    stage.run()
    assert statuses(stage) == [("build", "done"), ("test", "not_run"), ("ship", "not_run")]
    assert (stage.record.status, stage.record.why) == ("cancelled", "cancelled by hand")


@pytest.mark.parametrize("how", ["stopped", "failed"])
def test_a_job_goes_on_when_its_session_is_resumed_by_hand_and_later_steps_follow(how: str) -> None:
    stage = Stage(order(*PIPELINE, retries=0), ["well"] if how == "stopped" else ["well", "die"])
    name = session_of(stage.job.id, "test")
    while name not in stage.sessions:
        stage.turn()
    if how == "stopped":
        stage.book(name, f.StopAsked(at=stage.now, by="pid 7", to="cancelled"))
    stage.run()
    ended = ("cancelled", "its session was stopped by hand") if how == "stopped" else ("failed", stage.record.why)
    assert (stage.record.status, stage.record.why) == ended
    stage.book(name, f.ResumeAsked(at=stage.now, by="pid 8"))
    stage.run()
    assert statuses(stage) == [("build", "done"), ("test", "done"), ("ship", "done")]
    assert [text for _, text, _ in stage.said].count("build it") == 1


def test_a_job_that_was_cancelled_itself_stays_so_whoever_looks_into_its_session() -> None:
    stage = Stage(order(*PIPELINE))
    while not stage.said:
        stage.turn()
    stage.tell(jf.JobCancelAsked(at=stage.now, by="ada"))
    stage.run()
    stage.book(session_of(stage.job.id, "build"), f.ResumeAsked(at=stage.now, by="ada"))
    stage.run()
    assert stage.record.status == "cancelled", "its later steps are not to follow"


def test_a_step_whose_session_cannot_be_begun_is_tried_again_within_the_budget_and_says_why() -> None:
    stage = Stage(order(retries=2))
    stage.turn()
    times = list[float]()
    while stage.job.over is None:
        for fact in react(stage.job, None, stage.now, has_room=True):
            stage.tell(fact)
        if plan(stage.job, None, stage.now):
            times.append(stage.now)
            stage.tell(could_not_begin(stage.job, "task", "git is locked", stage.now, is_final=False))
            if stage.job.retry is not None:
                assert (stage.record.status, stage.record.next_at) == ("queued", stage.job.retry.until)
                assert stage.record.why == "git is locked; it is tried again"
                assert wakes_at(stage.job, None, stage.now) in (None, stage.job.retry.until)
        stage.now += 1.0
    assert [later - one for one, later in pairwise(times)] == [1.0, 5.0]
    assert (stage.record.status, stage.record.why) == ("failed", "git is locked")
    stage.tell(jf.JobRetryAsked(at=stage.now, by="ada"))
    stage.run()
    assert (stage.record.status, len(stage.said)) == ("done", 1)


def test_a_session_that_was_begun_at_the_second_try_is_not_brought_back_a_second_time() -> None:
    stage = Stage(order())
    stage.turn()
    stage.tell(could_not_begin(stage.job, "task", "git is locked", stage.now, is_final=False))
    stage.run()
    assert (stage.record.status, len(stage.said)) == ("done", 1)
    assert not any(isinstance(one, TryAgain) for one in stage.effects)


def test_a_step_that_was_ordered_wrongly_fails_at_once() -> None:
    stage = Stage(order())
    stage.turn()
    fact = could_not_begin(stage.job, "task", "there is no such folder", stage.now, is_final=True)
    assert isinstance(fact, jf.StepOver)


@pytest.mark.parametrize("dies", [False, True])
def test_a_job_whose_session_is_put_on_hold_waits_and_spends_no_try(dies: bool) -> None:
    stage = Stage(order(retries=3))
    while stage.session is None or stage.session.attempt is None or stage.session.attempt.status != "ready":
        stage.turn()
    name, at = stage.session.id, stage.now
    stage.book(
        name,
        f.PromptSent(at=at, attempt=1, prompt="p0", message=1, text="do it"),
        f.TurnFailed(at=at, attempt=1, prompt="p0", error="rate_limited", message="limit", retry_at=at + 1000),
        f.HoldAsked(at=at, by="ada"),
    )
    if dies:
        stage.book(name, f.Exited(at=at, attempt=1, how_ended="killed", by_us=False))
    stage.run()
    assert (stage.job.retries, stage.job.over) == (0, None)
    assert (stage.record.status, stage.record.why) == ("waiting", "its session is on hold")
    assert stage.record.next == f"rekindle resume {name}"
    stage.now += 2000
    stage.book(name, f.ResumeAsked(at=stage.now, by="ada") if dies else f.HoldLifted(at=stage.now, by="ada"))
    stage.run()
    assert stage.record.status == "done"


def test_a_retry_that_waits_for_its_time_is_not_made_while_the_session_is_on_hold() -> None:
    stage = Stage(order(retries=3), ["die", "die"])
    while stage.job.retries < 2:
        stage.turn()
    name = session_of(stage.job.id, "task")
    stage.book(name, f.HoldAsked(at=stage.now, by="ada"))
    stage.now += 1000
    attempts = len(stage.sessions[name].attempts)
    assert plan(stage.job, stage.session, stage.now) == []
    assert wakes_at(stage.job, stage.session, stage.now) is None, "nobody looks again and again"
    assert (stage.record.status, stage.record.why) == ("waiting", "its session is on hold")
    stage.book(name, f.ResumeAsked(at=stage.now, by="ada"))
    stage.run()
    assert (stage.record.status, len(stage.sessions[name].attempts)) == ("done", attempts + 1)


def in_turn(stage: Stage) -> str:
    """The session of a job whose agent has got its first prompt."""
    while stage.session is None or stage.session.attempt is None or stage.session.attempt.status != "ready":
        stage.turn()
    stage.book(stage.session.id, f.PromptSent(at=stage.now, attempt=1, prompt="p0", message=1, text="do it"))
    return stage.session.id


def test_an_agent_that_a_person_brings_back_after_its_job_has_failed_is_not_ended_at_once() -> None:
    stage = Stage(order(retries=0), ["error"])
    assert statuses(stage.run()) == [("task", "failed")]
    name = session_of(stage.job.id, "task")
    stage.book(name, f.ResumeAsked(at=stage.now, by="ada"))
    stage.run()
    assert (stage.sessions[name].is_up, stage.job.over) == (True, None)
    assert (stage.record.status, stage.record.next) == ("waiting", f'rekindle send {name} "how to go on"')
    stage.book(name, f.PromptQueued(at=stage.now, prompt="p9", text="try the other way"))
    stage.run()
    assert stage.record.status == "done"


def test_a_try_that_ended_while_its_agent_is_there_spends_one_retry_and_the_agent_sleeps_first() -> None:
    rules = job_rules("continue", Reactions(error=(Reaction("escalate", attempts=None),)), Limits())
    asks = StepOrder("task", "do it", "fake", cwd="/w", rules=rules)
    stage = Stage(order(asks, retries=3))
    name = in_turn(stage)
    failed = f.TurnFailed(at=stage.now, attempt=1, prompt="p0", error="other", message="no")
    stage.book(name, failed)
    asked = stage.sessions[name].escalation
    assert asked is not None
    stage.book(name, f.EscalationAnswered(at=stage.now, question=asked.id, option="leave", by="ada"))
    stage.run()
    wanted = [one for one in stage.facts if isinstance(one, jf.RetryWanted)]
    assert (len(wanted), stage.record.status, len(stage.sessions[name].attempts)) == (1, "done", 2)
