"""Calls git in one work tree: argument lists, bytes, nothing of a repository's own that could run (`git_process`).

What a call may change is up to its arguments; of itself it takes no lock of the user's index and starts no clean-up.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from rekindle.adapters.git import config, worktree_turns
from rekindle.adapters.git import process as git_process
from rekindle.adapters.git.process import Process, Setting
from rekindle.core.git_complaints import reason
from rekindle.core.git_half_made import changes_worktrees, half_made
from rekindle.core.git_locks import lock_in_the_way
from rekindle.ports.errors import GitFailed, GitKilled

#: Longer than any real work on a tree; waiting for git happens in a thread.
SECONDS = 600.0

Done = subprocess.CompletedProcess[bytes]
#: Called with the lock file that made a call fail; True if the call may be retried. May take seconds.
Unlock = Callable[[str], bool]
_TRIES = 4
#: How long to wait, each time, before a call that failed on a half-made worktree is repeated.
PAUSES = (0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28)
#: Commands that change nothing.
_READS = frozenset(
    {
        *("cat-file", "check-attr", "check-ref-format", "diff", "diff-files", "diff-index", "diff-tree", "grep", "log"),
        *("for-each-ref", "ls-files", "ls-tree", "merge-base", "rev-list", "rev-parse", "show", "status", "var"),
    }
)


class Children:
    """git processes that are ended together when nobody can wait for them any longer. Safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[Process] = set()
        self._ended = False

    def start(
        self, folder: str, words: Sequence[str], settings: Sequence[Setting], variables: Mapping[str, str]
    ) -> Process:
        """Start another one. Raises GitFailed after `end`."""
        with self._lock:
            if self._ended:
                raise GitFailed("git was not started: rekindle is stopping", "it is done at the next start")
            process = git_process.start(folder, words, settings, variables)
            self._running.add(process)
            return process

    def forget(self, process: Process) -> None:
        """Remove one; it is killed if it is still running."""
        with self._lock:
            self._running.discard(process)
            _kill(process)
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()

    def end(self) -> None:
        """Kill the running ones, and start no more."""
        with self._lock:
            self._ended = True
            for process in self._running:
                _kill(process)


def _killed(words: Sequence[str], folder: str, done: Done) -> GitKilled:
    command = next(word for number, word in enumerate(words) if "-c" not in (word, *words[:number][-1:]))
    return GitKilled(f"git {command} in {folder} was killed (signal {-done.returncode})", "try it again")


def _kill(process: Process) -> None:
    """End a process with its group: filters and the like have git's pipes open. Nothing if it has been waited for."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


class Git:
    """git as seen from one folder, with variables of our own."""

    def __init__(
        self,
        folder: str,
        children: Children | None = None,
        variables: Mapping[str, str] | None = None,
        unlock: Unlock | None = None,
    ) -> None:
        self.folder = folder
        self._children = children or Children()
        self._variables = dict(variables or {})
        self._unlock = unlock

    def at(self, folder: str) -> Git:
        """git in another folder, without our variables: it may be another repository."""
        return Git(folder, self._children, unlock=self._unlock)

    def with_index(self, index: str) -> Git:
        """The same place with an index file of our own."""
        return self.with_variables(GIT_INDEX_FILE=index)

    def with_variables(self, **variables: str) -> Git:
        """The same place with more variables."""
        return Git(self.folder, self._children, {**self._variables, **variables}, self._unlock)

    def policy(self) -> config.Policy:
        """What of the repository's own configuration is not run here."""
        return config.policy(self.folder)

    def output(self, *words: str, stdin: bytes = b"") -> bytes:
        """Standard output of a call that succeeds. Raises GitFailed with git's reasons."""
        return self._checked(words, self.run(*words, stdin=stdin))

    def outputs(self, *calls: Sequence[str]) -> list[bytes]:
        """Standard output of calls that only read, all at once."""
        started: list[Process] = []
        try:
            for words in calls:
                started.append(self._start(words))  # noqa: PERF401 those that were started have to be known
            ended = [self._finish(words, process, b"") for words, process in zip(calls, started, strict=True)]
        finally:
            for process in started:
                self._children.forget(process)
        settled = [self._settled(words, done) for words, done in zip(calls, ended, strict=True)]
        return [self._checked(words, done) for words, done in zip(calls, settled, strict=True)]

    def line(self, *words: str) -> str | None:
        """One line of output; None if the call fails."""
        done = self.run(*words)
        return os.fsdecode(done.stdout.removesuffix(b"\n")) if done.returncode == 0 else None

    def run(self, *words: str, stdin: bytes = b"", upon: str | None = None) -> Done:
        """One call, however it ends. `upon` is another worktree that git looks into by itself.

        A call that fails on a lock file is retried if the lock callback says so, and one that fails on a worktree
        that another git is just making or removing is retried a few times. Raises GitKilled for a git that
        died of a signal, which says nothing about what was asked; what only reads is asked again first.
        """
        for _ in range(_TRIES):
            done = self._settled(words, self._once(words, stdin, upon), stdin, upon)
            if done.returncode < 0 and words[0] in _READS:
                continue
            lock = lock_in_the_way(done.stderr) if self._unlock is not None and done.returncode > 0 else None
            if lock is None or self._unlock is None or not self._unlock(lock):
                break
        if done.returncode < 0:
            raise _killed(words, self.folder, done)
        return done

    def _settled(self, words: Sequence[str], done: Done, stdin: bytes = b"", upon: str | None = None) -> Done:
        """The end of a call, repeated while a worktree that is not completely made is why it failed."""
        for pause in PAUSES:
            if done.returncode <= 0 or half_made(done.stderr) is None:
                return done
            time.sleep(pause)
            done = self._once(words, stdin, upon)
        name = half_made(done.stderr) if done.returncode > 0 else None
        if name is not None and worktree_turns.complete(self.folder, name):
            done = self._once(words, stdin, upon)
        return done

    def _once(self, words: Sequence[str], stdin: bytes, upon: str | None) -> Done:
        turn = worktree_turns.changing(self.folder) if changes_worktrees(words) else contextlib.nullcontext()
        with turn:
            process = self._start(words, upon)
            try:
                return self._finish(words, process, stdin)
            finally:
                self._children.forget(process)

    def _start(self, words: Sequence[str], upon: str | None = None) -> Process:
        there = config.policy(upon).settings if upon is not None else ()
        try:
            return self._children.start(self.folder, words, (*self.policy().settings, *there), self._variables)
        except OSError as error:
            raise GitFailed(f"git cannot be started ({error.strerror})", "install git") from error

    def _finish(self, words: Sequence[str], process: Process, stdin: bytes) -> Done:
        try:
            stdout, stderr = process.communicate(stdin, SECONDS)
        except subprocess.TimeoutExpired:
            raise GitFailed(
                f"git {words[0]} in {self.folder} took longer than {SECONDS:g} s", "is the disk there?"
            ) from None
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    def _checked(self, words: Sequence[str], done: Done) -> bytes:
        if done.returncode < 0:
            raise _killed(words, self.folder, done)
        if done.returncode != 0:
            what = reason(done.stderr) if done.stderr.strip() else f"status {done.returncode}"
            raise GitFailed(f"git {words[0]} in {self.folder}: {what}", "see what `git status` says there")
        return done.stdout
