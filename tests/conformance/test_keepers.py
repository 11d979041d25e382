"""One suite for the keepers port: real processes and the fake world keep the same promises."""

from __future__ import annotations

import asyncio
import functools
import shutil
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from rekindle.keeper.deadline import clock
from rekindle.ports.errors import OwnedError, RekindleError
from rekindle.ports.keepers import (
    Ended,
    KeeperLost,
    Lost,
    NoRoomForTurn,
    NoRoomToStart,
    Output,
    ProgramMissing,
    Sent,
)
from rekindle.ports.store import StaleGeneration
from tests.conformance.keepers_stage import SESSION, FakeStage, Followed, Stage, real_stage

BIG = b"x" * 200_000 + b"\n"


NAMES = ["processes", "fake"]


@pytest.fixture(params=[("processes", {}), ("fake", {})], ids=NAMES)
def stage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setattr("rekindle.adapters.keepers.start._LOOKS", 3)  # how often a start looks whether it may begin
    name, options = request.param
    if name == "fake":
        yield FakeStage()
        return
    with real_stage(**options) as made:
        yield made


def staged(**options: Any) -> pytest.MarkDecorator:
    """The real stage of a test has something of its own."""
    params = [("processes", options), ("fake", {})]
    return pytest.mark.parametrize("stage", params, ids=NAMES, indirect=True)


def played(story: Callable[[Stage], Coroutine[Any, Any, None]]) -> Callable[[Stage], None]:
    """A story as a test: it has a loop of its own."""

    @functools.wraps(story)
    def test(stage: Stage) -> None:
        _play(stage, story(stage))

    return test


def _play(stage: Stage, story: Coroutine[Any, Any, None]) -> None:
    async def play() -> None:
        try:
            await story
        finally:
            await stage.hang_up()

    asyncio.run(play())


# Starting


@played
async def test_an_attempt_is_absent_until_it_is_started_and_then_alive(stage: Stage) -> None:
    assert stage.keepers.look(SESSION, 1) == "absent"
    running = await stage.keepers.launch(stage.order())
    assert stage.keepers.look(SESSION, 1) == "alive"
    assert stage.is_running(running.pid)
    assert stage.keepers.look(SESSION, 2) == "absent"


@played
async def test_a_start_that_is_asked_for_again_by_anybody_starts_nothing(stage: Stage) -> None:
    running = await stage.keepers.launch(stage.order())
    assert await stage.keepers.launch(stage.order()) == running
    assert await stage.another().launch(stage.order(generation=2)) == running
    assert stage.keepers.look(SESSION, 1) == "alive"


@played
async def test_an_attempt_that_has_run_is_not_started_again(stage: Stage) -> None:
    pid = await stage.started()
    await stage.keepers.send(SESSION, 1, "a", b"exit 0\n")
    await stage.gone()
    for keepers in (stage.keepers, stage.another()):
        assert (await keepers.launch(stage.order())).pid == pid
        assert keepers.look(SESSION, 1) == "gone"


@played
async def test_a_session_has_one_agent_at_a_time(stage: Stage) -> None:
    pid = await stage.started()
    with pytest.raises(OwnedError):
        await stage.another().launch(stage.order(2, generation=2))
    assert stage.keepers.look(SESSION, 2) == "absent"
    assert stage.is_running(pid)
    stage.kill_agent()
    assert not (await stage.ended()).by_us
    assert await stage.started(2, generation=2) != 0
    assert (stage.keepers.look(SESSION, 1), stage.keepers.look(SESSION, 2)) == ("gone", "alive")


@played
async def test_sessions_do_not_hear_each_other(stage: Stage) -> None:
    await stage.started()
    await stage.keepers.launch(stage.order(session="other"))
    assert await stage.keepers.connect("other", 1, 1)
    assert await stage.keepers.send("other", 1, "a", b"theirs\n") == 1
    assert await stage.keepers.send(SESSION, 1, "a", b"ours\n") == 1
    await stage.says(b"ours\n")
    await stage.until(lambda: stage.keepers.heard("other", 1) == b"theirs\n")


