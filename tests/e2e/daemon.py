"""A user's machine for the session tests: own HOME, own daemon, and the means to kill any part of it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rekindle.adapters.daemon_socket.client import is_served
from rekindle.adapters.keepers.keeper_process import stamp
from rekindle.keeper import launch
from rekindle.places import Places
from rekindle.settings import load
from tests.e2e.looking import look
from tests.e2e.starter import starter
from tests.patience import FACTOR

BIN = Path(sys.executable).parent
_OURS = (str(BIN / "rekindle"),)
SECONDS = 60.0
#: What was put to the agent, in the conversation as it is shown.
_TOLD = re.compile(r"^(you|rekindle) .*\n(?: {6}.*\n)*", re.MULTILINE)


def until(condition: Callable[[], Any], what: str = "the condition", seconds: float = SECONDS) -> Any:
    """Wait until a condition holds, and return what it gave; fail after a minute (`tests.patience`)."""
    deadline = time.monotonic() + seconds * FACTOR
    while not (found := condition()):
        assert time.monotonic() < deadline, f"{what} did not come about"
        time.sleep(0.02)
    return found


@dataclass(frozen=True)
class Machine:
    """Commands as a user types them, and processes by their pid."""

    home: Path
    work: Path
    agent: str = "scripted"
    #: What the agent needs to find: its keys, its model, its program's folder (`PATH` is put in front).
    variables: Mapping[str, str] = field(default_factory=dict)
    #: What is typed for `rekindle`: another one is another installation.
    command: tuple[str, ...] = _OURS
    #: Whether commands that are waited for, and daemons that they start, are forked (`tests.e2e.starter`).
    is_quick: bool = True

    def environment(self, **more: str) -> dict[str, str]:
        path = os.pathsep.join([*filter(None, [self.variables.get("PATH")]), str(BIN), os.environ["PATH"]])
        kept = {"HOME": str(self.home), "LANG": "C.UTF-8", "REKINDLE_TEST_RUN": os.environ["REKINDLE_TEST_RUN"]}
        return {**kept, **self.variables, "PATH": path, **more}

    @property
    def places(self) -> Places:
        return Places(load(self.environment(), None))

    def run(self, *words: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        if not env and self._may_fork():
            return starter().run(
                "rekindle", words, cwd=self.work, env=self.environment(), stdin=stdin, seconds=120 * FACTOR
            )
        return subprocess.run(
            [*self.command, *words],
            cwd=self.work,
            env=self.environment(**env),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120 * FACTOR,
            check=False,
        )

    def _may_fork(self) -> bool:
        """Whether the starter can do it: it is this installation, and takes one order at a time.

        Seen from outside, what it forks has the environment of the starter.
        """
        is_ours = self.command == _OURS and not any(name.startswith("PYTHON") for name in self.variables)
        return self.is_quick and is_ours and threading.current_thread() is threading.main_thread()

    def start(self, *words: str) -> subprocess.Popen[str]:
        """A command that is not waited for; what it says for people comes with the rest."""
        return subprocess.Popen(
            [*self.command, *words],
            cwd=self.work,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def ok(self, *words: str, **env: str) -> str:
        done = self.run(*words, **env)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def json(self, *words: str) -> Any:
        return json.loads(self.ok(*words, "--json"))

    def json_of(self, *words: str) -> Any:
        """What a command tells programs, whatever its exit status."""
        done = self.run(*words, "--json")
        return json.loads(done.stdout)

    def look(self, *words: str) -> str:
        """What a command that only looks prints, without a process for it where that can be."""
        seen = self._in_here(*words)
        return self.ok(*words) if seen is None else seen

    def _in_here(self, *words: str) -> str | None:
        return look(self.environment(), self.work, *words) if self.command == _OURS else None

    def _tell(self, *words: str) -> None:
        if self._in_here(*words) is None:
            self.run(*words)

    def questions(self) -> list[dict[str, Any]]:
        """What agents ask."""
        found: list[dict[str, Any]] = json.loads(self.look("inbox", "--json"))["questions"]
        return found

    def sessions(self) -> list[dict[str, Any]]:
        """All sessions, oldest first."""
        found: list[dict[str, Any]] = json.loads(self.look("ps", "--all", "--json"))["sessions"]
        return found

    def begin(self, *script: str, options: tuple[str, ...] = (), arguments: tuple[str, ...] = ()) -> str:
        behind = ("--", *arguments) if arguments else ()
        return self.ok("run", "--detach", "--agent", self.agent, *options, "\n".join(script), *behind).strip()

    def show(self, session: str) -> Any:
        return json.loads(self.look("show", session, "--json"))

    def receipt(self, session: str) -> Any:
        """Its receipt, once that is the last word: a turn may run, and its record comes a moment late."""

        def settled() -> tuple[Any] | None:
            told = self.show(session)
            return None if told["receipt_may_change"] else (told["receipt"],)

        return until(settled, f"the proof of how {session} went on")[0]

    def status(self, session: str) -> str:
        return str(next(row["status"] for row in self.sessions() if row["id"] == session))

    def until_status(self, session: str, *wanted: str) -> str:
        return str(until(lambda: (found := self.status(session)) in wanted and found, f"{session} {wanted}"))

    def said(self, session: str) -> str:
        return self.look("logs", session)

    def until_said(self, session: str, text: str) -> None:
        """Wait for it in what the agent has said or done: what was put to the agent may have it before that."""
        until(lambda: text in _TOLD.sub(r"\1\n", self.said(session)), f"{text!r} in {session}")

    def folder(self, session: str, attempt: int = 1) -> str:
        return os.path.join(self.places.sessions, session, str(attempt))

    def pids(self, session: str, attempt: int = 1) -> dict[str, int]:
        identity = until(lambda: launch.read_identity(self.folder(session, attempt)), "an identity")
        return {"guard": identity.guard.pid, "keeper": identity.keeper.pid, "agent": identity.agent.pid}

    def kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        until(lambda: not is_running(pid), f"the end of {pid}")

    def daemon(self) -> int:
        return int(Path(self.places.daemon_lock).read_text())

    def kill_daemon(self) -> None:
        pid = self.daemon()
        self.kill(pid)
        until(lambda: not _has_threads(pid), f"the last thread of {pid}")  # it lets go of its locks

    def kill_victim(self, session: str, victim: str) -> None:
        """SIGKILL to the keeper, the agent or the daemon, or to all of them, as far as they are there."""
        newest = len(self.show(session)["session"]["attempts"])
        alive = launch.read_identity(self.folder(session, newest))
        pids = {"keeper": alive.keeper.pid, "agent": alive.agent.pid} if alive is not None else {}
        for name in ("keeper", "agent") if victim == "all" else (victim,):
            if name in pids and is_running(pids[name]):
                self.kill(pids[name])
        if victim in ("daemon", "all"):
            self.kill_daemon()

    def stamped(self) -> list[int]:
        """All live processes of any session of this machine."""
        sessions = os.listdir(self.places.sessions) if os.path.isdir(self.places.sessions) else []
        return [
            process.id.pid for name in sessions for process in launch.find_leftovers(stamp(self.places.sessions, name))
        ]

    def clean_up(self) -> None:
        self._tell("inbox")  # waits for a daemon that somebody was just starting
        self._tell("stop", "--all")
        self._tell("serve", "--stop")
        until(lambda: not self.stamped(), f"the end of {self.stamped()}")
        until(lambda: not is_served(self.places), "the end of the daemon")


def _has_threads(pid: int) -> bool:
    try:
        return len(os.listdir(f"/proc/{pid}/task")) > 1 or is_running(pid)
    except OSError:
        return False


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
