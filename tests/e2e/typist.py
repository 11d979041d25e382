"""A person at a terminal that cannot go back: everything that a command has shown there is a text that only grows."""

from __future__ import annotations

import re
import time

from rekindle.doors.cli.typed import ARMED_AFTER
from tests.e2e.daemon import Machine, until
from tests.e2e.terminal import TerminalRun

_STYLE = re.compile(r"\x1b\[[0-9;]*m")


class Typist(TerminalRun):
    """`with Typist(machine, "attach", session) as person`."""

    def __init__(self, machine: Machine, *words: str) -> None:
        super().__init__(machine, *words, env={"TERM": "dumb"})

    @property
    def screen(self) -> str:
        """All that was shown so far, without colours."""
        return _STYLE.sub("", self.raw.decode(errors="replace").replace("\r\n", "\n"))

    def until_shown(self, text: str, times: int = 1) -> None:
        until(lambda: self.screen.count(text) >= times, f"{text!r} on the screen {self.screen!r}")

    def type(self, text: str) -> None:
        """A line, in the pace of a person: a question takes no answer in its first moments."""
        time.sleep(ARMED_AFTER + 0.1)
        self.press(f"{text}\n")
