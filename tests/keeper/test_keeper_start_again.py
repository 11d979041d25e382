"""Starts that an earlier daemon began and did not see the end of: each is seen through, and none is made twice."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rekindle.adapters.keepers.keeper_process import KeeperProcesses, stamp
from rekindle.keeper import lockfile
from rekindle.keeper.launch import end_leftovers, find_leftovers, is_alive, read_identity, wait_until_gone
from rekindle.keeper.processes import ProcessId, is_running, send_signal
from rekindle.keeper.spec import Layout, Spec, write_spec
from rekindle.ports.errors import RekindleError
from rekindle.ports.keepers import AttemptOrder, Ended
from tests.keeper.keeper_bench import DEADLINE, Bench, until
from tests.keeper.test_keeper_kills import daemon_that_starts, ours

SESSION = f"again-{os.getpid()}"


@pytest.fixture
def keepers(bench: Bench) -> Iterator[KeeperProcesses]:
    made = KeeperProcesses(str(bench.root / "sessions"), str(bench.root / "run"), grace=1.0)
    yield made
    identity = read_identity(made.folder(SESSION, 1))
    if identity is not None:
        send_signal(identity.keeper, signal.SIGTERM)
    assert wait_until_gone(made.lock(SESSION), DEADLINE)
    end_leftovers(stamp(str(bench.root / "sessions"), SESSION), grace=0.0)


def order(*argv: str) -> AttemptOrder:
    return AttemptOrder(SESSION, 1, 1, argv or ("cat",), "/", {"PATH": os.environ["PATH"]})


def planned(keepers: KeeperProcesses) -> Spec:
    return Spec(
        session=SESSION,
        attempt=1,
        generation=1,
        argv=("cat",),
        cwd="/",
        env={"PATH": os.environ["PATH"]},
        folder=keepers.folder(SESSION, 1),
        lock=keepers.lock(SESSION),
        socket_dir=str(Path(keepers.lock(SESSION)).parents[2] / "run"),
        stamp=stamp(str(Path(keepers.lock(SESSION)).parents[1]), SESSION),
    )


def begun(keepers: KeeperProcesses) -> Spec:
    """As a daemon leaves it that was killed before it could execute the guard."""
    spec = planned(keepers)
    write_spec(spec)
    return spec


def test_a_start_that_came_to_nothing_is_begun_again(keepers: KeeperProcesses) -> None:
    spec = begun(keepers)
    running = asyncio.run(keepers.launch(order()))
    assert is_alive(spec.folder)
    assert [one.id.pid for one in find_leftovers(spec.stamp)] == [running.pid]


def test_a_start_that_somebody_is_at_work_on_is_waited_for(keepers: KeeperProcesses) -> None:
    spec = begun(keepers)
    guard = lockfile.take(spec.lock)
    assert guard is not None

    async def story() -> None:
        second = asyncio.ensure_future(keepers.launch(order()))
        await asyncio.sleep(0.5)  # longer than anybody tries a lock
        assert not second.done()
        os.close(guard)
        await second

    asyncio.run(story())
    assert is_alive(spec.folder)


@pytest.mark.parametrize("kept", [0, 1, 200])
def test_a_start_whose_order_was_only_half_written_is_begun_again(keepers: KeeperProcesses, kept: int) -> None:
    spec = begun(keepers)
    os.truncate(Layout(spec.folder).spec, kept)
    assert keepers.look(SESSION, 1) == "gone"
    asyncio.run(keepers.launch(order()))
    assert keepers.look(SESSION, 1) == "alive"


@pytest.mark.parametrize("milliseconds", [0, 20, 40, 60, 80, 100])
def test_a_daemon_killed_in_the_middle_of_a_start_and_its_successor_make_one_agent(
    keepers: KeeperProcesses, milliseconds: int
) -> None:
    spec = planned(keepers)
    daemon = daemon_that_starts(spec)
    try:
        until(lambda: os.path.exists(Layout(spec.folder).spec), "the order")
        time.sleep(milliseconds / 1000)  # not to wait for something, but to hit another moment
    finally:
        daemon.kill()
        daemon.communicate(timeout=30)
    running = asyncio.run(keepers.launch(order()))
    assert is_alive(spec.folder)
    until(lambda: not_started_yet(spec) == [], "an end of all guards but one")
    assert [one.id.pid for one in find_leftovers(spec.stamp)] == [running.pid]


def not_started_yet(spec: Spec) -> list[ProcessId]:
    """Processes of a start that are neither the guard nor the keeper that hold the lock."""
    identity = read_identity(spec.folder)
    assert identity is not None
    return [one for one in ours(spec) if one not in (identity.guard, identity.keeper)]


def test_an_attempt_that_ran_and_was_killed_with_its_keepers_is_not_started_again(keepers: KeeperProcesses) -> None:
    running = asyncio.run(keepers.launch(order()))
    identity = read_identity(running.folder)
    assert identity is not None
    for one in (identity.guard, identity.keeper, identity.agent):
        send_signal(one, signal.SIGKILL)
    until(lambda: not is_alive(keepers.lock(SESSION)) and not is_running(identity.agent))
    assert asyncio.run(keepers.launch(order())) == running
    assert not is_alive(keepers.lock(SESSION))

    async def followed() -> list[object]:
        return [item async for item in keepers.follow(SESSION, 1, 0)]

    assert asyncio.run(followed()) == [Ended("its guard and keeper were killed", False, 0, 0, unseen=True)]


def test_a_start_that_failed_fails_again_in_the_same_words(keepers: KeeperProcesses) -> None:
    told = []
    for _ in range(2):
        with pytest.raises(RekindleError, match="there is no program /no/such/program") as caught:
            asyncio.run(keepers.launch(order("/no/such/program")))
        told.append(caught.value.message)
    assert told[0] == told[1]


def test_somebody_who_looks_at_the_lock_does_not_keep_the_sweep_from_what_is_left(
    keepers: KeeperProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = asyncio.run(keepers.launch(order("/bin/sh", "-c", "trap '' TERM; echo up; while :; do sleep 1000; done")))
    until(lambda: keepers.heard(SESSION, 1) == b"up\n")
    identity = read_identity(running.folder)
    assert identity is not None
    for one in (identity.guard, identity.keeper):
        send_signal(one, signal.SIGKILL)
    until(lambda: not is_alive(keepers.lock(SESSION)))
    looking = os.open(keepers.lock(SESSION), os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)

    async def followed() -> list[object]:
        return [item async for item in keepers.follow(SESSION, 1, 0)]

    with monkeypatch.context() as patched:
        patched.setattr("rekindle.keeper.lockfile.time.sleep", lambda _seconds: fcntl.flock(looking, fcntl.LOCK_UN))
        asyncio.run(followed())
    os.close(looking)
    assert not is_running(identity.agent)
