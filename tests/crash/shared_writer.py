"""A program for the crash tests: one host of several that write to one shared store about one session.

    python -m tests.crash.shared_writer URL HOST SECONDS

It takes the session from whoever has it, again and again, and writes with the generation that it then has, until it is
refused. Every fact says who wrote it and in which generation. Prints how often it took the session and was refused.
"""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime

from rekindle.adapters.sql_store.open import open_store
from rekindle.adapters.sql_store.shared_placements import SharedPlacements
from rekindle.core.session import facts as f
from rekindle.core.session.machine import evolve
from rekindle.core.session.state import Session
from rekindle.ports.placements import PlacedElsewhere
from rekindle.ports.store import StaleGeneration, Store, commit_one, of_session

NOW = datetime(2026, 1, 2, tzinfo=UTC)
SESSION = "raced"


def race(url: str, host: str, seconds: float) -> dict[str, int]:
    store = open_store(url, now=NOW, host=host).store
    placements = SharedPlacements(url, host)
    told = {"taken": 0, "refused": 0, "written": 0}
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        seen = placements.find(SESSION)
        assert seen is not None
        try:
            session = placements.take(SESSION, before=seen.host, at=time.time()).session
            told["taken"] += 1
            _write(store, session, host, told, until)
        except (PlacedElsewhere, StaleGeneration) as error:
            told["refused"] += isinstance(error, StaleGeneration)
    return told


def _write(store: Store, session: Session, host: str, told: dict[str, int], until: float) -> None:
    generation = session.generation + 1
    facts: list[f.AnyFact] = [f.Adopted(at=time.time(), generation=generation)]
    known = session.generation
    while time.monotonic() < until:
        for fact in facts:
            session = evolve(session, fact)
        commit_one(store, of_session(session, facts, generation=known))
        known = generation
        told["written"] += 1
        facts = [f.Noticed(at=time.time(), message=f"{host} {generation}")]


if __name__ == "__main__":
    print(json.dumps(race(sys.argv[1], sys.argv[2], float(sys.argv[3]))))
