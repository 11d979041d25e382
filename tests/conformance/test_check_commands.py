"""The promises of check commands. Nobody has a fake of them, so this machine alone is held to them."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from rekindle.adapters.machine import commands
from rekindle.ports.feature import CheckCommands, CommandDone

PORT: CheckCommands = commands


def done(*words: str, cwd: Path, seconds: float = 60.0, **env: str) -> CommandDone:
    return asyncio.run(PORT.run(words, str(cwd), {"PATH": os.environ["PATH"], **env}, seconds))


def test_a_command_runs_in_its_folder_with_its_environment_and_no_shell(tmp_path: Path) -> None:
    code = "import os, sys; print(os.getcwd(), os.environ['KEY'], sys.argv[1:])"
    found = done(sys.executable, "-c", code, "$KEY; echo", cwd=tmp_path, KEY="value")
    assert found == CommandDone(True, f"{tmp_path} value ['$KEY; echo']")


def test_a_command_that_fails_says_what_it_said_and_how_it_ended(tmp_path: Path) -> None:
    found = done("sh", "-c", "echo broken >&2; exit 3", cwd=tmp_path)
    assert not found.passed
    assert "broken" in found.output
    assert "3" in found.output


@pytest.mark.parametrize("words", [("no-such-program",), ("/",)])
def test_a_command_that_cannot_be_started_has_failed(tmp_path: Path, words: tuple[str, ...]) -> None:
    found = done(*words, cwd=tmp_path)
    assert not found.passed
    assert found.output


def test_a_folder_that_is_gone_fails_the_command(tmp_path: Path) -> None:
    assert not done("true", cwd=tmp_path / "gone").passed


def test_a_command_that_takes_too_long_has_failed_and_nothing_of_it_is_left(tmp_path: Path) -> None:
    code = "import subprocess, sys, time\nchild = subprocess.Popen(['sleep', '1000'])\nprint(child.pid, flush=True)\n"
    code += "open('pid', 'w').write(str(child.pid) + '\\n')\ntime.sleep(1000)"

    async def story() -> CommandDone:
        return await PORT.run((sys.executable, "-c", code), str(tmp_path), {"PATH": os.environ["PATH"]}, 3.0)

    found = asyncio.run(story())
    assert not found.passed
    assert "3 s" in found.output
    path = tmp_path / "pid"
    if path.exists():  # it was that fast
        state = Path(f"/proc/{path.read_text().strip()}/stat")
        assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] in "ZX"
