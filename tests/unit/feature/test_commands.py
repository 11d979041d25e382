"""Checks that behave badly: they flood, leave processes behind, take too long, or are cut short."""

from __future__ import annotations

import asyncio
import os
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


def test_what_cannot_be_started_has_failed() -> None:
    done = asyncio.run(run(["/no/such/program"], "/", ENVIRONMENT, 5))
    assert not done.passed and "cannot be started" in done.output
