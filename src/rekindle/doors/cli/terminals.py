"""The terminal of an agent that runs as an interactive program, for people who want to use it."""

from __future__ import annotations

import os
import sys

from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import UsageError


def enter(session: str) -> int:
    """Become the terminal's client; this process is tmux from here on."""
    line = use_cases().terminals().way_in(session)
    if not sys.stdin.isatty():
        raise UsageError("this is not a terminal", f"look at its screen: rekindle capture {session}")
    environment = {key: value for key, value in os.environ.items() if key != "TMUX"}
    os.execvpe(line[0], line, environment)
