"""Calls git in one work tree: argument lists, bytes, no hook, no prompt, nothing of the caller's git variables.

What a call may change is up to its arguments; of itself it takes no lock of the user's index and starts no clean-up.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

from rekindle.ports.errors import RekindleError

#: Longer than any honest work on a tree; whoever waits for git waits in a thread.
SECONDS = 600.0
_KEPT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES", "GIT_EXEC_PATH")
_SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.splitIndex": "false",  # a split index would put its other half beside the user's
    "core.safecrlf": "false",
    "core.quotePath": "true",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
    "advice.addEmbeddedRepo": "false",
    "i18n.commitEncoding": "UTF-8",
    "log.showSignature": "false",
}


class GitFailed(RekindleError):
    """git could not do what it was asked."""

    code = "git"


class Git:
    """git as seen from one folder."""

    def __init__(self, folder: str, index: str | None = None) -> None:
        self.folder = folder
        self._index = index

    def with_index(self, index: str) -> Git:
        """The same place with an index file of our own."""
        return Git(self.folder, index)

    def output(self, *words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
        """Standard output of a call that succeeds. Raises GitFailed with git's last words."""
        done = self.run(*words, stdin=stdin, env=env)
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            what = said[-1].removeprefix("fatal: ") if said else f"status {done.returncode}"
            raise GitFailed(f"git {words[0]} in {self.folder}: {what}", "see what `git status` says there")
        return done.stdout

    def line(self, *words: str) -> str | None:
        """One line of output, None where the call fails."""
        done = self.run(*words)
        return os.fsdecode(done.stdout.removesuffix(b"\n")) if done.returncode == 0 else None

    def run(
        self, *words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """One call, however it ends."""
        settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
        try:
            return subprocess.run(
                ["git", "--literal-pathspecs", *settings, "-C", self.folder, *words],
                input=stdin,
                capture_output=True,
                env=self._environment(env or {}),
                check=False,
                timeout=SECONDS,
            )
        except OSError as error:
            raise GitFailed(f"git cannot be started ({error.strerror})", "install git") from error
        except subprocess.TimeoutExpired:
            raise GitFailed(
                f"git {words[0]} in {self.folder} took longer than {SECONDS:g} s", "is the disk there?"
            ) from None

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
        env |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1"}
        if self._index is not None:
            env["GIT_INDEX_FILE"] = self._index
        return env | dict(more)
