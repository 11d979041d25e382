"""One operation in a fresh process: `python -m bench.timed OPERATION ARGUMENT...` prints its seconds and its answer.

Imports are done before the clock starts, on both sides; what an import costs is measured by the rows on start times.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from bench import naive
from rekindle.adapters.journal_file.read import read_state
from rekindle.adapters.journal_file.scan import FeatureScan
from rekindle.adapters.journal_file.snapshot import SnapshotCache
from rekindle.core.journal.analysis import analyse
from rekindle.core.journal.document import document

Outcome = tuple[float, Any]
_WARM = 5


def _naive_analyse(path: str) -> Outcome:
    return _clock(lambda: naive.analyse(path))


def _naive_list(path: str) -> Outcome:
    return _clock(lambda: naive.list_sessions(naive.read_events(path)))


def _naive_scan(folder: str) -> Outcome:
    return _clock(lambda: naive.count_interrupted(folder))


def _read(path: str) -> Outcome:
    """The limit: the same bytes from the page cache, and nothing done with them."""

    def read() -> int:
        size = 0
        with open(path, "rb", buffering=0) as file:
            while block := file.read(1 << 20):
                size += len(block)
        return size

    return _clock(read)


def _analyse_cold(path: str, cache: str) -> Outcome:
    shutil.rmtree(cache, ignore_errors=True)
    return _clock(lambda: document(analyse(read_state(Path(path), SnapshotCache(Path(cache))))))


def _analyse_warm(path: str, cache: str, kept: str) -> Outcome:
    """From the snapshot in `kept`, which is put back each time, because a long tail makes the reader renew it."""
    seconds: list[float] = []
    answer = None
    for _ in range(_WARM):
        shutil.rmtree(cache, ignore_errors=True)
        shutil.copytree(kept, cache)
        spent, answer = _clock(lambda: document(analyse(read_state(Path(path), SnapshotCache(Path(cache))))))
        seconds.append(spent)
    return median(seconds), answer


def _list_runs(path: str) -> Outcome:
    def runs() -> list[dict[str, Any]]:
        return [
            {
                "sid": run.sid,
                "first_ts": run.first_ts,
                "last_ts": run.last_ts,
                "event_count": run.events,
                "has_end": run.ended,
            }
            for run in read_state(Path(path)).runs
        ]

    return _clock(runs)


def _scan(folder: str, cache: str, warm: str) -> Outcome:
    if warm == "cold":
        shutil.rmtree(cache, ignore_errors=True)

    def scan() -> int:
        found = FeatureScan(folder, Path(cache)).features()
        return sum(item.tail is not None and not item.tail.ended for item in found)

    return _clock(scan)


def _clock(operation: Callable[[], Any]) -> Outcome:
    begun = perf_counter()
    answer = operation()
    return perf_counter() - begun, answer


OPERATIONS: dict[str, Callable[..., Outcome]] = {
    "naive-analyse": _naive_analyse,
    "naive-list": _naive_list,
    "naive-scan": _naive_scan,
    "read": _read,
    "analyse-cold": _analyse_cold,
    "analyse-warm": _analyse_warm,
    "list-runs": _list_runs,
    "scan": _scan,
}


def main() -> None:
    """Run what the command line names. Leaves without taking the memory apart: nobody measures that."""
    seconds, answer = OPERATIONS[sys.argv[1]](*sys.argv[2:])
    print(json.dumps({"seconds": seconds, "answer": answer}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
