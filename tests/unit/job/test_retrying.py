"""The order of a retry: resume, else fresh with the original prompt, once; never a loop."""

from __future__ import annotations

import pytest

from rekindle.core.job import facts as jf
from rekindle.core.job.outcome import outcome
from rekindle.core.session import facts as f
from tests.job_stage import Act, Stage, order
from tests.sessions import booked, created


def hows(stage: Stage) -> list[str]:
    return [one.how for one in stage.facts if isinstance(one, jf.RetryWanted)]


def texts(stage: Stage) -> list[str]:
    return [text for _, text, _ in stage.said]


def test_a_job_whose_turn_ends_well_is_done_and_its_session_is_completed() -> None:
    stage = Stage(order()).run()
    assert (stage.record.status, stage.record.retries_left, hows(stage)) == ("done", 3, [])
    assert [one.state for one in stage.sessions.values()] == ["COMPLETED"]
    assert stage.record.claude_session_id is not None
    assert stage.record.claude_session_saved_at == int(1000 * next(iter(stage.sessions.values())).attempts[0].opened_at)


@pytest.mark.parametrize("act", ["die", "timeout"])
def test_a_job_that_was_cut_or_timed_out_queues_its_own_retry_that_resumes(act: Act) -> None:
    stage = Stage(order(), [act]).run()
    assert (stage.record.status, hows(stage), stage.record.resume_count) == ("done", ["resume"], 1)
    assert texts(stage)[0] == "do it"
    assert texts(stage)[1].startswith("Your process was interrupted"), "the cut turn is told to go on"
    assert len({one.token for one in stage.sessions.values()}) == 1


def test_a_turn_that_failed_is_told_so_in_the_same_conversation() -> None:
    stage = Stage(order(), ["error"]).run()
    assert (stage.record.status, hows(stage)) == ("done", ["resume"])
    assert texts(stage)[1].startswith("Your last turn ended early: other: no.")


def test_an_expired_token_is_not_used_and_the_original_prompt_is_given_to_a_fresh_conversation_once() -> None:
    stage = Stage(order(max_age=10.0), ["die", "die", "die"], seconds=30.0).run()
    assert hows(stage) == ["fresh"]
    assert texts(stage) == ["do it", "do it"]
    assert stage.record.status == "failed"
    assert "it was started fresh once already" in stage.record.why
    assert stage.record.retries_left == 2, "what is left is not spent on a loop"


def test_the_receipt_of_a_fresh_start_says_so_and_why() -> None:
    stage = Stage(order(max_age=10.0), ["die"], seconds=30.0).run()
    receipt = stage.record.receipt
    assert receipt is not None
    assert receipt.kind == "fresh"
    assert "may be resumed for 10 s" in receipt.reason


def test_a_conversation_that_was_resumed_too_often_is_begun_anew_once() -> None:
    stage = Stage(order(max_resumes=1, retries=5), ["die", "die", "well"]).run()
    assert (hows(stage), stage.record.status) == (["resume", "fresh"], "done")
    assert texts(stage)[2] == "do it"


def test_a_conversation_that_the_agent_has_lost_is_begun_anew_with_the_original_prompt() -> None:
    stage = Stage(order(), ["lose"]).run()
    assert (hows(stage), stage.record.status) == (["resume", "fresh"], "done")
    assert texts(stage) == ["do it", "do it"]
    assert stage.record.receipt is not None
    assert (stage.record.receipt.kind, "lost the conversation" in stage.record.receipt.reason) == ("fresh", True)


def test_a_job_whose_agent_dies_every_time_ends_when_its_retries_are_used_up() -> None:
    stage = Stage(order(retries=3), ["die"] * 50).run()
    assert (stage.record.status, hows(stage), stage.record.retries_left) == ("failed", ["resume"] * 3, 0)
    assert "tried again 3 times" in stage.record.why
    assert stage.record.next == "rekindle job retry j00000001"
    assert [one.state for one in stage.sessions.values()] == ["FAILED"]


