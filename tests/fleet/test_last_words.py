"""A prompt that comes while a job's session is being ended: whoever was told that it is recorded gets it delivered.

Between a job's decision that its step is done and the end of the agent lies the time that the agent takes to end.
"""

from __future__ import annotations

import asyncio

import pytest

from rekindle.app.sending import sent_to
from rekindle.core.job.outcome import outcome
from rekindle.core.session import facts as f
from rekindle.core.session.plan import wants_agent
from rekindle.core.session.react import taken
from rekindle.core.session.state import OURS, Session
from rekindle.ports.errors import UsageError
from tests.sessions import created
from tests.unit.test_driving import Stage, played

LATE = f.PromptQueued(at=9.0, prompt="late", text="one more thing")


def being_ended(by: str, to: str) -> Session:
    """A session whose only turn has ended well, and whose agent is ending."""
    session, _ = taken(
        None,
        [
            created("s"),
            f.PromptQueued(at=1.0, prompt="p", text="do it"),
            f.LaunchIntended(at=2.0, attempt=1, generation=1, how="new"),
            f.Launched(at=3.0, attempt=1, folder="", pid=1),
            f.Opened(at=4.0, attempt=1, how="new", token="tok"),
            f.PromptSent(at=5.0, attempt=1, prompt="p", message=1, text="do it"),
            f.TurnFinished(at=6.0, attempt=1, prompt="p", stop_reason="end_turn"),
            f.StopAsked(at=7.0, by=by, to=to),  # type: ignore[arg-type]
        ],
    )
    return session


def test_a_prompt_that_comes_while_a_finished_session_is_being_ended_is_delivered_by_its_next_agent() -> None:
    session = being_ended(OURS, "completed")
    assert session.is_up
    told, _ = taken(session, sent_to(session, LATE))
    assert outcome(told).kind == "working", "its job is not done"
    gone, _ = taken(told, [f.Exited(at=10.0, attempt=1, how_ended="exit code 0", by_us=True)])
    assert [one.id for one in gone.queued] == ["late"] and wants_agent(gone)
    assert outcome(gone).kind == "working"


@pytest.mark.parametrize(("by", "to"), [("alice", "cancelled"), ("alice", "completed"), (OURS, "failed")])
def test_a_prompt_to_a_session_that_ends_for_good_is_refused_and_not_recorded(by: str, to: str) -> None:
    with pytest.raises(UsageError, match=f"is {to}"):
        sent_to(being_ended(by, to), LATE)


def test_a_drive_does_not_end_as_over_while_it_has_a_prompt_that_nobody_was_given() -> None:
    async def story(stage: Stage) -> None:
        end, said, speaking = stage.keepers.end, list[str](), list[asyncio.Task[Session]]()

        async def slowly(session: str, attempt: int, reason: str) -> None:
            if not said:
                said.append(session)
                speaking.append(asyncio.create_task(stage.supervisor.decide(session, lambda now: sent_to(now, LATE))))
                while not stage.engine.session(session).queued:
                    await asyncio.sleep(0)
            await end(session, attempt, reason)

        stage.keepers.end = slowly  # type: ignore[method-assign]
        drive = stage.drive()
        await stage.until(drive.done)
        assert [text for _, text in stage.world.executed] == ["do it", "one more thing"]
        assert drive.result().result == "done" and stage.alive == []

    played(story)
