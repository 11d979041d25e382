"""A user's repository for the tests of features: plans, the real commands, and the end of everything at once."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rekindle.adapters.daemon_socket.client import is_served
from rekindle.keeper import launch
from tests.e2e.daemon import Machine, until

FEATURE = "shop"


def task(name: str, *script: str, **more: Any) -> str:
    """One task of a plan file."""
    given = {"id": name, "summary": f"Task {name}", "prompt": "\n".join(script) or f"write {name}.txt {name}", **more}
    return "[[task]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in given.items())


@dataclass(frozen=True)
class Shop:
    """A repository with a checkout on `main`, and a machine to run features on."""

    machine: Machine
    feature: str = FEATURE

    @property
    def root(self) -> Path:
        return self.machine.work

    def make(self) -> Shop:
        self.git("init", "-q", "-b", "main")
        (self.root / "readme.txt").write_text("hello\n")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "begin")
        (self.root / "readme.txt").write_text("hello, dirty\n")
        (self.root / "notes.txt").write_text("the user's own\n")
        return self

    def git(self, *words: str, cwd: Path | str | None = None) -> str:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
        env = {**self.machine.environment(), "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["git", *who, *words], cwd=cwd or self.root, env=env, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def plan(self, *tasks: str, head: str = "") -> str:
        path = self.machine.home / f"{self.feature}.toml"
        path.write_text(f'feature = "{self.feature}"\nagent = "scripted"\n{head}\n' + "\n".join(tasks))
        return str(path)

    def path_without_agents(self) -> str:
        """A PATH with git and what checks need, and no agent of this machine."""
        return os.pathsep.join((os.path.dirname(self.machine.command[0]), "/usr/bin", "/bin"))

    def start(self, *words: str) -> subprocess.Popen[str]:
        """A command that is left running."""
        return subprocess.Popen(
            [*self.machine.command, *words],
            cwd=self.root,
            env=self.machine.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def checkout(self) -> tuple[str, ...]:
        """Everything of the user's that must stay as it is."""
        index = (self.root / ".git" / "index").read_bytes().hex()
        files = tuple(sorted(name for name in os.listdir(self.root) if name not in (".claude", ".worktrees")))
        head = (self.git("rev-parse", "HEAD"), (self.root / ".git" / "HEAD").read_text())
        return (*head, (self.root / "readme.txt").read_text(), index, *files)

    @property
    def journal(self) -> Path:
        return self.root / ".claude" / "progress" / self.feature / "events.jsonl"

    def events(self, *types: str) -> list[dict[str, Any]]:
        if not self.journal.exists():
            return []
        found = [json.loads(line) for line in self.journal.read_bytes().splitlines() if line.endswith(b"}")]
        return [event for event in found if not types or event["type"] in types]

    def count(self, type_: str) -> Counter[str]:
        """How often each task has such an event."""
        return Counter(event["data"]["taskId"] for event in self.events(type_))

    def history(self) -> list[tuple[str, str]]:
        """The merges on the feature's branch, oldest first, each with the tree that it made."""
        told = self.git("log", "--first-parent", "--reverse", "--format=%s%x09%T", f"main..feature/{self.feature}")
        return [(subject, tree) for line in told.splitlines() for subject, _, tree in [line.partition("\t")]]

    def said(self, task: str) -> str:
        """What the newest session of a task has said and done so far."""
        rows = [row for row in self.machine.sessions() if row["title"].endswith(f"Task {task}")]
        return self.machine.said(rows[-1]["id"]) if rows else ""

    def prompts(self, task: str) -> list[str]:
        """What was put to the sessions of a task, oldest first."""
        rows = [row["id"] for row in self.machine.sessions() if row["title"].endswith(f" {task}")]
        return [prompt["text"] for name in rows for prompt in self.machine.show(name)["session"]["prompts"]]

    def lose_store(self) -> None:
        """Delete the store, and all that it could be made from again. Nothing may run."""
        for name in ("store.db", "store.db-wal", "store.db-shm"):
            Path(os.path.dirname(self.machine.places.store), name).unlink(missing_ok=True)
        shutil.rmtree(self.machine.places.sessions)

    def kill_everything(self, *commands: subprocess.Popen[Any]) -> None:
        """SIGKILL for the daemon, every guard, keeper and agent, at once, until nobody is left.

        A daemon that one of the `commands` is just starting is in no list yet: all are killed until the commands, which
        need it, have ended too.
        """
        until(lambda: self._is_killed() and all(one.poll() is not None for one in commands), "the end of all")

    def _is_killed(self) -> bool:
        with contextlib.suppress(OSError, ValueError):
            if is_served(self.machine.places):
                os.kill(self.machine.daemon(), signal.SIGKILL)
        left = self._processes()
        for how in (signal.SIGSTOP, signal.SIGKILL):  # so that none sees the death of another one and speaks of it
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, how)
        return not left and not is_served(self.machine.places)

    def _processes(self) -> set[int]:
        found = set(self.machine.stamped())
        for place in Path(self.machine.places.sessions).glob("*/[0-9]*"):
            identity = launch.read_identity(str(place)) if launch.is_alive(str(place)) else None
            if identity is not None:
                found |= {identity.guard.pid, identity.keeper.pid, identity.agent.pid}
        return found

    def yes(self) -> tuple[str, ...]:
        """What a person types who has looked at a journal from elsewhere and agrees."""
        found = self.machine.json("resume", self.feature, "--explain")["unapproved"]
        return ("--trust", found[:12]) if found is not None else ()

    def put_journal(self, *lines: bytes) -> None:
        self.journal.parent.mkdir(parents=True, exist_ok=True)
        self.journal.write_bytes(b"".join(line + b"\n" for line in lines))
