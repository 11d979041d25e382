"""One suite for what a runtime tells: this machine with real processes, and the fake world, keep the same promises."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator

import pytest

from tests.conformance.keepers_stage import SESSION, FakeStage, Stage, real_stage


@pytest.fixture(params=["processes", "fake"])
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    if request.param == "fake":
        yield FakeStage()
        return
    with real_stage(grace=0.5) as made:
        yield made


def play(stage: Stage, story: Coroutine[object, object, None]) -> None:
    async def played() -> None:
        try:
            await story
        finally:
            await stage.hang_up()

    asyncio.run(played())


def running(stage: Stage) -> list[tuple[str, int, str, bool]]:
    """What the next daemon finds, which has started nothing itself."""
    found = stage.another().recover_instances()
    return [(one.session, one.attempt, one.state, one.answers) for one in found]


def test_where_nothing_was_started_nothing_runs(stage: Stage) -> None:
    assert stage.keepers.recover_instances() == []


def test_each_session_that_has_an_agent_is_told_with_its_attempt_its_pid_and_who_owns_it(stage: Stage) -> None:
    async def story() -> None:
        pid = await stage.started()
        other = await stage.keepers.launch(stage.order(session="other"))
        assert running(stage) == [("other", 1, "alive", True), (SESSION, 1, "alive", True)]
        [second, first] = stage.another().recover_instances()
        assert (first.pid, second.pid) == (pid, other.pid)
        assert first.started is not None and first.owner not in (None, pid)

    play(stage, story())


def test_looking_takes_the_agent_from_nobody(stage: Stage) -> None:
    async def story() -> None:
        await stage.started()
        stage.another().recover_instances()
        await stage.keepers.send(SESSION, 1, "a", b"hello\n")
        await stage.says(b"hello\n")

    play(stage, story())


def test_an_agent_that_is_gone_is_not_told_and_the_attempt_behind_it_is(stage: Stage) -> None:
    async def story() -> None:
        await stage.started()
        stage.kill_agent()
        await stage.ended()
        assert running(stage) == []
        await stage.started(2, generation=2)
        assert running(stage) == [(SESSION, 2, "alive", True)]

    play(stage, story())


def test_what_nobody_owns_any_more_does_not_count_as_running(stage: Stage) -> None:
    async def story() -> None:
        await stage.started()
        stage.kill_keeper_and_guard()
        await stage.ended()
        assert running(stage) == []

    play(stage, story())


def test_a_keeper_that_lives_and_does_not_answer_is_told_so(stage: Stage) -> None:
    async def story() -> None:
        await stage.started()
        stage.stop_keeper()
        assert running(stage) == [(SESSION, 1, "alive", False)]

    play(stage, story())
