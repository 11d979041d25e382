"""Starts commands and daemons quickly: one process that has imported everything, and forks for each of them.

Tests type thousands of commands and start hundreds of daemons, and nearly all the time of one goes into importing the
same modules again. What a forked command does is what the program itself does: the same entry, with its own arguments,
folder, environment and files; and so does the daemon that it starts. Keepers and agents are programs as ever. How
commands and daemons start as programs is shown by the tests that do not come here: those that leave a command running,
give it variables of its own, use another installation (`Machine.run`), or test the start itself.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from rekindle.adapters.daemon_socket import client

_LOADED = ("rekindle.entry", "rekindle.wiring", "rekindle.daemon", "rekindle.hooks.client")
_LOADED_WHOLE = ("rekindle.doors", "rekindle.app", "rekindle.adapters", "rekindle.runtime", "rekindle.agents")
#: What commands do not use.
_NOT_FOR_COMMANDS = ("rekindle.adapters.sql_store.migrations.env",)  # only Alembic can run it


class Starter:
    """The process that forks, as its user sees it. It ends with whoever started it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "LANG": "C.UTF-8"},
        )

    def run(
        self, program: str, words: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: str, seconds: float
    ) -> subprocess.CompletedProcess[str]:
        """Run one command. Raises TimeoutExpired."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory(prefix="rk-io-") as folder:
            Path(folder, "0").write_text(stdin)
            order = {
                "argv": [program, *words],
                "cwd": str(cwd),
                "env": dict(env),
                "umask": _umask(),
                "io": folder,
                "seconds": seconds,
            }
            try:
                self._process.stdin.write(json.dumps(order) + "\n")
                self._process.stdin.flush()
                status = int(self._process.stdout.readline())
            except BaseException:  # a test that is cut off: the next one must not get the answer of this order
                self._process.kill()
                end()
                raise
            out, err = (Path(folder, name).read_text(errors="replace") for name in "12")
        if status == -signal.SIGKILL:
            raise subprocess.TimeoutExpired([program, *words], seconds)
        return subprocess.CompletedProcess([program, *words], status, out, err)

    def end(self) -> None:
        """End the process: nobody orders any more."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


def _umask() -> int:
    """That of this process, which can only be read by setting it."""
    found = os.umask(0o077)
    os.umask(found)
    return found


def end() -> None:
    """End the one of this test process, if there is one."""
    if starter.cache_info().currsize:
        starter().end()
        starter.cache_clear()


@functools.cache
def starter() -> Starter:
    """The one of this test process."""
    return Starter()


def serve() -> None:
    """Fork for each order on standard input, and answer with the exit status, until nobody orders any more."""
    for name in _LOADED:
        importlib.import_module(name)
    for name in _LOADED_WHOLE:
        package = importlib.import_module(name)
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            if found.name not in _NOT_FOR_COMMANDS:
                importlib.import_module(found.name)
    client.launched = _forked_daemon  # type: ignore[assignment]
    gc.freeze()
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _become(order)
        print(_ended(pid, order["seconds"]), flush=True)


def _ended(pid: int, seconds: float) -> int:
    deadline = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def _become(order: dict[str, Any]) -> NoReturn:
    """This process is the command from now on."""

    def prepare() -> None:
        flags = (os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_CREAT)
        _take(*(os.open(os.path.join(order["io"], str(number)), flag, 0o600) for number, flag in enumerate(flags)))
        os.chdir(order["cwd"])
        os.umask(order["umask"])
        os.environ.clear()
        os.environ.update(order["env"])
        time.tzset()

    _play(order["argv"], prepare)


class _ForkedDaemon:
    """The daemon's process, as the command sees it that has started it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._status: int | None = None

    def poll(self) -> int | None:
        if self._status is None:
            found, status = os.waitpid(self.pid, os.WNOHANG)
            self._status = os.waitstatus_to_exitcode(status) if found else None
        return self._status


def _forked_daemon(log: int, says: int) -> _ForkedDaemon:
    """Stands in for `client.launched`: the same daemon, without loading the program again."""

    def prepare() -> None:
        gc.freeze()  # what the command leaves behind closes no file of the daemon's
        os.setsid()
        _take(os.open(os.devnull, os.O_RDONLY), log, log, keep=says)
        os.chdir("/")
        os.environ["REKINDLE_READY_FD"] = str(says)

    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _play(["rekindle", "serve", "--on-demand"], prepare)
    return _ForkedDaemon(pid)


def _take(*fds: int, keep: int = -1) -> None:
    """Have these files as standard input, output and error, and no others open."""
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != keep:
            with contextlib.suppress(OSError):
                os.close(int(name))
    streams = (open(fd, "w" if fd else "r", closefd=False) for fd in range(3))  # noqa: SIM115 they live as long as it
    sys.stdin, sys.stdout, sys.stderr = streams


def _play(argv: list[str], prepare: Callable[[], None]) -> NoReturn:
    """Be the program with these words, and leave as it does."""
    status = 1
    try:
        prepare()
        sys.argv = argv
        if argv[0] == "rekindle-hook":
            importlib.import_module("rekindle.hooks.client").main()
        importlib.import_module("rekindle.entry").main()
    except SystemExit as leave:
        status = leave.code if isinstance(leave.code, int) else int(leave.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)


if __name__ == "__main__":
    serve()
