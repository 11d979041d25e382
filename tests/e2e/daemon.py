"""A user's machine for the session tests: own HOME, own daemon, and the means to kill any part of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
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

BIN = Path(sys.executable).parent
SECONDS = 60.0


def until(condition: Callable[[], Any], what: str = "the condition", seconds: float = SECONDS) -> Any:
    """Wait until a condition holds, and return what it gave; fail after a minute."""
    deadline = time.monotonic() + seconds
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
    command: tuple[str, ...] = (str(BIN / "rekindle"),)

    def environment(self, **more: str) -> dict[str, str]:
        path = os.pathsep.join([*filter(None, [self.variables.get("PATH")]), str(BIN), os.environ["PATH"]])
        kept = {"HOME": str(self.home), "LANG": "C.UTF-8", "REKINDLE_TEST_RUN": os.environ["REKINDLE_TEST_RUN"]}
        return {**kept, **self.variables, "PATH": path, **more}

    @property
    def places(self) -> Places:
        return Places(load(self.environment(), None))

    def run(self, *words: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command, *words],
            cwd=self.work,
            env=self.environment(**env),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

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

    def begin(self, *script: str, options: tuple[str, ...] = (), arguments: tuple[str, ...] = ()) -> str:
        behind = ("--", *arguments) if arguments else ()
        return self.ok("run", "--detach", "--agent", self.agent, *options, "\n".join(script), *behind).strip()

    def show(self, session: str) -> Any:
        return self.json("show", session)

    def receipt(self, session: str) -> Any:
        """Its receipt, once a turn has shown what it was to show: the agent's record comes a moment late."""

        def settled() -> tuple[Any] | None:
            found = self.show(session)["receipt"]
            return None if found is not None and "the next turn will show" in found["reason"] else (found,)

        return until(settled, f"the proof of how {session} went on")[0]

    def status(self, session: str) -> str:
        rows = self.json("ps", "--all")["sessions"]
        return str(next(row["status"] for row in rows if row["id"] == session))

    def until_status(self, session: str, *wanted: str) -> str:
        return str(until(lambda: (found := self.status(session)) in wanted and found, f"{session} {wanted}"))

    def said(self, session: str) -> str:
        return self.ok("logs", session)

    def until_said(self, session: str, text: str) -> None:
        until(lambda: text in self.said(session), f"{text!r} in {session}")

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
        self.kill(self.daemon())

    def stamped(self) -> list[int]:
        """All live processes of any session of this machine."""
        sessions = os.listdir(self.places.sessions) if os.path.isdir(self.places.sessions) else []
        return [
            process.id.pid for name in sessions for process in launch.find_leftovers(stamp(self.places.sessions, name))
        ]

    def clean_up(self) -> None:
        self.run("stop", "--all")
        self.run("serve", "--stop")
        until(lambda: not self.stamped(), f"the end of {self.stamped()}")
        until(lambda: not is_served(self.places), "the end of the daemon")


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
