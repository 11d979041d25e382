"""Crash schedules over fakes for a context window that fills up: whatever dies when, it comes to the same end.

The prompt that waited is executed once, in a new conversation, with the context before it, once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from rekindle.core.session import facts as f
from rekindle.core.session.history import request_of
from rekindle.runtime.supervisor import Supervisor
from tests.crash.test_schedules import SESSION, Life, Schedule, Story
from tests.fakes.keepers import FILLING

HEADING = "## Session Recovery (Dehydrated Context)"


def story() -> Story:
    async def told(supervisor: Supervisor) -> None:
        engine = supervisor.engine
        if not await engine.all_sessions():
            limits = f.Limits(dehydrate_at=0.76)
            await engine.create(
                f.Created(at=0, session=SESSION, agent="fake", cwd="/", policy="continue", limits=limits)
            )
        for number, text in enumerate((FILLING, "two")):
            await engine.record(SESSION, f.PromptQueued(at=0, prompt=f"p{number}", text=text))

    return told


async def _here(work: Callable[..., Any], *given: Any) -> Any:
    """No threads: these schedules count steps of one loop."""
    return work(*given)


def lived(schedule: Schedule) -> Life:
    life = Life(schedule)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "to_thread", _here)
        life.live(story())
        if schedule.killed_at is not None:  # what waits for its time goes on when that has come
            for _ in range(2):
                life.now += 600.0
                life.live(story())
    return life


def comes_to_the_same_end(life: Life) -> None:
    texts = [text for _, text in life.world.executed]
    assert texts.count(FILLING) == 1
    second = [text for text in texts if request_of(text) == "two"]
    assert len(second) == 1 and second[0].count(HEADING) == 1, "executed once, with the context once"
    first, *later = [one.prompts for one in life.world.conversations.values() if one.prompts]
    assert FILLING in first and not any(request_of(text) == "two" for text in first)
    assert any(second[0] in prompts for prompts in later), "in a new conversation"
    assert life.world.most_alive <= 1


def test_undisturbed_the_second_prompt_goes_to_a_new_conversation() -> None:
    comes_to_the_same_end(lived(Schedule()))


POINTS = lived(Schedule()).schedule.passed


def test_there_are_enough_moments_to_die_at() -> None:
    assert POINTS > 20


@pytest.mark.parametrize("at", range(POINTS))
def test_a_daemon_that_dies_at_any_moment(at: int) -> None:
    comes_to_the_same_end(lived(Schedule((at,))))


@pytest.mark.parametrize("at", range(POINTS))
@pytest.mark.parametrize("busy", [False, True])
def test_an_agent_that_dies_at_any_moment(at: int, busy: bool) -> None:
    life = lived(Schedule(killed_at=at, busy=busy))
    texts = [text for _, text in life.world.executed]
    assert sum(request_of(text) == "two" for text in texts) >= 1
    assert all(text.count(HEADING) <= 1 for text in texts)
    assert life.world.most_alive <= 1
