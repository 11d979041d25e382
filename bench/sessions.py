"""Measures what sessions cost that do nothing: memory of guard and keeper, the daemon's start, a list of all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import monotonic

from bench.measured import Disagreement, Measured, in_turn, rounded
from bench.served import home_environment, pss, served
from bench.stage import Stage
from bench.starting import script, spawn
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
            sizes = [pss(one.identity.guard.pid) + pss(one.identity.keeper.pid) for _, one in started]
        finally:
            for spec, one in started:
                with Client(one.socket, 1) as client:
                    client.stop("the measurement is over")
                launch.wait_until_gone(spec.lock, 30)
    return Measured([_LIMIT] * number, [float(size) for size in sizes], {"sessions": number, "unit": "bytes"})


def starts(number: int) -> Callable[[Stage], Measured]:
    """The row for so many idle sessions: from the daemon's start to its first answer, against 100."""

    def measure(stage: Stage) -> Measured:
        homes = {sessions: idle_home(stage, sessions) for sessions in (100, number)}

        def start(sessions: int) -> float:
            begun = monotonic()
            with served(stage, homes[sessions]) as daemon:
                found = len(daemon.ask(op="list")["sessions"])
                spent = monotonic() - begun
            if found != sessions:
                raise Disagreement(f"{sessions} sessions became {found}")
            return spent

        return in_turn(max(2, stage.sizes.heavy), lambda: start(100), lambda: start(number))

    return measure


def listings(stage: Stage) -> Measured:
    """`rekindle ps` with a daemon and 3,000 idle sessions, against 100. Facts: what it takes without a daemon."""
    few, many = idle_home(stage, 100), idle_home(stage, 3000)
    program = (script("rekindle"), "ps")

    def listed(home: str) -> Callable[[], float]:
        return lambda: spawn(program, home_environment(stage, home))

    rounds = max(5, stage.sizes.light // 2)
    with served(stage, few), served(stage, many):
        measured = in_turn(rounds, listed(few), listed(many))
    alone = in_turn(rounds, listed(few), listed(many))
    facts = {
        "without a daemon, 100 (ms)": rounded(1000 * median(alone.reference)),
        "without a daemon, 3,000 (ms)": rounded(1000 * median(alone.candidate)),
    }
    return replace(measured, facts=facts)


def idle_home(stage: Stage, number: int) -> str:
    """A home whose store has so many idle sessions; made once."""
    home = stage.folder / f"home-{number}"
    if home.exists():
        return str(home)
    home.mkdir()
    places = Places(load(home_environment(stage, str(home)), None))
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
