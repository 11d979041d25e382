"""Guards that a nursery forks: the same as those that are started as programs, and nobody depends on it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from rekindle.adapters.keepers.start import start
from rekindle.keeper import launch
from rekindle.keeper.client import Client
from rekindle.keeper.errors import StartInDoubt
from rekindle.keeper.launch import Nursery, read_identity, spawn, wait_until_gone
from rekindle.keeper.processes import id_of, is_running
from tests.keeper.keeper_bench import Bench, until


@pytest.fixture
def nursery(bench: Bench) -> Iterator[Nursery]:
    with closing(launch.nursery(str(bench.root))) as made:
        made.open()
        yield made


def _facts(pid: int) -> dict[str, object]:
    """What a process is, apart from how it was started."""
    folder = Path(f"/proc/{pid}")
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    open_files = {os.readlink(one) for one in (folder / "fd").iterdir()}
    return {
        "name": (folder / "comm").read_text(),
        "environment": (folder / "environ").read_bytes(),
        "folder": os.readlink(folder / "cwd"),
        "leads its session": int(fields[3]) == pid,
        "input": os.readlink(folder / "fd" / "0"),
        "sockets": sum(one.startswith("socket:") for one in open_files),
        "signals": [line for line in (folder / "status").read_text().splitlines() if line.startswith("Sig")],
    }


def test_a_forked_guard_is_the_same_process_as_one_that_was_started_as_a_program(
    bench: Bench, nursery: Nursery
) -> None:
    plain, forked = bench.spec(("cat",), "plain"), bench.spec(("cat",), "forked")
    started = [spawn(plain), spawn(forked, forked_by=nursery)]
    for kind in ("guard", "keeper"):
        one, other = (_facts(getattr(each.identity, kind).pid) for each in started)
        assert one == other
    parents = {int(Path(f"/proc/{each.identity.guard.pid}/stat").read_text().split()[3]) for each in started}
    assert nursery.pid not in parents, "it is nobody's child"
    for each in started:
        with Client(each.socket, 1) as client:
            client.stop("the test is over")
    assert all(wait_until_gone(spec.lock, 30) for spec in (plain, forked))


def test_guards_outlive_their_nursery(bench: Bench, nursery: Nursery) -> None:
    spec = bench.spec(("cat",), "outlives")
    started = spawn(spec, forked_by=nursery)
    nursery.close()
    with Client(started.socket, 1) as client:
        assert client.status()["session"] == spec.session
        client.stop("the test is over")
    assert wait_until_gone(spec.lock, 30)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_without_its_nursery_a_guard_is_started_as_a_program_and_the_next_one_is_forked_again(
    bench: Bench, nursery: Nursery, number: int
) -> None:
    before = nursery.pid
    assert before is not None
    gone = id_of(before)
    os.kill(before, number)
    until(lambda: not is_running(gone), "it is gone")
    for name in ("first", "second"):
        spec = bench.spec(("cat",), name)
        started = spawn(spec, forked_by=nursery)
        words = Path(f"/proc/{started.identity.guard.pid}/cmdline").read_bytes()
        assert (b"--nursery" in words) == (name == "second")
        with Client(started.socket, 1) as client:
            client.stop("the test is over")
        assert wait_until_gone(spec.lock, 30)
    assert nursery.pid not in (None, before)


def test_a_nursery_that_does_nothing_is_replaced_and_its_order_is_never_carried_out(
    bench: Bench, nursery: Nursery
) -> None:
    before = nursery.pid
    assert before is not None
    stopped = id_of(before)
    os.kill(before, signal.SIGSTOP)
    spec = bench.spec(("cat",), "stopped")
    with pytest.raises(StartInDoubt):
        spawn(spec, forked_by=nursery, timeout=0.2)
    assert not is_running(stopped), "it can no longer start what nobody waits for"
    assert nursery.pid not in (None, before)
    later = bench.spec(("cat",), "later")
    with Client(spawn(later, forked_by=nursery).socket, 1) as client:
        client.stop("the test is over")
    assert wait_until_gone(later.lock, 30)
    assert read_identity(spec.folder) is None


class _BadNursery(Nursery):
    """Takes orders and carries none out. `holds`: it keeps the pipe on which a guard would report."""

    def __init__(self, holds: bool) -> None:
        super().__init__("", "")
        self._holds = holds
        self.orders = 0
        self.held: list[int] = []

    def open(self) -> None:
        return

    def begin(self, folder: str, says: int, log: int) -> bool:
        self.orders += 1
        if self._holds:
            self.held.append(os.dup(says))
        return True


@pytest.mark.parametrize("holds", [False, True], ids=["it died", "it hangs"])
def test_an_agent_is_started_although_its_nursery_does_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, holds: bool
) -> None:
    spec, bad = bench.spec(("cat",), "bad"), _BadNursery(holds)
    if holds:
        monkeypatch.setattr(launch, "spawn", partial(spawn, timeout=2.0))
    asyncio.run(start(spec, forked_by=bad))
    assert bad.orders == 1
    for one in bad.held:
        os.close(one)
    with Client(launch.socket_path(spec), 1) as client:
        client.stop("the test is over")
    assert wait_until_gone(spec.lock, 30)


def test_it_ends_with_its_daemon(bench: Bench) -> None:
    child = os.fork()
    if child == 0:  # a daemon that is killed
        other = launch.nursery(str(bench.root))
        other.open()
        (bench.root / "pid").write_text(str(other.pid))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    left = id_of(int((bench.root / "pid").read_text()))
    until(lambda: not is_running(left), "it is gone")
