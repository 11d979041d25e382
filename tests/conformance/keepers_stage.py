"""Two stages for the keepers' suite: real processes, and the fake world. The same agent plays on both.

The agent repeats each line that it is told, but for three: `exit N` makes it exit, `child` makes it start a process
that ignores SIGTERM, and `no answer` gets none.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from rekindle.adapters.keepers.keeper_process import KeeperProcesses, stamp
from rekindle.keeper import kernel
from rekindle.keeper.identity import Identity
from rekindle.keeper.launch import end_leftovers, read_identity
from rekindle.keeper.processes import ProcessId, is_running, look, send_signal
from rekindle.ports.keepers import AttemptOrder, Ended, Keepers, Lost, Output
from tests.fakes.keepers import FakeAttempt, FakeKeepers, FakeWorld
from tests.keeper.keeper_bench import reap_all, until

T = TypeVar("T")
SESSION = "s"
_SECONDS = 90.0
_AGENT = """#!/bin/sh
while read -r line; do
  case $line in
    exit*) exit "${line#exit }" ;;
    child) sh -c 'trap "" TERM; echo "child $$"; exec sleep 1000' & ;;
    'no answer') ;;
    *) printf '%s\\n' "$line" ;;
  esac
done
"""
Followed = list[Output | Lost | Ended]


class Stage(ABC):
    """What a test does to the world around the keepers. `keepers` are those of the first daemon."""

    keepers: Keepers

    @abstractmethod
    def another(self) -> Keepers:
        """The keepers as the next daemon sees them."""

    @abstractmethod
    def order(
        self,
        attempt: int = 1,
        *,
        generation: int = 1,
        session: str = SESSION,
        terminal: bool = False,
        until: float = 0.0,
    ) -> AttemptOrder: ...

    @abstractmethod
    async def pause(self) -> None:
        """Let the others do something."""

    @abstractmethod
    def freeze(self, attempt: int = 1) -> None:
        """The agent does nothing any more, and lives."""

    @abstractmethod
    def kill_agent(self, attempt: int = 1) -> None: ...

    @abstractmethod
    def kill_keeper(self, attempt: int = 1) -> None: ...

    @abstractmethod
    def kill_keeper_and_guard(self, attempt: int = 1) -> None: ...

    @abstractmethod
    def stop_keeper(self, attempt: int = 1) -> None:
        """It lives, and answers nobody."""

    @abstractmethod
    def kill_child(self, attempt: int = 1) -> None:
        """Of what the agent was told to start."""

    @abstractmethod
    def child_runs(self, attempt: int = 1) -> bool: ...

    @abstractmethod
    def is_running(self, pid: int) -> bool:
        """Whether the agent of this pid lives."""

    @abstractmethod
    def shorten(self, size: int, attempt: int = 1) -> None:
        """Cut off the end of what the agent has written."""

    @abstractmethod
    def take_program_away(self) -> None: ...

    @abstractmethod
    def bring_program_back(self) -> None: ...

    @abstractmethod
    def fill_disk(self) -> None: ...

    @abstractmethod
    def free_disk(self) -> None: ...

    @abstractmethod
    async def hang_up(self) -> None:
        """The daemons are gone; the agents do not mind."""

    async def until(self, condition: Callable[[], T | None], what: str = "") -> T:
        """The condition's first true value."""
        deadline = time.monotonic() + _SECONDS
        while not (value := condition()):
            assert time.monotonic() < deadline, f"not within {_SECONDS:g} s: {what}"
            await self.pause()
        return value

    async def started(self, attempt: int = 1, generation: int = 1) -> int:
        """Start the attempt and speak for it; returns the agent's pid."""
        running = await self.keepers.launch(self.order(attempt, generation=generation))
        assert await self.keepers.connect(SESSION, attempt, generation)
        return running.pid

    async def says(self, data: bytes, attempt: int = 1) -> None:
        """Wait until the agent has said just that since it was started."""
        await self.until(lambda: self.keepers.heard(SESSION, attempt) == data, f"{data!r} is heard")

    async def gone(self, attempt: int = 1) -> None:
        await self.until(lambda: self.keepers.look(SESSION, attempt) == "gone", "it is gone")

    def following(
        self, offset: int = 0, attempt: int = 1, keepers: Keepers | None = None
    ) -> tuple[Followed, asyncio.Task[None]]:
        """What is told of an attempt, as it comes, and the task that is done with its end."""
        found: Followed = []

        async def collect() -> None:
            async for item in (keepers or self.keepers).follow(SESSION, attempt, offset):
                found.append(item)

        return found, asyncio.ensure_future(collect())

    async def followed(self, offset: int = 0, attempt: int = 1, keepers: Keepers | None = None) -> Followed:
        """All that is told of an attempt until it has ended."""
        found, task = self.following(offset, attempt, keepers)
        await self.until(task.done, "the end is told")
        await task
        return found

    async def ended(self, attempt: int = 1) -> Ended:
        """How the attempt ended, which is told last, and once."""
        *before, last = await self.followed(attempt=attempt)
        assert isinstance(last, Ended)
        assert not any(isinstance(one, Ended) for one in before)
        return last


