"""A program for the crash tests: appends events to a journal and says on a pipe which ones were acknowledged.

    python -m tests.crash.writer PATH kills N SEED     parent forks writers one after the other and kills each
    python -m tests.crash.writer PATH crowd WRITERS EVENTS
    python -m tests.crash.writer PATH limit BYTES      one writer under a file size limit

Prints one JSON object with what was acknowledged.
"""

from __future__ import annotations

import json
import os
import random
import resource
import select
import signal
import sys
import time
from pathlib import Path

from rekindle.adapters.journal_file.journal import FileJournal
from rekindle.ports.errors import RekindleError
from rekindle.ports.journal import NewEvent


def kills(path: Path, number: int, seed: int) -> dict[str, object]:
    """Kill `number` writers with SIGKILL, each at a random moment after its first acknowledgement."""
    choose = random.Random(seed)
    acknowledged: list[str] = []
    for index in range(number):
        read, write = os.pipe()
        size = choose.choice([300, 2_000, 9_000, 70_000])
        pid = os.fork()
        if pid == 0:
            os.close(read)
            _write_for_ever(path, f"{index:08x}", size, write)
        os.close(write)
        heard = b""
        deadline: float | None = None
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready, _, _ = select.select([read], [], [], left)
            if not ready:
                os.kill(pid, signal.SIGKILL)
                break
            heard += os.read(read, 65536)
            if deadline is None:
                deadline = time.monotonic() + choose.uniform(0, 0.012)
        os.waitpid(pid, 0)
        while more := os.read(read, 65536):
            heard += more
        os.close(read)
        acknowledged.extend(heard.decode().split("\n")[:-1])
    return {"acknowledged": acknowledged}


def _write_for_ever(path: Path, sid: str, size: int, pipe: int) -> None:
    journal = FileJournal(path, "crash")
    for number in range(1_000_000):
        data = {"taskId": str(number), "summary": f"{sid}-{number}-" + "x" * size}
        got = journal.append(NewEvent("task.started", data), sid=sid, fresh=number == 0)
        os.write(pipe, f"{got.sid} {got.seq}\n".encode())


def crowd(path: Path, writers: int, events: int) -> dict[str, object]:
    """Many writers at once: every other one writes to a run that they share."""
    children = []
    for index in range(writers):
        pid = os.fork()
        if pid == 0:
            journal = FileJournal(path, "crowd")
            sid = "5ba4ed00" if index % 2 else f"{index:08x}"
            for number in range(events):
                journal.append(NewEvent("task.started", {"taskId": f"{index}-{number}"}), sid=sid)
            os._exit(0)
        children.append(pid)
    statuses = [os.waitpid(pid, 0)[1] for pid in children]
    return {"failed": sum(status != 0 for status in statuses)}


def limit(path: Path, size: int) -> dict[str, object]:
    """One writer that runs into a file size limit."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    journal = FileJournal(path, "limit")
    acknowledged = 0
    try:
        while True:
            journal.append(NewEvent("task.started", {"taskId": str(acknowledged), "summary": "x" * 700}), sid="a")
            acknowledged += 1
    except RekindleError as error:
        return {"acknowledged": acknowledged, "code": error.code, "message": error.message, "hint": error.hint}


if __name__ == "__main__":
    _, place, what, *numbers = sys.argv
    result = {"kills": kills, "crowd": crowd, "limit": limit}[what](Path(place), *map(int, numbers))  # type: ignore[operator]
    print(json.dumps(result))
