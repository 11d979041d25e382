"""Looks at this machine. See `rekindle.ports.machine.Machine`."""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable

_PREFIX = "rekindle-"
_SECONDS = 20


class ThisMachine:
    """`terminals` is the path of our tmux server's socket; `git_version` asks git for its own."""

    def __init__(self, terminals: str, git_version: Callable[[], str | None]) -> None:
        self._socket = terminals
        self._git_version = git_version

    def git_version(self) -> str | None:
        """What git says of itself."""
        return self._git_version()

    def has_program(self, name: str) -> bool:
        """Whether a program is on the PATH."""
        return shutil.which(name) is not None

    def lock_problem(self, folder: str) -> tuple[str, str] | None:
        """Take a lock twice on a file of our own: the second one has to be refused."""
        try:
            with tempfile.NamedTemporaryFile(dir=folder, prefix=".rekindle-lock-") as file:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
                second = os.open(file.name, os.O_RDONLY)
                try:
                    fcntl.flock(second, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    return None
                finally:
                    os.close(second)
        except OSError as error:
            return f"{folder}: cannot be written or locked ({error.strerror})", "check permissions and mount"
        return f"{folder}: locks do not hold on this file system", "keep the repository on a local one"

    def terminals(self) -> dict[str, str]:
        """The sessions that have a terminal of ours, each with the command that would end it."""
        ours = ["tmux", "-S", self._socket]
        listed = _output([*ours, "list-sessions", "-F", "#{session_name}"]) if self.has_program("tmux") else None
        return {
            name.removeprefix(_PREFIX): shlex.join([*ours, "kill-session", "-t", name])
            for name in (listed or "").splitlines()
            if name.startswith(_PREFIX)
        }


def _output(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else None
