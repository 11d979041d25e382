"""A campaign against sessions: prompts with countable effects, and SIGKILL of anything at any moment.

One seed is one schedule. What was acknowledged is written down here; what really happened is counted in files that
only the agents' commands write. The two, and what rekindle says of itself, are then held against one another.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rekindle.keeper import launch
from tests.e2e.daemon import BIN, Machine, is_running, until

SESSIONS: Final = 8
VICTIMS: Final = ("agent", "keeper", "guard", "daemon", "client", "session", "everything")
#: What a settled session can be: nothing more will happen before a person does something.
_SETTLED: Final = ("asleep", "waiting", "interrupted", "dead", "failed")
_SECONDS: Final = 120.0


@dataclass
class Told:
    """A prompt: its key is what its command writes. `acknowledged`: the command that sent it said so."""

    key: str
    session: str
    acknowledged: bool = False


@dataclass
class Campaign:
    machine: Machine
    seed: int
    prompts: list[Told] = field(default_factory=list)
    kills: int = 0
    killed: Counter[str] = field(default_factory=Counter)
    sessions: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._effects = self.machine.home / "effects"
        self._effects.mkdir()
        self._clients: dict[str, tuple[Told, subprocess.Popen[bytes]]] = {}
        self._resumes: list[subprocess.Popen[bytes]] = []
        self._errors = (self.machine.home / "errors").open("wb")

    def begin(self) -> None:
        for number in range(SESSIONS):
            policy = "continue" if number % 2 else "ask"
            self.sessions.append(self.machine.begin("say ready", options=("--policy", policy)))

    def run(self, kills: int, seconds: float) -> None:
        """Prompts, kills and resumes in a random order, until there were enough kills or the time is over."""
        deadline = time.monotonic() + seconds
        while self.kills < kills and time.monotonic() < deadline:
            match self._chance.choices(("send", "kill", "resume"), weights=(4, 4, 1))[0]:
                case "send":
                    self._send()
                case "kill":
                    time.sleep(self._chance.uniform(0.0, 0.8))  # the moment itself is what is tried out
                    self._kill()
                case _:
                    self._resume_twice()
        for session in self.sessions:
            self._wait_for(session)
        for one in self._resumes:
            one.wait(_SECONDS)
        self._errors.close()

    def settle(self) -> None:
        """No more kills: bring everything back, until nothing is on its way any more."""
        deadline = time.monotonic() + _SECONDS
        while True:
            self.machine.run("resume", "--all")
            for row in self.machine.sessions():
                if row["status"] in ("interrupted", "dead", "queued", "failed"):
                    self.machine.run("resume", row["id"])
            until(self._is_quiet, "rest after the last kill", _SECONDS)
            rows = self.machine.sessions()
            if all(row["status"] in ("asleep", "waiting") and not row["queued"] for row in rows):
                return
            assert time.monotonic() < deadline, [(row["id"], row["status"], row["message"]) for row in rows]

    def faults(self) -> list[str]:
        """What was lost, doubled, out of order, not named, or hidden."""
        listed = {row["id"] for row in self.machine.json("ps", "--all")["sessions"]}
        found = [f"hidden: {session} is not in the list" for session in self.sessions if session not in listed]
        if "Traceback" in (self.machine.home / "errors").read_text():
            found.append("a command ended with a traceback")
        for session in self.sessions:
            found += self._faults_of(session)
        return found

    def _faults_of(self, session: str) -> list[str]:
        done = self._file(session).read_text().split() if self._file(session).exists() else []
        count = Counter(done)
        mine = [one for one in self.prompts if one.session == session]
        named = self._named(session)
        found = [f"doubled: {key} ran {number} times" for key, number in count.items() if number > 1]
        for one in mine:
            begun = f"{one.key}-begun" in count
            ended = f"{one.key}-ended" in count
            if not one.acknowledged and not begun:
                continue  # nobody was told that it would happen
            if not begun and not _names(named, one.key):
                found.append(f"lost: {one.key} was acknowledged and never ran, and no receipt names it")
            if begun and not ended and not _names(named, one.key):
                found.append(f"unnamed: {one.key} was cut in the middle, and no receipt names it")
        first = list(dict.fromkeys(key.rpartition("-")[0] for key in done))
        if first != [one.key for one in mine if one.key in first]:
            found.append(f"order: {session} did {first}")
        return found

    def _named(self, session: str) -> str:
        """Everything that the session's receipts say about what is unknown or repeated."""
        shown = self.machine.show(session)["session"]
        receipts: list[dict[str, Any]] = [one["receipt"] for one in shown["attempts"] if one["receipt"]]
        return "\n".join(line for one in receipts for line in (*one["unknown"], *one["repeated"]))

    def _is_quiet(self) -> bool:
        return all(row["status"] in _SETTLED for row in self.machine.sessions())

    def _file(self, session: str) -> Path:
        return self._effects / session

    def _send(self, *, kill_client: bool = False) -> None:
        """Start a command that sends, and go on: kills fall into it. One at a time for each session: order counts."""
        session = self._chance.choice(self.sessions)
        self._wait_for(session)
        told = Told(f"p{len(self.prompts)}", session)
        self.prompts.append(told)
        file = self._file(session)
        effect = f"echo {told.key}-begun >> {file}; sleep 0.3; echo {told.key}-ended >> {file}"
        client = self._start("send", session, f"say {told.key} begins\nrun sh -c '{effect}'\nsay {told.key} is done")
        self._clients[session] = (told, client)
        if kill_client:
            time.sleep(self._chance.uniform(0.05, 0.6))  # the moment itself is what is tried out
            client.kill()
            self._count("client")

    def _wait_for(self, session: str) -> None:
        if session in self._clients:
            told, client = self._clients.pop(session)
            told.acknowledged = client.wait(_SECONDS) == 0

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [str(BIN / "rekindle"), *words],
            cwd=self.machine.work,
            env=self.machine.environment(),
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
        )

    def _kill(self) -> None:
        victim = self._chance.choice(VICTIMS)
        session = self._chance.choice(self.sessions)
        if victim == "client":
            self._send(kill_client=True)
            return
        targets = self._targets(victim, session)
        if not targets:
            return
        for pid in targets:
            _end(pid)
        self._count(victim)

    def _targets(self, victim: str, session: str) -> list[int]:
        if victim == "everything":
            return [pid for one in self.sessions for pid in self._tree(one)] + self._daemon()
        if victim == "daemon":
            return self._daemon()
        tree = self._tree(session)
        if victim == "session":
            return tree
        return [tree[("guard", "keeper", "agent").index(victim)]] if len(tree) == 3 else []

    def _tree(self, session: str) -> list[int]:
        """Guard, keeper and agent of the newest attempt that has an identity, as far as they run."""
        folder = Path(self.machine.places.sessions, session)
        attempts = sorted((int(one.name) for one in folder.iterdir() if one.name.isdigit()), reverse=True)
        for number in attempts[:2]:
            identity = launch.read_identity(str(folder / str(number)))
            if identity is not None and is_running(identity.agent.pid):
                return [identity.guard.pid, identity.keeper.pid, identity.agent.pid]
        return []

    def _daemon(self) -> list[int]:
        try:
            pid = self.machine.daemon()
        except (OSError, ValueError):
            return []
        return [pid] if is_running(pid) else []

    def _count(self, victim: str) -> None:
        self.kills += 1
        self.killed[victim] += 1

    def _resume_twice(self) -> None:
        """Two at once: one may win, and the other be told."""
        words = self._chance.choice([("resume", "--all"), ("resume", self._chance.choice(self.sessions))])
        self._resumes += [self._start(*words), self._start(*words)]


def _names(told: str, key: str) -> bool:
    """Whether a text names this prompt, by its own words or by its command: p1 is not in p12."""
    return f"say {key} begins" in told or f"echo {key}-begun" in told


def _end(pid: int) -> None:
    """SIGKILL, at the very moment; somebody else may have been faster."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