class _Lines(FakeWorld):
    """The agent, as the fake world plays it."""

    def _hear(self, one: FakeAttempt, payload: bytes) -> None:
        for line in payload.decode().split("\n")[:-1]:
            if line.startswith("exit "):
                one.die(f"exited with {line.removeprefix('exit ')}")
            elif line == "child":
                one.children = ("sleep",)
                one.out += b"child 7\n"
            elif line != "no answer":
                one.out += line.encode() + b"\n"


class FakeStage(Stage):
    """Nothing happens here but when somebody waits for it."""

    def __init__(self) -> None:
        self.world = _Lines()
        self.keepers = FakeKeepers(self.world)

    def another(self) -> Keepers:
        return FakeKeepers(self.world)

    def order(
        self,
        attempt: int = 1,
        *,
        generation: int = 1,
        session: str = SESSION,
        terminal: bool = False,
        until: float = 0.0,
    ) -> AttemptOrder:
        return AttemptOrder(session, attempt, generation, ("agent",), "/", {}, terminal, until)

    async def pause(self) -> None:
        self.world.settle()
        await asyncio.sleep(0)

    async def hang_up(self) -> None:
        pass

    def freeze(self, attempt: int = 1) -> None:
        self.world.attempts[SESSION, attempt].frozen = True

    def kill_agent(self, attempt: int = 1) -> None:
        self.world.kill(SESSION)

    def kill_keeper(self, attempt: int = 1) -> None:
        self.world.kill(SESSION, "its keeper was killed")

    def kill_keeper_and_guard(self, attempt: int = 1) -> None:
        self.world.kill(SESSION, "its guard and keeper were killed")

    def stop_keeper(self, attempt: int = 1) -> None:
        self.world.attempts[SESSION, attempt].mute = True

    def kill_child(self, attempt: int = 1) -> None:
        self.world.attempts[SESSION, attempt].sweep()

    def child_runs(self, attempt: int = 1) -> bool:
        return bool(self.world.attempts[SESSION, attempt].children)

    def is_running(self, pid: int) -> bool:
        return any(one.alive and 1000 + number == pid for (_, number), one in self.world.attempts.items())

    def shorten(self, size: int, attempt: int = 1) -> None:
        self.world.shorten(SESSION, attempt, size)

    def take_program_away(self) -> None:
        self.world.obstacle = "agent is not there"

    def bring_program_back(self) -> None:
        self.world.obstacle = None

    def fill_disk(self) -> None:
        self.world.is_full = True

    def free_disk(self) -> None:
        self.world.is_full = False


