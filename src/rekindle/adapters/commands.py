"""Runs a check command of a plan: words, no shell, its whole process group ended when its time is over.

A daemon that is killed takes the command with it: the next run starts it again, and two at once would meet.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

from rekindle.keeper import kernel
from rekindle.ports.feature import CommandDone

#: So much of a command's output is looked at, from its end.
_MOST = 1 << 16


def run(words: Sequence[str], cwd: str, env: Mapping[str, str], seconds: float) -> CommandDone:
    """Run a command to its end. One that cannot be started, or takes too long, has failed."""
    parent = os.getpid()

    def die_with_us() -> None:
        with contextlib.suppress(OSError):
            kernel.die_with_parent(signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    try:
        process = subprocess.Popen(
            list(words),
            cwd=cwd,
            env={**env, "PWD": cwd},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_us,
        )
    except (OSError, ValueError) as error:
        return CommandDone(False, f"cannot be started: {error}")
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return CommandDone(False, f"took longer than {seconds:g} s")
    text = output[-_MOST:].decode("utf-8", "replace").strip()
    ended = "" if process.returncode == 0 else f"exit status {process.returncode}"
    return CommandDone(process.returncode == 0, "\n".join(part for part in (text, ended) if part))
