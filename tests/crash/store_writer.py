"""A program for the crash tests: commits to a store and says on a pipe which commits were acknowledged.

    python -m tests.crash.store_writer PATH ROUNDS SEED

Forks a writer per round and kills it with SIGKILL at a random moment. Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from rekindle.adapters.sql_store.open import open_store
from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.machine import evolve
from rekindle.ports.store import OutboxEntry
from tests.sessions import booked, commit, created

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def kills(path: Path, rounds: int, seed: int) -> dict[str, object]:
    choose = random.Random(seed)
    acknowledged: list[str] = []
    for index in range(rounds):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            _commit_for_ever(path, f"s{index}", write)
        os.close(write)
        heard = os.read(read, 65536)
        deadline = time.monotonic() + choose.uniform(0, 0.02)
        while (left := deadline - time.monotonic()) > 0 and heard:
            if select.select([read], [], [], left)[0]:
                heard += os.read(read, 65536)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        while more := os.read(read, 65536):
            heard += more
        os.close(read)
        acknowledged.extend(heard.decode().split("\n")[:-1])
    return {"acknowledged": acknowledged}


def _commit_for_ever(path: Path, name: str, pipe: int) -> None:
    opened = open_store(path, now=NOW)
    assert opened.notice is None, opened.notice
    first = created(name)
    session = booked([first])
    facts: list[AnyFact] = [first]
    for number in range(1_000_000):
        entry = OutboxEntry(f"{name}-{number}", "/r", "search", "checkpoint")
        numbers = commit(opened.store, session, facts, outbox=[entry])
        os.write(pipe, f"{name} {number} {numbers[-1]}\n".encode())
        facts = [f.PromptQueued(at=2.0, prompt=str(number), text="x" * (number * 700 % 9000))]
        session = evolve(session, facts[0])


if __name__ == "__main__":
    print(json.dumps(kills(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