def test_the_pauses_between_retries_grow() -> None:
    stage = Stage(order(retries=4), ["die"] * 50).run()
    waits = [one.until - one.at for one in stage.facts if isinstance(one, jf.RetryWanted)]
    assert waits == [0.0, 5.0, 30.0, 120.0]


def test_a_start_that_fails_sends_the_prompt_in_the_next_one() -> None:
    stage = Stage(order(), ["no_start"]).run()
    assert (hows(stage), texts(stage), stage.record.status) == (["resume"], ["do it"], "done")


def test_an_error_that_only_a_person_can_repair_is_not_tried_again() -> None:
    stage = Stage(order(), ["login"]).run()
    assert (stage.record.status, hows(stage)) == ("failed", [])
    assert stage.record.why.startswith("unauthorized")


def test_a_conversation_that_is_too_long_for_the_model_is_not_resumed() -> None:
    stage = Stage(order(), ["too_long"] * 40).run()
    assert "resume" not in hows(stage)[:-1]
    assert stage.record.status == "failed"


@pytest.mark.parametrize("policy", ["never", "ask"])
def test_without_the_policy_nothing_is_tried_again_by_itself(policy: str) -> None:
    stage = Stage(order(policy=policy), ["timeout"]).run()
    assert hows(stage) == []
    assert stage.record.status == ("failed" if policy == "never" else "waiting")


def test_each_retry_starts_fresh_where_that_is_asked_for() -> None:
    stage = Stage(order(resume=False, retries=2), ["die", "die", "die"]).run()
    assert (hows(stage), texts(stage)) == (["fresh", "fresh"], ["do it"] * 3)
    assert stage.record.status == "failed"


@pytest.mark.parametrize(("how", "expected"), [(None, "resume"), ("resume", "resume"), ("fresh", "fresh")])
def test_a_person_can_retry_a_failed_job_and_gives_the_whole_budget_back(how: jf.How | None, expected: str) -> None:
    stage = Stage(order(retries=0), ["die"]).run()
    assert stage.record.status == "failed"
    stage.tell(jf.JobRetryAsked(at=stage.now, by="ada", how=how))
    stage.run()
    assert (stage.record.status, hows(stage)) == ("done", [expected])
    assert (texts(stage)[-1] == "do it") == (expected == "fresh")


def test_a_retry_without_a_wish_starts_fresh_where_the_token_is_too_old() -> None:
    stage = Stage(order(retries=0, max_age=10.0), ["die"]).run()
    stage.now += 3600
    stage.tell(jf.JobRetryAsked(at=stage.now, by="ada"))
    stage.run()
    assert (stage.record.status, hows(stage)) == ("done", ["fresh"])


def test_a_conversation_that_was_left_for_a_summary_is_not_called_lost_nor_started_over() -> None:
    stage = Stage(order(), ["die"])
    while not (session := stage.session) or session.token is None or not stage.said:
        stage.turn()
    left = f.ConversationLeft(at=stage.now, token=str(session.token), why="full", dehydrated=True)
    stage.book(session.id, left)
    stage.run()
    assert hows(stage) == ["resume"]
    assert [one.how for one in stage.sessions[session.id].attempts] == ["new", "new"]


def test_a_session_that_failed_before_it_had_its_prompt_has_ended_and_its_job_does_not_wait_for_ever() -> None:
    begun: list[f.AnyFact] = [
        created("s"),
        f.LaunchIntended(at=2.0, attempt=1, generation=1, how="new"),
        f.LaunchFailed(at=2.0, attempt=1, message="the folder is gone"),
        f.StopAsked(at=2.0, by="rekindle", to="failed"),
    ]
    assert outcome(booked(begun[:1])).kind == "working", "it is being begun"
    found = outcome(booked(begun))
    assert (found.kind, found.why) == ("ended", "the folder is gone")
