"""Many agents that speak at once: what the daemon and the keepers use meanwhile, and how late the feed is."""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import quantiles

from bench.measured import Disagreement, Measured, rounded
from bench.served import Served, home_environment, processor_seconds, pss, served
from bench.stage import Stage
from rekindle.keeper.launch import read_identity
from rekindle.places import Places
from rekindle.settings import load

_SHARE, _MEMORY = 0.005, 3e6
_WORDS_A_SECOND = 10
_START_SECONDS = 600.0


@dataclass(frozen=True)
class _Seen:
    """What some agents cost over a while, per agent. Shares are of one core, `late` is the 99th percentile."""

    daemon: float
    keepers: float
    daemon_bytes: float
    keeper_bytes: float
    late: float


def processor(agents: int) -> Callable[[Stage], Measured]:
    """The row for so many agents."""

    def measure(stage: Stage) -> Measured:
        seen = _watched(stage, agents)
        facts = {
            "agents": agents,
            "unit": "share of a core",
            "keepers, share each": rounded(seen.keepers),
            "guard and keeper, bytes each": rounded(seen.keeper_bytes),
            "feed late, p99 ms": rounded(1000 * seen.late),
        }
        return Measured([_SHARE], [seen.daemon], facts)

    return measure


def memory(agents: int) -> Callable[[Stage], Measured]:
    """The row for so many agents."""

    def measure(stage: Stage) -> Measured:
        return Measured([_MEMORY], [_watched(stage, agents).daemon_bytes], {"agents": agents, "unit": "bytes"})

    return measure


@cache
def _watched(stage: Stage, agents: int) -> _Seen:
    agents, seconds = (agents, 20.0) if stage.sizes.heavy > 2 else (agents // 25, 3.0)
    home = stage.folder / f"home-live-{agents}"
    home.mkdir()
    environment = home_environment(stage, str(home))
    with served(stage, str(home)) as daemon:
        before = pss(daemon.pid)
        feed = Feed(daemon)
        names = [secrets.token_hex(5) for _ in range(agents)]
        for name in names:
            daemon.ask(
                op="run",
                session=name,
                prompt_id="p1",
                agent="scripted",
                cwd=str(home),
                prompt="say hello",
                env=environment,
            )
        feed.until("turn_finished", names, 1)
        keepers = [_keeper(environment, name) for name in names]
        used = processor_seconds(daemon.pid), sum(map(processor_seconds, keepers))
        begun = time.monotonic()
        script = f"stream {int(seconds * _WORDS_A_SECOND)} {1 / _WORDS_A_SECOND:g} word"
        for name in names:
            daemon.ask(op="send", session=name, text=script, prompt_id="p2")
        feed.until("turn_finished", names, 2)
        spent = time.monotonic() - begun
        daemons = (processor_seconds(daemon.pid) - used[0]) / spent / agents
        keeping = (sum(map(processor_seconds, keepers)) - used[1]) / spent / agents
        grown, kept = pss(daemon.pid) - before, sum(map(pss, keepers)) / agents
        late = [feed.told[name] - last_word(environment, name) for name in names]
        for name in names:
            daemon.ask(op="stop", session=name, to="cancelled", by="bench")
    return _Seen(daemons, keeping, grown / agents, kept, quantiles([*late, *late], n=100)[98])


class Feed:
    """A client of the daemon's feed, in a thread: when it was told what of which session."""

    def __init__(self, daemon: Served) -> None:
        self._count: dict[tuple[str, str], int] = {}
        self.told: dict[str, float] = {}
        self._changed = threading.Condition()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(daemon.socket)
        self._socket.sendall(b'{"op": "follow_feed", "after": 0}\n')
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._socket.makefile("rb"):
            now, fact = time.time(), json.loads(line)
            kind, session = _kind(fact), fact.get("session")
            with self._changed:
                self._count[session, kind] = self._count.get((session, kind), 0) + 1
                if kind == "turn_finished":
                    self.told[session] = now
                self._changed.notify_all()

    def until(self, kind: str, sessions: list[str], times: int) -> None:
        """Wait until it was told so often of each session."""

        def is_told() -> bool:
            return all(self._count.get((name, kind), 0) >= times for name in sessions)

        with self._changed:
            if not self._changed.wait_for(is_told, _START_SECONDS):
                raise Disagreement(f"not all of {len(sessions)} agents came to the end of turn {times}")


def _kind(fact: dict[str, object]) -> str:
    return str(fact.get("fact"))


def _keeper(environment: dict[str, str], session: str) -> int:
    identity = read_identity(os.path.join(Places(load(environment, None)).sessions, session, "1"))
    if identity is None:
        raise Disagreement(f"session {session} has no keeper")
    return identity.keeper.pid


def last_word(environment: dict[str, str], session: str) -> float:
    """When the agent wrote its last line, by the clock of the file system."""
    return Path(Places(load(environment, None)).sessions, session, "1", "out").stat().st_mtime