@played
async def test_what_is_missing_for_a_start_is_told_and_such_a_start_leaves_nothing_that_runs(stage: Stage) -> None:
    order = stage.order()
    assert stage.keepers.obstacle(order) is None
    stage.take_program_away()
    assert "agent" in (stage.keepers.obstacle(order) or "")
    assert stage.keepers.look(SESSION, 1) == "absent", "a look starts nothing"
    with pytest.raises(ProgramMissing):
        await stage.keepers.launch(order)
    stage.bring_program_back()
    assert stage.keepers.obstacle(order) is None
    for keepers in (stage.keepers, stage.another()):
        with pytest.raises(RekindleError):
            await keepers.launch(order)  # that attempt is over: it is on record that it never ran
        assert keepers.look(SESSION, 1) == "gone"
        assert not await keepers.connect(SESSION, 1, 1)
        assert (list(keepers.sent(SESSION, 1)), keepers.heard(SESSION, 1)) == ([], b"")
        [ended] = await stage.followed(keepers=keepers)
        assert isinstance(ended, Ended)
        assert (ended.by_us, ended.delivered, ended.started) == (False, 0, 0)
    await stage.started(2, generation=2)


@staged(disk="40m")
@played
async def test_a_full_disk_refuses_a_start_and_the_same_attempt_can_be_started_later(stage: Stage) -> None:
    stage.fill_disk()
    assert stage.keepers.obstacle(stage.order()) is not None
    with pytest.raises(NoRoomToStart):
        await stage.keepers.launch(stage.order())
    assert stage.keepers.look(SESSION, 1) != "alive"
    assert not await stage.keepers.connect(SESSION, 1, 1)
    stage.free_disk()
    assert stage.keepers.obstacle(stage.order()) is None
    await stage.started()


@pytest.mark.skipif(shutil.which("tmux") is None, reason="NOT TESTED: terminals need tmux")
@played
async def test_an_agent_in_a_terminal_is_spoken_to_and_heard_too(stage: Stage) -> None:
    await stage.keepers.launch(stage.order(terminal=True))
    assert await stage.keepers.connect(SESSION, 1, 1)
    assert await stage.keepers.send(SESSION, 1, "a", b"hello\n") == 1
    await stage.until(lambda: b"hello" in stage.keepers.heard(SESSION, 1))
    await stage.keepers.end(SESSION, 1, "enough")
    assert (await stage.ended()).by_us


# Who speaks


@played
async def test_nobody_answers_for_an_attempt_that_is_not_there(stage: Stage) -> None:
    assert not await stage.keepers.connect(SESSION, 1, 1)
    with pytest.raises(KeeperLost):
        await stage.keepers.send(SESSION, 1, "a", b"x\n")
    await stage.keepers.end(SESSION, 1, "nobody is there")
    assert (list(stage.keepers.sent(SESSION, 1)), stage.keepers.heard(SESSION, 1)) == ([], b"")
    assert [type(one) for one in await stage.followed()] == [Ended]
    assert stage.keepers.look(SESSION, 1) == "absent"


@played
async def test_connecting_again_with_the_same_generation_changes_nothing(stage: Stage) -> None:
    await stage.started()
    assert await stage.keepers.send(SESSION, 1, "a", b"one\n") == 1
    for keepers in (stage.keepers, stage.another()):
        assert await keepers.connect(SESSION, 1, 1)
        assert await keepers.send(SESSION, 1, "a", b"one\n") == 1
    await stage.says(b"one\n")


@played
async def test_a_lower_generation_is_refused_and_the_higher_one_speaks_on(stage: Stage) -> None:
    await stage.started()
    newer = stage.another()
    assert await newer.connect(SESSION, 1, 5)
    for generation in (1, 4):
        with pytest.raises(StaleGeneration):
            await stage.another().connect(SESSION, 1, generation)
    assert await newer.send(SESSION, 1, "a", b"newer\n") == 1
    assert await stage.another().connect(SESSION, 1, 6)


@played
async def test_a_writer_that_was_overtaken_can_neither_speak_nor_end(stage: Stage) -> None:
    pid = await stage.started()
    assert await stage.keepers.send(SESSION, 1, "a", b"one\n") == 1
    newer = stage.another()
    assert await newer.connect(SESSION, 1, 2)
    with pytest.raises(StaleGeneration):
        await stage.keepers.send(SESSION, 1, "b", b"stale\n")
    with pytest.raises(StaleGeneration):
        await stage.keepers.end(SESSION, 1, "stale")
    assert [one.id for one in newer.sent(SESSION, 1)] == ["a"]
    assert await newer.send(SESSION, 1, "c", b"two\n") == 2
    await stage.says(b"one\ntwo\n")
    assert stage.is_running(pid)


