"""Measures what the daemon and the keepers cost: memory of an idle session, appends through the daemon, recovery."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any

from bench.appending import _AGENT, _DATA, _PANE, _plainly, _race
from bench.measured import Disagreement, Measured, in_turn, rounded
from bench.stage import Stage
from rekindle.adapters.sql_store.open import open_store
from rekindle.core.session import facts as f
from rekindle.core.session.machine import evolve
from rekindle.keeper import launch
from rekindle.keeper.client import Client
from rekindle.places import Places
from rekindle.ports.store import commit_one, of_session
from rekindle.settings import load

_LIMIT = 15e6
_SESSIONS = 50
_FEATURE = "auth-system"
_WRITERS = 64


def memory(stage: Stage) -> Measured:
    """PSS of guard and keeper of 50 sessions whose agent is `cat`, per session, against 15 MB."""
    number = _SESSIONS if stage.sizes.heavy > 2 else 5
    started = []
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        try:
            for index in range(number):
                home = Path(folder, str(index))
                spec = launch.Spec(
                    session=f"bench{index}",
                    attempt=1,
                    generation=1,
                    argv=("cat",),
                    cwd=folder,
                    env={"PATH": os.environ.get("PATH", os.defpath)},
                    folder=str(home / "1"),
                    lock=str(home / "lock"),
                    socket_dir=str(Path(folder, "k")),
                    stamp=f"rekindle-bench-{os.getpid()}-{index}",
                )
                started.append((spec, launch.spawn(spec)))
            sizes = [_pss(one.identity.guard.pid) + _pss(one.identity.keeper.pid) for _, one in started]
        finally:
            for spec, one in started:
                with Client(one.socket, 1) as client:
                    client.stop("the measurement is over")
                launch.wait_until_gone(spec.lock, 30)
    return Measured([_LIMIT] * number, [float(size) for size in sizes], {"sessions": number, "unit": "bytes"})


def _pss(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise Disagreement(f"process {pid} has no PSS")


def append_through_daemon(stage: Stage) -> Measured:
    """64 processes append through the daemon, each waiting for every acknowledgement."""
    repository = stage.repository("daemon", f"feature/{_FEATURE}")
    each = max(1, stage.sizes.appends // _WRITERS)
    numbers = count()
    with _daemon(stage) as path:

        def through(journal: Path, sid: str, number: int) -> None:
            feature = journal.parent.name
            with socket.socket(socket.AF_UNIX) as connection, connection.makefile("rb") as answers:
                connection.connect(path)
                request = {"op": "journal_append", "cwd": str(repository), "feature": feature, "type": "task.completed"}
                more = {"data": _DATA, "sid": sid, "agent": _AGENT, "pane_id": _PANE}
                line = json.dumps({**request, **more}).encode() + b"\n"
                for _ in range(number):
                    connection.sendall(line)
                    if not json.loads(answers.readline())["ok"]:
                        raise Disagreement("the daemon refused an event")

        def reference() -> float:
            file = stage.folder / f"plain-{next(numbers)}" / "events.jsonl"
            file.parent.mkdir()
            return _race(_plainly, file, _WRITERS, each)

        def candidate() -> float:
            file = repository / ".claude" / "progress" / f"auth-syst{next(numbers):02d}" / "events.jsonl"
            return _race(through, file, _WRITERS, each)

        measured = in_turn(max(3, stage.sizes.light // 6), reference, candidate)
    seconds = sum(measured.candidate) / len(measured.candidate)
    return replace(measured, facts={"writers": _WRITERS, "events_a_second": rounded(_WRITERS * each / seconds)})


def recovery(stage: Stage) -> Measured:
    """From the daemon's start to its first answer, with 1,000 idle sessions in the store, against 100."""
    homes = {number: idle_home(stage, number) for number in (100, 1000)}

    def start(number: int) -> float:
        begun = monotonic()
        with _daemon(stage, homes[number]) as path, socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            connection.sendall(b'{"op": "list"}\n')
            with connection.makefile("rb") as answers:
                found = len(json.loads(answers.readline())["sessions"])
            spent = monotonic() - begun
        if found != number:
            raise Disagreement(f"{number} sessions became {found}")
        return spent

    return in_turn(max(2, stage.sizes.heavy), lambda: start(100), lambda: start(1000))


def idle_home(stage: Stage, number: int) -> str:
    """A home whose store has so many idle sessions; made once."""
    home = stage.folder / f"home-{number}"
    if home.exists():
        return str(home)
    home.mkdir()
    places = Places(load(_environment(stage, str(home)), None))
    places.make()
    store = open_store(Path(places.store), now=datetime.now(UTC)).store
    for index in range(number):
        name = f"{index:010x}"
        life: list[f.AnyFact] = [
            f.Created(at=1.0, session=name, agent="scripted", cwd="/", title="idle"),
            f.PromptQueued(at=2.0, prompt="p", text="say hello"),
            f.LaunchIntended(at=3.0, attempt=1, generation=1, how="new"),
            f.Launched(at=4.0, attempt=1, folder="x", pid=1),
            f.Opened(at=5.0, attempt=1, how="new", token="t"),
            f.PromptSent(at=6.0, attempt=1, prompt="p", message=3, text="say hello"),
            f.TurnFinished(at=7.0, attempt=1, prompt="p", stop_reason="end_turn"),
            f.Exited(at=8.0, attempt=1, how_ended="stopped (asleep)", by_us=True),
        ]
        session = None
        for fact in life:
            session = evolve(session, fact)
        assert session is not None
        commit_one(store, of_session(session, life, generation=session.generation))
    store.close()
    return str(home)


def _environment(stage: Stage, home: str) -> dict[str, str]:
    kept = {name: value for name, value in stage.environment.items() if not name.startswith("XDG")}
    return {**kept, "HOME": home}


@contextmanager
def _daemon(stage: Stage, home: str | None = None) -> Iterator[str]:
    """A daemon of its own, from start to end; gives the path of its socket."""
    environment: dict[str, Any] = _environment(stage, home or str(stage.folder / "home"))
    places = Places(load(environment, None))
    read, write = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "rekindle.entry", "serve"],
        env={**environment, "REKINDLE_READY_FD": str(write)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(write,),
    )
    os.close(write)
    try:
        if not os.read(read, 200):
            raise Disagreement("the daemon did not start")
        yield places.socket
    finally:
        os.close(read)
        process.terminate()
        process.wait(30)
