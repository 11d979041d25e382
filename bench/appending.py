"""Measures what it costs when many processes append to one journal, each event synced before it counts.

Both sides make their line from the event (any writer has to), append it to the same file, and sync it. The reference
opens the file, appends, calls fsync and closes; it takes no lock, repairs nothing and numbers only its own lines. What
is compared is processor time. How many events there are a second depends on the disk; it is in the details, with the
number of syncs per event.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any

from bench.journals import LINE
from bench.measured import Disagreement, Measured, in_turn, rounded
from bench.stage import Stage
from rekindle.adapters.journal_file.append import AppendCalls, timestamp
from rekindle.adapters.journal_file.journal import FileJournal
from rekindle.ports.journal import NewEvent, Sync

Writer = Callable[[Path, str, int], None]
_FEATURE = "auth-system"
AGENT = "engineer-1"
PANE = "%17"
DATA: dict[str, Any] = {"taskId": "12", "summary": "Part 12 of the plan, " + "reviewed and merged, " * 4}
DATA["files_changed"] = ["src/api/service.ts"]
_MOMENT = 1_770_000_000.0


def with_writers(writers: int) -> Callable[[Stage], Measured]:
    """The row for this many processes."""

    def measure(stage: Stage) -> Measured:
        each = max(1, stage.sizes.appends // writers)
        numbers = count()
        synced = multiprocessing.get_context("fork").Value("l", 0)
        spent: dict[str, list[float]] = {"open, append, fsync": [], "rekindle": []}

        def run(side: str, writer: Writer) -> float:
            path = stage.folder / f"append-{writers}-{next(numbers)}" / "events.jsonl"
            path.parent.mkdir()
            return used(lambda: spent[side].append(race(writer, path, writers, each)))

        def counted(path: Path, sid: str, number: int) -> None:
            _count_syncs(synced)
            _journal(path, sid, number)

        sides = (lambda: run("open, append, fsync", plainly)), (lambda: run("rekindle", counted))
        measured = in_turn(max(3, stage.sizes.light // 3), *sides)
        facts = {
            "writers": writers,
            "unit": "seconds of processor time",
            "syncs per event": rounded(synced.value / (writers * each * len(measured.candidate))),
            **{f"events a second, {side}": rounded(writers * each / median(took)) for side, took in spent.items()},
        }
        return replace(measured, facts=facts)

    return measure


def _count_syncs(synced: Any) -> None:
    """From now on this process counts the syncs of its journals: it is a writer's own, and ends with it."""
    sync = AppendCalls.sync

    def counted(fd: int) -> None:
        with synced.get_lock():
            synced.value += 1
        sync(fd)

    AppendCalls.sync = staticmethod(counted)


def used(work: Callable[[], object]) -> float:
    """What the processes that `work` starts and waits for use of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def plainly(path: Path, sid: str, number: int) -> None:
    for seq in range(number):
        event = {
            "v": 1,
            "ts": timestamp(_MOMENT),
            "sid": sid,
            "seq": seq,
            "type": "task.completed",
            "feature": _FEATURE,
            "agent": AGENT,
            "pane_id": PANE,
            "data": DATA,
        }
        line = json.dumps(event, separators=(",", ":")).encode() + b"\n"
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(fd, line)
        os.fsync(fd)
        os.close(fd)


def _journal(path: Path, sid: str, number: int) -> None:
    journal = FileJournal(path, _FEATURE, sync=Sync.ALWAYS, clock=lambda: _MOMENT)
    event = NewEvent("task.completed", DATA, agent=AGENT, pane_id=PANE)
    for seq in range(number):
        journal.append(event, sid=sid, fresh=seq == 0)
    journal.close()


def race(writer: Writer, path: Path, writers: int, each: int) -> float:
    """Start all writers at once; the time from the first one's start to the last one's end."""
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(writers)
    queue = context.SimpleQueue()

    def write(sid: str) -> None:
        barrier.wait()
        begun = monotonic()
        writer(path, sid, each)
        queue.put((begun, monotonic()))

    processes = [context.Process(target=write, args=(f"{number:08x}",)) for number in range(writers)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    if any(process.exitcode != 0 for process in processes):
        raise Disagreement(f"not all of {writers} writers got to their end")
    times: list[tuple[float, float]] = [queue.get() for _ in processes]
    _check(path, writers * each)
    return max(end for _, end in times) - min(begun for begun, _ in times)


def _check(path: Path, events: int) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    size = sum(map(len, lines)) / max(1, len(lines))
    if len(lines) != events or not LINE - 8 < size < LINE + 8:
        raise Disagreement(f"{events} events became {len(lines)} lines of {size:.0f} bytes")
