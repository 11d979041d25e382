"""The README's console blocks, typed one after the other by a newcomer with an empty HOME in a new repository."""

from __future__ import annotations

import contextlib
import os
import subprocess
import termios
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.daemon import Machine
from tests.e2e.readme import Command, Names, blocks

#: Commands that change nothing.
LOOKS = ("rekindle ps", "rekindle show")
README = Path(__file__).parents[2] / "README.md"


def typed(machine: Machine, command: str) -> tuple[int, str]:
    """What a command prints on a terminal of 80 columns without colours, and its exit status."""
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    environment = machine.environment(GIT_CONFIG_GLOBAL=str(machine.home / ".gitconfig"), NO_COLOR="1", TERM="xterm")
    with subprocess.Popen(
        ["bash", "-c", command],
        cwd=machine.work,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.STDOUT,
    ) as process:
        os.close(theirs)
        printed = b""
        with contextlib.suppress(OSError):  # the terminal is gone when its last user is
            while more := os.read(ours, 65536):
                printed += more
        os.close(ours)
    return process.returncode, printed.decode()


def plays(machine: Machine, command: Command, names: Names) -> str:
    """What is wrong with a command, if anything is."""
    status, text = typed(machine, names.translated(command.typed))
    if status != 0:
        return f"exit {status}\n{text}"
    if not command.shown:
        return ""
    printed, known = text.splitlines(), dict(names.known)
    fits = len(printed) == len(command.shown)
    if fits and all(names.learn(shown, line) for shown, line in zip(command.shown, printed, strict=True)):
        return ""
    names.known = known
    return "\n".join(["the page shows", *command.shown, "but it printed", *printed])


@pytest.mark.timeout(300)
def test_the_readme_does_what_it_says_block_by_block(machine: Machine) -> None:
    machine = replace(machine, work=machine.home / "shop")
    machine.work.mkdir()
    typed(machine, "git config --global user.name you; git config --global user.email you@example.invalid")
    typed(machine, "git init --quiet --initial-branch main; git commit --quiet --allow-empty --message 'a beginning'")
    names = Names()
    found = blocks(README.read_text())
    assert len(found) == 3
    for command in [command for block in found for command in block]:
        wrong = plays(machine, command, names)
        deadline = time.monotonic() + 30
        while wrong and command.typed.startswith(LOOKS) and time.monotonic() < deadline:
            wrong = plays(machine, command, names)  # whoever was killed is missed a moment later
        assert not wrong, f"$ {command.typed}\n{wrong}"
