"""Checks that behave badly: they flood, leave processes behind, take too long, or are cut short."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rekindle.adapters.machine.commands import run
from tests.e2e.daemon import is_running, until

ENVIRONMENT = {"PATH": os.environ["PATH"]}
pytestmark = pytest.mark.timeout(60)


def shell(script: str, folder: Path) -> list[str]:
    """A check that writes its pid, and then does what the script says."""
    return ["sh", "-c", f"echo $$ > {folder}/pid; {script}"]


def pid_in(folder: Path, name: str = "pid") -> int:
    path = folder / name
    return int(until(lambda: path.exists() and path.read_text().strip(), "a pid"))


def test_of_a_flood_only_the_end_is_kept(tmp_path: Path) -> None:
    done = asyncio.run(run(shell("yes | head -c 50000000; echo the end; exit 3", tmp_path), "/", ENVIRONMENT, 60))
    assert not done.passed and done.output.endswith("the end\nexit status 3")
    assert len(done.output) < 70_000


def test_a_process_left_in_the_group_is_ended_and_one_that_got_away_is_not_waited_for(tmp_path: Path) -> None:
    left = f"sleep 50 & echo $! > {tmp_path}/left; setsid sh -c 'echo $$ > {tmp_path}/away; exec sleep 50' &"
    script = f"{left} while ! test -s {tmp_path}/away; do :; done; echo said"
    began = time.monotonic()
    done = asyncio.run(run(shell(script, tmp_path), "/", ENVIRONMENT, 60))
    away = pid_in(tmp_path, "away")
    os.kill(away, 9)
    assert done.passed and done.output == "said"
    assert time.monotonic() - began < 40
    until(lambda: not is_running(pid_in(tmp_path, "left")), "the end of what was left")


def test_what_takes_too_long_is_ended(tmp_path: Path) -> None:
    done = asyncio.run(run(shell("exec sleep 50", tmp_path), "/", ENVIRONMENT, 0.5))
    assert not done.passed and "took longer" in done.output
    assert not is_running(pid_in(tmp_path))


def test_what_is_cut_short_is_ended(tmp_path: Path) -> None:
    async def cut() -> None:
        running = asyncio.ensure_future(run(shell("exec sleep 50", tmp_path), "/", ENVIRONMENT, 60))
        await asyncio.to_thread(pid_in, tmp_path)
        running.cancel()
        await asyncio.wait([running])

    asyncio.run(cut())
    assert not is_running(pid_in(tmp_path))


@pytest.mark.parametrize(
    ("words", "cwd", "reason"),
    [
        (["/no/such/program"], "/", "[Errno 2] No such file or directory: '/no/such/program'"),
        (["no-such-program"], "/", "[Errno 2] No such file or directory: 'no-such-program'"),
        (["/etc"], "/", "[Errno 13] Permission denied: '/etc'"),
        (["sh", "-c", "nul\0byte"], "/", "embedded null byte"),
        (["true"], "/no/such/folder", "[Errno 2] No such file or directory: '/no/such/folder'"),
    ],
)
def test_what_cannot_be_started_has_failed(words: list[str], cwd: str, reason: str) -> None:
    done = asyncio.run(run(words, cwd, ENVIRONMENT, 30))
    assert not done.passed and done.output == f"cannot be started: {reason}"


def test_a_command_gets_its_environment_and_nothing_else() -> None:
    odd = {"PATH": os.environ["PATH"], "ODD": "\udcff caf\u00e9", "PYTHONPATH": "/nowhere"}
    done = asyncio.run(run(["env"], "/", odd, 30))
    seen = dict(line.split("=", 1) for line in done.output.splitlines())
    assert seen == {**odd, "ODD": "\ufffd caf\u00e9", "PWD": "/", "REKINDLE_CHECK": "1"}


def test_a_command_leads_its_session_reads_nothing_and_ignores_no_signal() -> None:
    script = "echo $$ $(ps -o sid= -o pgid= -p $$); wc -c; grep SigIgn /proc/self/status; ls /proc/$$/fd; true"
    done = asyncio.run(run(["sh", "-c", script], "/", ENVIRONMENT, 30))
    ids, read, ignored, *files = done.output.splitlines()
    assert len(set(ids.split())) == 1
    assert read == "0"
    own = 1 << 31 | 1 << 32  # two signals are the C library's own: no program can ignore or restore them
    assert int(ignored.split()[1], 16) & ~own == 0
    assert files == ["0", "1", "2"]


def test_a_command_dies_with_the_daemon_that_wanted_it(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys; from rekindle.adapters.machine.commands import run;"
        "asyncio.run(run(sys.argv[1:], '/', {'PATH': '/usr/bin:/bin'}, 60))"
    )
    daemon = subprocess.Popen([sys.executable, "-c", code, *shell("exec sleep 50", tmp_path)])
    command = pid_in(tmp_path)
    assert is_running(command)
    daemon.kill()
    daemon.wait()
    until(lambda: not is_running(command), "the end of the command")