class RealStage(Stage):
    """Guards, keepers and agents of their own, below `root`, which has a short name because of their sockets."""

    def __init__(self, root: Path, grace: float) -> None:
        self.root = root
        self._grace = grace
        self._program = root / "agent"
        self._began: set[tuple[str, int]] = set()
        self._daemons: list[KeeperProcesses] = []
        self.bring_program_back()
        self.keepers = self.another()

    def another(self) -> Keepers:
        made = KeeperProcesses(str(self.root / "sessions"), str(self.root / "run"), grace=self._grace)
        self._daemons.append(made)
        return made

    async def hang_up(self) -> None:
        for daemon in self._daemons:
            for connection in daemon._connections.values():
                await connection.close()

    def order(
        self,
        attempt: int = 1,
        *,
        generation: int = 1,
        session: str = SESSION,
        terminal: bool = False,
        until: float = 0.0,
    ) -> AttemptOrder:
        self._began.add((session, attempt))
        mark = {name: value for name, value in os.environ.items() if name == "REKINDLE_TEST_RUN"}
        env = {"PATH": os.environ["PATH"], "HOME": str(self.root), **mark}
        return AttemptOrder(session, attempt, generation, (str(self._program),), str(self.root), env, terminal, until)

    async def pause(self) -> None:
        await asyncio.sleep(0.005)

    def freeze(self, attempt: int = 1) -> None:
        self._signal(self._identity(attempt).agent, signal.SIGSTOP)

    def kill_agent(self, attempt: int = 1) -> None:
        self._signal(self._identity(attempt).agent)

    def kill_keeper(self, attempt: int = 1) -> None:
        self._signal(self._identity(attempt).keeper)

    def kill_keeper_and_guard(self, attempt: int = 1) -> None:
        who = self._identity(attempt)
        self._signal(who.guard)
        self._signal(who.keeper)

    def stop_keeper(self, attempt: int = 1) -> None:
        self._signal(self._identity(attempt).keeper, signal.SIGSTOP)

    def kill_child(self, attempt: int = 1) -> None:
        os.kill(self._child(attempt), signal.SIGKILL)

    def child_runs(self, attempt: int = 1) -> bool:
        found = look(self._child(attempt))
        return found is not None and found.state not in "ZX"

    def _child(self, attempt: int) -> int:
        told = [line.split() for line in self.keepers.heard(SESSION, attempt).splitlines()]
        [pid] = [int(words[1]) for words in told if words[0] == b"child"]
        return pid

    def is_running(self, pid: int) -> bool:
        return any(who.agent.pid == pid and is_running(who.agent) for who in self._identities())

    def shorten(self, size: int, attempt: int = 1) -> None:
        path = self._folder(SESSION, attempt) / "out"
        path.chmod(0o600)
        os.truncate(path, size)

    def take_program_away(self) -> None:
        self._program.unlink()

    def bring_program_back(self) -> None:
        self._program.write_text(_AGENT)
        self._program.chmod(0o700)

    def fill_disk(self) -> None:
        with (self.root / "ballast").open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(1 << 12)) == 1 << 12:
                pass

    def free_disk(self) -> None:
        (self.root / "ballast").unlink()

    def clear_up(self) -> None:
        """End everything that was started here."""
        for who in self._identities():
            for one in (who.guard, who.keeper, who.agent):
                send_signal(one, signal.SIGKILL)
        for session in {session for session, _ in self._began}:
            end_leftovers(stamp(str(self.root / "sessions"), session), grace=0.0)
        if (self.root / "run" / "tmux").exists():
            subprocess.run(["tmux", "-S", str(self.root / "run" / "tmux"), "kill-server"], capture_output=True)

    def _folder(self, session: str, attempt: int) -> Path:
        return self.root / "sessions" / session / str(attempt)

    def _identity(self, attempt: int) -> Identity:
        found = read_identity(str(self._folder(SESSION, attempt)))
        assert found is not None
        return found

    def _identities(self) -> list[Identity]:
        found = [read_identity(str(self._folder(*one))) for one in self._began]
        return [one for one in found if one is not None]

    def _signal(self, target: ProcessId, number: int = signal.SIGKILL) -> None:
        assert send_signal(target, number)
        if number == signal.SIGKILL:
            until(lambda: not is_running(target), f"{target} dead", _SECONDS)


@contextlib.contextmanager
def real_stage(*, grace: float = 30.0, disk: str = "") -> Iterator[RealStage]:
    """A stage, on a small disk of its own if a size is given; skips the test where that cannot be had."""
    root = Path(tempfile.mkdtemp(prefix="rk-", dir="/dev/shm" if disk else None))
    kernel.become_subreaper()  # orphans come to us, not to a process 1 that may not reap them
    if disk:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={disk}", "rekindle-test", str(root)]
        done = subprocess.run(mount, capture_output=True, text=True)
        if done.returncode:
            root.rmdir()
            pytest.skip(f"NOT TESTED: a full disk needs a small tmpfs and mount failed: {done.stderr.strip()}")
    stage = RealStage(root, grace)
    try:
        yield stage
    finally:
        stage.clear_up()
        until(reap_all, "all children reaped")
        kernel.become_subreaper(False)
        if disk:
            subprocess.run(["umount", str(root)], check=True)
        shutil.rmtree(root)