@played
async def test_who_connects_with_a_higher_generation_shuts_out_all_below_it_at_once(stage: Stage) -> None:
    await stage.started()
    assert await stage.keepers.connect(SESSION, 1, 3)
    with pytest.raises(StaleGeneration):
        await stage.another().connect(SESSION, 1, 2)
    with pytest.raises(StaleGeneration):
        await stage.keepers.connect(SESSION, 1, 1)
    assert await stage.keepers.send(SESSION, 1, "a", b"x\n") == 1, "a refused connection takes nothing away"


@played
async def test_who_never_connected_cannot_speak(stage: Stage) -> None:
    await stage.started()
    stranger = stage.another()
    with pytest.raises(StaleGeneration):
        await stranger.send(SESSION, 1, "a", b"x\n")
    with pytest.raises(StaleGeneration):
        await stranger.end(SESSION, 1, "who am I")
    assert list(stage.keepers.sent(SESSION, 1)) == []
    assert stage.keepers.look(SESSION, 1) == "alive"


# Speaking


@played
async def test_messages_are_numbered_from_one_and_kept_as_they_were_sent(stage: Stage) -> None:
    await stage.started()
    said = [("a", b"one\n"), ("b", b"no answer\n"), ("\u00e9 / \u2028", b"two\nthree\n"), ("d", "\u00e9\n".encode())]
    numbers = [await stage.keepers.send(SESSION, 1, name, payload) for name, payload in said]
    assert numbers == [1, 2, 3, 4]
    expected = [Sent(number, *one) for number, one in enumerate(said, 1)]
    assert list(stage.keepers.sent(SESSION, 1)) == expected
    assert list(stage.another().sent(SESSION, 1)) == expected
    await stage.says("one\ntwo\nthree\n\u00e9\n".encode())
    stage.kill_agent()
    await stage.ended()
    assert list(stage.another().sent(SESSION, 1)) == expected, "it outlives the agent"


@played
async def test_a_message_that_is_sent_again_by_anybody_is_delivered_once(stage: Stage) -> None:
    await stage.started()
    assert await stage.keepers.send(SESSION, 1, "a", b"one\n") == 1
    assert await stage.keepers.send(SESSION, 1, "b", b"two\n") == 2
    assert await stage.keepers.send(SESSION, 1, "a", b"one\n") == 1
    newer = stage.another()
    assert await newer.connect(SESSION, 1, 2)
    assert [await newer.send(SESSION, 1, name, text) for name, text in (("b", b"two\n"), ("c", b"three\n"))] == [2, 3]
    assert [one.id for one in newer.sent(SESSION, 1)] == ["a", "b", "c"]
    await stage.says(b"one\ntwo\nthree\n")


@played
async def test_an_id_stands_for_one_text_for_good(stage: Stage) -> None:
    await stage.started()
    await stage.keepers.send(SESSION, 1, "a", b"one\n")
    with pytest.raises(RekindleError):
        await stage.keepers.send(SESSION, 1, "a", b"another\n")
    assert list(stage.keepers.sent(SESSION, 1)) == [Sent(1, "a", b"one\n")]
    assert await stage.keepers.send(SESSION, 1, "b", b"two\n") == 2
    await stage.says(b"one\ntwo\n")


@played
async def test_each_attempt_has_numbers_and_ids_of_its_own(stage: Stage) -> None:
    await stage.started()
    await stage.keepers.send(SESSION, 1, "a", b"exit 0\n")
    await stage.ended()
    await stage.started(2, generation=2)
    assert list(stage.keepers.sent(SESSION, 2)) == []
    assert await stage.keepers.send(SESSION, 2, "a", b"again\n") == 1
    await stage.says(b"again\n", attempt=2)
    assert [one.payload for one in stage.keepers.sent(SESSION, 1)] == [b"exit 0\n"]


@played
async def test_a_dead_agent_takes_no_message(stage: Stage) -> None:
    await stage.started()
    await stage.keepers.send(SESSION, 1, "a", b"one\n")
    stage.kill_agent()
    await stage.gone()
    assert not await stage.keepers.connect(SESSION, 1, 1)
    for name, text in (("a", b"one\n"), ("b", b"two\n")):
        with pytest.raises(KeeperLost):
            await stage.keepers.send(SESSION, 1, name, text)
    assert not await stage.another().connect(SESSION, 1, 2)
    assert [one.id for one in stage.keepers.sent(SESSION, 1)] == ["a"]


