"""Settings of the whole test run: fixed examples in `make test`, fresh ones in `make soak`; nothing is left running."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import postgres

_SLOW_MACHINES = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "fixed", derandomize=True, deadline=None, max_examples=150, suppress_health_check=_SLOW_MACHINES
)
settings.register_profile("soak", deadline=None, max_examples=5000, suppress_health_check=_SLOW_MACHINES)
settings.load_profile(os.environ.get("REKINDLE_TEST_PROFILE", "fixed"))

#: Daemons, keepers and agents that a test starts carry it in their environment.
RUN = "REKINDLE_TEST_RUN"
_IS_WORKER = "PYTEST_XDIST_WORKER" in os.environ
if not _IS_WORKER:
    os.environ[RUN] = str(os.getpid())
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A run in the background is deaf to Ctrl-C, and so would be everything that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run if anything that it started still lives."""
    postgres.stop_all()
    if _IS_WORKER:
        return
    mark = f"{RUN}={os.environ[RUN]}".encode()
    deadline = time.monotonic() + 20
    while (left := _left_behind(mark)) and time.monotonic() < deadline:
        time.sleep(0.2)  # what was told to end may need a moment
    if left:
        print(f"\nprocesses left behind: {left}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _left_behind(mark: bytes) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int(folder.name) == os.getpid() or mark not in (folder / "environ").read_bytes().split(b"\0"):
                continue
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if state not in "ZX" and int(parent) != os.getpid():  # our own children are the test workers
            found.append(f"{folder.name} {command[:100]}")
    return found
