"""What `ps` says while not one byte can be written."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.daemon import Machine, is_running, until

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A machine whose state, with the store in it, is on a small file system."""
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        made = Machine(Path(folder, "home"), Path(folder, "work"))
        state = Path(made.places.state)
        state.mkdir(parents=True)
        made.work.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "rekindle-test", str(state)]
        done = subprocess.run(mount, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"NOT TESTED: a full disk needs a small tmpfs and mount failed: {done.stderr.strip()}")
        try:
            yield made
            (state / "ballast").unlink(missing_ok=True)
            made.clean_up()
        finally:
            subprocess.run(["umount", "-l", str(state)], check=True)


def fill(machine: Machine) -> Path:
    """Leave room for not one more byte."""
    ballast = Path(machine.places.state, "ballast")
    with ballast.open("ab", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(b"x" * size)
            except OSError:
                size //= 2
    return ballast


def test_a_live_agent_is_never_called_interrupted_on_a_full_disk(machine: Machine) -> None:
    session = machine.begin("say first", "sleep 4", "say second")
    machine.until_said(session, "first")
    agent = machine.pids(session)["agent"]
    ballast = fill(machine)
    until(lambda: "disk is full" in Path(machine.places.daemon_log).read_text() or turn_is_over(machine, session))
    seen = set()
    end = time.monotonic() + 8
    while time.monotonic() < end:
        fill(machine)
        seen.add(machine.status(session))
        assert is_running(agent)
    assert seen <= {"working", "waiting"}
    ballast.unlink()
    machine.until_status(session, "waiting")
    assert "second" in machine.said(session)


def turn_is_over(machine: Machine, session: str) -> bool:
    return b"second" in Path(machine.folder(session), "out").read_bytes()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_with_no_daemon_the_list_can_be_read_from_a_full_disk(machine: Machine, end: signal.Signals) -> None:
    session = machine.begin("say first", "sleep 600")
    machine.until_said(session, "sleep: 600")
    daemon = machine.daemon()
    os.kill(daemon, end)
    until(lambda: not is_running(daemon), "the end of the daemon")
    fill(machine)
    assert machine.status(session) == "working"
    told = machine.run().stdout
    assert "Working (1)" in told and session in told
