"""Starts commands quickly: one process that has imported everything, and forks for each command.

Tests type thousands of them, and nearly all the time of one goes into importing the same modules again. What a
forked command does is what the program itself does: the same entry, with its own arguments, folder and environment.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

#: What commands do not use.
_NOT_FOR_COMMANDS = ("rekindle.adapters.sql_store.migrations.env",)  # only Alembic can run it


class Starter:
    """The process that forks, as its user sees it. It ends with whoever started it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
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
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            status = int(self._process.stdout.readline())
            out, err = (Path(folder, name).read_text(errors="replace") for name in "12")
        if status == -signal.SIGKILL:
            raise subprocess.TimeoutExpired([program, *words], seconds)
        return subprocess.CompletedProcess([program, *words], status, out, err)

    def end(self) -> None:
        """End the process: nobody orders any more."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
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
    for name in ("rekindle.entry", "rekindle.wiring", "rekindle.hooks.client"):
        importlib.import_module(name)
    for name in ("rekindle.doors.cli", "rekindle.app", "rekindle.adapters"):
        package = importlib.import_module(name)
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            if found.name not in _NOT_FOR_COMMANDS:
                importlib.import_module(found.name)
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


def _become(order: dict[str, Any]) -> None:
    """This process is the command from now on."""
    status = 1
    try:
        for number, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY | os.O_CREAT), (2, os.O_WRONLY | os.O_CREAT)):
            fd = os.open(os.path.join(order["io"], str(number)), flags, 0o600)
            os.dup2(fd, number)
            os.close(fd)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115 they live as long as it
        os.chdir(order["cwd"])
        os.umask(order["umask"])
        os.environ.clear()
        os.environ.update(order["env"])
        sys.argv = order["argv"]
        if order["argv"][0] == "rekindle-hook":
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
