"""What appends through the daemon cost: syncs and processor time. How many there are a second depends on the disk."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

from bench.appending import AGENT, DATA, PANE, plainly, race, used
from bench.measured import Disagreement, Measured, in_turn
from bench.served import Served, processor_seconds, served
from bench.stage import Stage

_WRITERS = 64


def syncs(stage: Stage) -> Measured:
    """How often the daemon syncs while 64 processes append, against once for each event."""
    told = stage.folder / "synced"
    each = max(1, stage.sizes.appends // _WRITERS)
    repository = stage.repository("synced-appends", "feature/auth-system")
    rounds = 3 if stage.sizes.heavy > 2 else 1
    with served(stage, module=("bench.counted_daemon", str(told))) as daemon:
        for number in range(rounds):
            race(_through(daemon, repository), _file(repository, number), _WRITERS, each)
    events, synced = rounds * _WRITERS * each, int(told.read_text("utf-8"))
    return Measured([float(events)], [float(synced)], {"writers": _WRITERS, "unit": "syncs", "events": events})


def processor(stage: Stage) -> Measured:
    """What the daemon and 64 writers use of the processor, against 64 that open, append and sync by themselves."""
    repository = stage.repository("daemon-appends", "feature/auth-system")
    each = max(1, stage.sizes.appends // _WRITERS)
    numbers = count()
    with served(stage) as daemon:

        def reference() -> float:
            file = stage.folder / f"plain-{next(numbers)}" / "events.jsonl"
            file.parent.mkdir()
            return used(lambda: race(plainly, file, _WRITERS, each))

        def candidate() -> float:
            before = processor_seconds(daemon.pid)
            file = _file(repository, next(numbers))
            spent = used(lambda: race(_through(daemon, repository), file, _WRITERS, each))
            return spent + processor_seconds(daemon.pid) - before

        measured = in_turn(max(3, stage.sizes.light // 6), reference, candidate)
    return replace(measured, facts={"writers": _WRITERS, "events_each": each})


def _file(repository: Path, number: int) -> Path:
    return repository / ".claude" / "progress" / f"auth-syst{number:02d}" / "events.jsonl"


def _through(daemon: Served, repository: Path) -> Callable[[Path, str, int], None]:
    def write(journal: Path, sid: str, number: int) -> None:
        request = {"op": "journal_append", "cwd": str(repository), "feature": journal.parent.name}
        more = {"type": "task.completed", "data": DATA, "sid": sid, "agent": AGENT, "pane_id": PANE}
        line = json.dumps({**request, **more}).encode() + b"\n"
        with socket.socket(socket.AF_UNIX) as connection, connection.makefile("rb") as answers:
            connection.connect(daemon.socket)
            for _ in range(number):
                connection.sendall(line)
                if not json.loads(answers.readline())["ok"]:
                    raise Disagreement("the daemon refused an event")

    return write