@played
async def test_an_agent_that_is_being_ended_takes_no_new_message_and_old_ones_are_still_answered(stage: Stage) -> None:
    await stage.started()
    await stage.keepers.send(SESSION, 1, "a", b"one\n")
    await stage.says(b"one\n")
    stage.freeze()
    await stage.keepers.end(SESSION, 1, "enough")
    assert stage.keepers.look(SESSION, 1) == "alive"
    with pytest.raises(KeeperLost):
        await stage.keepers.send(SESSION, 1, "b", b"two\n")
    assert await stage.keepers.send(SESSION, 1, "a", b"one\n") == 1
    assert [one.id for one in stage.keepers.sent(SESSION, 1)] == ["a"]


@staged(disk="40m")
@played
async def test_a_full_disk_refuses_a_turn_loses_nothing_and_goes_on_when_there_is_room(stage: Stage) -> None:
    await stage.started()
    assert await stage.keepers.send(SESSION, 1, "a", b"one\n") == 1
    stage.freeze()
    stage.fill_disk()
    more = b"y" * (2 << 20)
    with pytest.raises(NoRoomForTurn):
        await stage.keepers.send(SESSION, 1, "b", more)
    assert [one.id for one in stage.keepers.sent(SESSION, 1)] == ["a"]
    assert await stage.keepers.send(SESSION, 1, "a", b"one\n") == 1
    assert stage.keepers.look(SESSION, 1) == "alive"
    stage.free_disk()
    assert await stage.keepers.send(SESSION, 1, "b", more) == 2


# Listening


@played
async def test_what_the_agent_says_is_told_as_it_comes_and_its_end_last(stage: Stage) -> None:
    await stage.started()
    items, task = stage.following()
    for number, text in enumerate((b"one\n", b"two\n"), 1):
        await stage.keepers.send(SESSION, 1, str(number), text)
        await stage.until(lambda text=text: items and _said(items).endswith(text))  # type: ignore[misc]
    assert not task.done()
    await stage.keepers.send(SESSION, 1, "last", b"three\nexit 3\n")
    await stage.until(task.done)
    assert _said(items) == b"one\ntwo\nthree\n" == stage.keepers.heard(SESSION, 1)
    assert [type(one) for one in items] == [*[Output] * (len(items) - 1), Ended]
    offset = 0
    for one in items[:-1]:
        assert isinstance(one, Output)
        offset += len(one.data)
        assert one.offset == offset


