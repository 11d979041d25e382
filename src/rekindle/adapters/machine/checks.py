"""Inspects this machine. See `rekindle.ports.machine.Machine`."""

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
    """`terminals` is the path of our tmux server's socket; `ask_git` calls git in a folder."""

    def __init__(self, terminals: str, ask_git: Callable[..., str | None]) -> None:
        self._socket = terminals
        self._ask_git = ask_git

    def git_version(self) -> str | None:
        """What git says of itself."""
        return self._ask_git("/", "--version")

    def git_identity(self, folder: str) -> str | None:
        """The email address that commits made in a folder would have."""
        return os.environ.get("GIT_AUTHOR_EMAIL") or self._ask_git(folder, "config", "--get", "user.email") or None

    def free_bytes(self, folder: str) -> int | None:
        """How much room the disk of a folder has, or of the nearest one that is there."""
        while not os.path.isdir(folder) and folder != os.path.dirname(folder):
            folder = os.path.dirname(folder)
        try:
            return shutil.disk_usage(folder).free
        except OSError:
            return None

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
