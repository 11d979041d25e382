"""The second scene of `make demo`: a skill session whose agent is killed, and what may happen next to it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

SKILL = Path(__file__).parents[1] / "docs" / "skills" / "report"


def play(repository: Path, say: Callable[[str], None], show: Callable[..., str]) -> bool:
    """Show it in a repository; whether it showed what it promises."""
    say("A workflow in phases, as a skill declares them. An agent works on it …")
    shutil.copytree(SKILL, repository / ".claude" / "skills" / "report")
    folder = "sessions/login"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as agent:
        show("rekindle", "session", "activate", folder, "report", "--pid", str(agent.pid))
        for label in ("1", "2", "2.1"):
            show("rekindle", "session", "phase", label, "--dir", folder)
        say("… cannot skip a sub-phase, and is then killed:")
        show("rekindle", "session", "phase", "2.3", "--dir", folder, "--approve", "in a hurry")
        agent.kill()
    say("Whoever comes next goes on at the same phase:")
    told = show("rekindle", "session", "resume", folder, "--choose", "RSM")
    return "phaseResumed: 2.1: Draft" in told