def test_words_and_the_end_of_an_agent_wake_who_follows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would live to see the next look: who follows has to be told."""
    monkeypatch.setattr("rekindle.adapters.keepers.keeper_process._TOLD_SECONDS", 3600.0)

    async def story(stage: Stage) -> None:
        await stage.started()
        items, task = stage.following()
        for number, text in enumerate((b"one\n", b"two\n"), 1):
            await stage.keepers.send(SESSION, 1, str(number), text)
            await stage.until(lambda text=text: items and _said(items).endswith(text))  # type: ignore[misc]
        stage.kill_agent()
        await stage.until(task.done)
        assert isinstance(items[-1], Ended)

    with real_stage() as stage:
        _play(stage, story(stage))


@played
async def test_when_the_agent_last_spoke_is_a_time_if_anybody_knows_and_none_before_it_has_spoken(stage: Stage) -> None:
    assert stage.keepers.heard_at(SESSION, 1) is None
    before = time.time()
    await stage.started()
    assert stage.keepers.heard_at(SESSION, 1) is None
    await stage.keepers.send(SESSION, 1, "a", b"one\n")
    await stage.says(b"one\n")
    first = stage.another().heard_at(SESSION, 1)
    assert first is None or before - 1 <= first <= time.time() + 1
    await stage.keepers.send(SESSION, 1, "b", b"two\n")
    await stage.says(b"one\ntwo\n")
    second = stage.keepers.heard_at(SESSION, 1)
    assert (first is None) == (second is None)
    assert first is None or second is None or second >= first


def _said(items: Followed) -> bytes:
    return b"".join(one.data for one in items if isinstance(one, Output))


@played
async def test_it_is_followed_from_any_offset_by_anybody_however_late(stage: Stage) -> None:
    await stage.started()
    await stage.keepers.send(SESSION, 1, "a", b"0123456789\n")
    await stage.says(b"0123456789\n")
    await stage.keepers.send(SESSION, 1, "b", b"exit 0\n")
    await stage.gone()
    for keepers in (stage.keepers, stage.another()):
        for offset in (0, 4, 11):
            *output, end = await stage.followed(offset, keepers=keepers)
            assert _said(output) == b"0123456789\n"[offset:]
            assert [one.offset for one in output if isinstance(one, Output)][-1:] == ([11] if offset < 11 else [])
            assert isinstance(end, Ended)
            assert (end.how, end.delivered, end.started, end.truncated) == ("exited with 0", 2, 2, 0)


@played
async def test_what_was_cut_off_before_it_was_read_is_told_and_what_comes_then_is_read(stage: Stage) -> None:
    await stage.started()
    await stage.keepers.send(SESSION, 1, "a", b"one two\n")
    await stage.says(b"one two\n")
    items, task = stage.following()
    await stage.until(lambda: _said(items) == b"one two\n")
    stage.shorten(3)
    await stage.until(lambda: any(isinstance(one, Lost) for one in items))
    await stage.keepers.send(SESSION, 1, "b", b"three\n")
    await stage.until(lambda: len(_said(items)) > 8)
    await stage.keepers.end(SESSION, 1, "enough")
    await stage.until(task.done)
    assert [one for one in items if isinstance(one, Lost)] == [Lost(5)]
    [after] = [one for one in items[items.index(Lost(5)) :] if isinstance(one, Output)]
    assert (after.data, after.offset) == (b"three\n", 9)
    assert isinstance(items[-1], Ended)
    assert items[-1].truncated == 5


# Ending


@played
async def test_an_end_of_its_own_is_told_with_its_code(stage: Stage) -> None:
    await stage.started()
    await stage.keepers.send(SESSION, 1, "a", b"exit 3\n")
    ended = await stage.ended()
    assert (ended.how, ended.by_us, ended.delivered, ended.started) == ("exited with 3", False, 1, 1)
    assert ended.swept == ()


@played
async def test_an_end_that_we_ask_for_is_told_as_ours_with_its_reason(stage: Stage) -> None:
    pid = await stage.started()
    await stage.keepers.end(SESSION, 1, "the user asked")
    await stage.keepers.end(SESSION, 1, "and asked again")
    ended = await stage.ended()
    assert (ended.how, ended.by_us, ended.delivered, ended.started) == ("stopped (the user asked)", True, 0, 0)
    assert not stage.is_running(pid)
    await stage.keepers.end(SESSION, 1, "it is gone")
    await stage.another().end(SESSION, 1, "it is gone")
    assert stage.keepers.look(SESSION, 1) == "gone"


@played
async def test_a_killed_agent_had_what_was_delivered_and_nobody_knows_what_it_did_with_it(stage: Stage) -> None:
    await stage.started()
    stage.freeze()
    assert await stage.keepers.send(SESSION, 1, "a", b"one\n") == 1
    assert await stage.keepers.send(SESSION, 1, "b", b"two\n") == 2
    stage.kill_agent()
    ended = await stage.ended()
    assert (ended.how, ended.by_us, ended.delivered, ended.started) == ("killed by SIGKILL", False, 2, 2)
    assert stage.keepers.heard(SESSION, 1) == b""


@staged(grace=0.3)
@pytest.mark.parametrize("victim", ["agent", "keeper", "keeper and guard"])
def test_a_message_that_was_cut_off_is_told_from_those_before_and_those_behind(stage: Stage, victim: str) -> None:
    async def story() -> None:
        await stage.started()
        await stage.keepers.send(SESSION, 1, "a", b"one\n")
        await stage.says(b"one\n")
        stage.freeze()
        numbers = [await stage.keepers.send(SESSION, 1, name, BIG) for name in "bcd"]
        assert numbers == [2, 3, 4]
        {
            "agent": stage.kill_agent,
            "keeper": stage.kill_keeper,
            "keeper and guard": stage.kill_keeper_and_guard,
        }[victim]()
        ended = await stage.ended()
        assert (ended.by_us, ended.delivered, ended.started) == (False, 1, 2)
        assert [one.number for one in stage.another().sent(SESSION, 1)] == [1, 2, 3, 4]

    _play(stage, story())


@played
async def test_an_agent_does_not_outlive_its_keeper(stage: Stage) -> None:
    pid = await stage.started()
    await stage.keepers.send(SESSION, 1, "a", b"one\n")
    await stage.says(b"one\n")
    stage.kill_keeper()
    ended = await stage.ended()
    assert (ended.how, ended.by_us, ended.delivered) == ("its keeper was killed", False, 1)
    assert not stage.is_running(pid)
    assert stage.keepers.look(SESSION, 1) == "gone"
    assert not await stage.another().connect(SESSION, 1, 2)
    with pytest.raises(KeeperLost):
        await stage.keepers.send(SESSION, 1, "b", b"two\n")
    assert stage.keepers.heard(SESSION, 1) == b"one\n"


@played
async def test_nothing_of_an_agent_is_left_when_its_end_is_told_even_if_all_who_watched_it_were_killed(
    stage: Stage,
) -> None:
    pid = await stage.started()
    await stage.keepers.send(SESSION, 1, "a", b"child\n")
    await stage.until(lambda: b"child" in stage.keepers.heard(SESSION, 1))
    stage.kill_keeper_and_guard()
    ended = await stage.ended()
    assert (ended.how, ended.by_us, ended.delivered) == ("its guard and keeper were killed", False, 1)
    assert not stage.is_running(pid)
    assert not stage.child_runs()
    assert "sleep" in ended.swept
    await stage.started(2, generation=2)


@played
async def test_a_dead_agent_is_ending_as_long_as_something_of_it_is_left(stage: Stage) -> None:
    await stage.started()
    await stage.keepers.send(SESSION, 1, "a", b"child\n")
    await stage.until(lambda: b"child" in stage.keepers.heard(SESSION, 1))
    stage.kill_agent()
    await stage.until(lambda: stage.keepers.look(SESSION, 1) == "ending")
    assert await stage.another().connect(SESSION, 1, 1), "its keeper lives"
    with pytest.raises(KeeperLost):
        await stage.keepers.send(SESSION, 1, "b", b"two\n")
    with pytest.raises(OwnedError):
        await stage.keepers.launch(stage.order(2, generation=2))
    stage.kill_child()
    assert (await stage.ended()).how == "killed by SIGKILL"
    assert stage.keepers.look(SESSION, 1) == "gone"


@staged(grace=0.2)
@played
async def test_what_an_agent_leaves_behind_is_ended_with_it_and_named(stage: Stage) -> None:
    await stage.started()
    await stage.keepers.send(SESSION, 1, "a", b"child\n")
    await stage.until(lambda: b"child" in stage.keepers.heard(SESSION, 1))
    await stage.keepers.end(SESSION, 1, "enough")
    ended = await stage.ended()
    assert (ended.how, ended.by_us, ended.swept) == ("stopped (enough)", True, ("sleep",))
    assert not stage.child_runs()


# Deadlines, in a fleet


@played
async def test_an_agent_with_a_deadline_is_ended_when_it_passes_and_that_is_not_called_a_stop(stage: Stage) -> None:
    await stage.keepers.launch(stage.order(until=clock() + 1.5))
    assert await stage.keepers.connect(SESSION, 1, 1)
    assert stage.keepers.look(SESSION, 1) == "alive"
    ended = await stage.ended()
    assert (ended.how, ended.by_us) == ("deadline passed", False)
    with pytest.raises(KeeperLost):
        await stage.keepers.renew(SESSION, 1, clock() + 60)
    assert stage.keepers.look(SESSION, 1) == "gone"


@played
async def test_a_deadline_is_put_off_and_never_comes_closer(stage: Stage) -> None:
    await stage.keepers.launch(stage.order(until=clock() + 20))
    assert await stage.keepers.connect(SESSION, 1, 1)
    await stage.keepers.renew(SESSION, 1, clock() + 600)
    await stage.keepers.renew(SESSION, 1, clock() + 0.001)  # an answer that was long on its way
    late = stage.another()
    assert await late.connect(SESSION, 1, 2)
    await late.renew(SESSION, 1, clock() + 600)
    with pytest.raises(StaleGeneration):
        await stage.keepers.renew(SESSION, 1, clock() + 600)
    assert stage.keepers.look(SESSION, 1) == "alive"
    await late.end(SESSION, 1, "over")
    assert (await stage.ended()).by_us


@played
async def test_an_agent_without_a_deadline_cannot_be_given_one(stage: Stage) -> None:
    await stage.started()
    with pytest.raises(KeeperLost):
        await stage.keepers.renew(SESSION, 1, clock() + 60)
    assert stage.keepers.look(SESSION, 1) == "alive"
    with pytest.raises(KeeperLost):
        await stage.keepers.renew(SESSION, 7, clock() + 60)
