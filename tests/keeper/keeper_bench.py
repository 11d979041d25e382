"""A bench for keepers, of real processes: starts sessions in a temp folder, proves that none is left."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from rekindle.keeper import kernel
from rekindle.keeper.client import Client
from rekindle.keeper.launch import (
    ExitRecord,
    Started,
    end_leftovers,
    find_leftovers,
    is_alive,
    owner_pid,
    read_exit,
    read_identity,
    spawn,
    wait_until_gone,
)
from rekindle.keeper.processes import Process, ProcessId, descendants, id_of, is_running, send_signal
from rekindle.keeper.spec import Spec

T = TypeVar("T")
DEADLINE = 15.0


def until(condition: Callable[[], T | None], what: str = "", seconds: float = DEADLINE) -> T:
    """The condition's first true value; the one place where tests wait."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what or condition}")
        time.sleep(0.005)


def python_agent(code: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", code)


def shell_agent(script: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", script)


def kill(target: ProcessId) -> None:
    assert send_signal(target, signal.SIGKILL)
    until(lambda: not is_running(target), f"{target} dead")


def status(client: Client) -> dict[str, Any]:
    return client.status()


def reap_all() -> bool:
    """Collect the ended children; whether none is left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


class Session:
    """One incarnation under test."""

    def __init__(self, spec: Spec, started: Started) -> None:
        self.spec = spec
        self.started = started
        self.guard = started.identity.guard
        self.keeper = started.identity.keeper
        self.agent = started.identity.agent
        self.folder = Path(spec.folder)

    def client(self, generation: int | None = None) -> Client:
        return Client(self.started.socket, self.spec.generation if generation is None else generation)

    def out(self) -> bytes:
        return (self.folder / "out").read_bytes()

    def word(self, name: str) -> str:
        """What the agent wrote into a file of its working folder, once it is a whole line."""
        path = Path(self.spec.cwd) / name
        until(lambda: path.exists() and path.read_text().endswith("\n"), f"{name} written")
        return path.read_text().strip()

    def pid_word(self, name: str) -> ProcessId:
        return id_of(int(self.word(name)))

    def tree(self) -> list[Process]:
        return descendants(self.keeper.pid)

    def ended(self) -> ExitRecord:
        record = until(lambda: read_exit(self.spec.folder), "exit record")
        assert wait_until_gone(self.spec.lock, DEADLINE)
        return record


class Bench:
    def __init__(self, root: Path) -> None:
        self.root = root
        self._sessions: list[Session] = []
        self._specs: list[Spec] = []
        self._watched: list[ProcessId] = []

    def spec(self, argv: tuple[str, ...], session: str = "s", **changes: Any) -> Spec:
        attempt = 1 + sum(1 for spec in self._specs if spec.session == session)
        work = self.root / session / "work"
        work.mkdir(parents=True, exist_ok=True)
        values: dict[str, Any] = {
            "session": session,
            "attempt": attempt,
            "generation": 1,
            "argv": argv,
            "cwd": str(work),
            "env": {"PATH": os.environ["PATH"], "HOME": str(work)},
            "folder": str(self.root / session / f"attempt-{attempt}"),
            "lock": str(self.root / session / "lock"),
            "socket_dir": str(self.root / "run"),
            "stamp": f"test-{os.getpid()}-{self.root.name}-{session}",
            "grace_seconds": 2.0,
            "reserve_bytes": 1 << 20,
        }
        spec = Spec(**{**values, **changes})
        self._specs.append(spec)
        return spec

    def start(self, argv: tuple[str, ...], session: str = "s", **changes: Any) -> Session:
        spec = self.spec(argv, session, **changes)
        made = Session(spec, spawn(spec))
        self._sessions.append(made)
        return made

    def adopt(self, spec: Spec) -> Session:
        """A session that somebody else started."""
        identity = read_identity(spec.folder)
        assert identity
        made = Session(spec, Started(spec.folder, identity.socket, identity))
        self._sessions.append(made)
        return made

    def watch(self, *targets: ProcessId) -> None:
        """Processes without a stamp that also have to be gone at the end."""
        self._watched += targets

    def end_all(self) -> None:
        for session in self._sessions:
            if is_alive(session.spec.folder):
                with contextlib.suppress(Exception), session.client(2**60) as client:
                    client.stop("end of the test", grace=0.0)
                if not wait_until_gone(session.spec.lock, 5.0):
                    for target in (session.keeper, session.guard, session.agent):
                        send_signal(target, signal.SIGKILL)
        for spec in self._specs:
            wait_until_gone(spec.lock, 5.0)

    def left(self) -> list[str]:
        """What the sessions left behind; ended here, so that one failure does not cause others."""
        found = [f"lock of {spec.session}: {owner_pid(spec.lock)}" for spec in self._specs if is_alive(spec.lock)]
        for stamp in {spec.stamp for spec in self._specs}:
            found += [f"stamped {process}" for process in find_leftovers(stamp)]
            end_leftovers(stamp, grace=0.0)
        for target in self._watched:
            if is_running(target):
                found.append(f"watched {target}")
                send_signal(target, signal.SIGKILL)
        return found


@contextlib.contextmanager
def bench_in(root: Path) -> Iterator[Bench]:
    # Orphans come to us, not to a process 1 that may not reap them (containers): no zombie stays either.
    kernel.become_subreaper()
    bench = Bench(root)
    try:
        yield bench
    finally:
        bench.end_all()
        left = bench.left()
        until(reap_all, "all children reaped")
        kernel.become_subreaper(False)
    assert not left, f"processes left: {left}"
