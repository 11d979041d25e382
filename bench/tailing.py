"""Measures following: 500 agents' records that grow, how late they are in their vaults, and what that costs.

The records are written here and followed in another process, `python -m bench.tailing WHO FOLDER NUMBER`, which tells
when it had how much of which record, and how much of the processor it took. WHO is `vaults`, or `watch` for the
reference: the same watch, which looks at a file's size and does nothing with it.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from bisect import bisect_left
from collections.abc import Coroutine, Mapping
from functools import lru_cache
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from bench.measured import Disagreement, Measured, rounded
from bench.stage import ROOT, Stage
from rekindle.adapters.session_folder.records import VaultRecords
from rekindle.adapters.vault.follower import Follower
from rekindle.agents.scripted.transcript import ScriptedTranscript
from rekindle.core.session import facts as f
from rekindle.core.session.machine import create
from rekindle.core.session.state import Session

_A_SECOND = 100
_LINE = b'{"kind":"assistant","text":"' + b"x" * 270 + b'"}\n'


def lateness(stage: Stage) -> Measured:
    """The 99th percentile of how late a line is in its vault, against how late a bare watch sees it."""
    rounds = _rounds(stage)
    reference, candidate = ([one[who]["p99"] for one in rounds] for who in _WHO)
    return Measured(reference, candidate, {"median_ms": rounded(rounds[0]["vaults"]["p50"] * 1000), **_facts(stage)})


def processor(stage: Stage) -> Measured:
    """The share of a core that following takes, against a bare watch's."""
    rounds = _rounds(stage)
    reference, candidate = ([one[who]["share"] for one in rounds] for who in _WHO)
    return Measured(reference, candidate, {"percent_of_a_core": rounded(100 * median(candidate)), **_facts(stage)})


_WHO = ("watch", "vaults")


def _sizes(stage: Stage) -> tuple[int, float, int]:
    return (500, 8.0, 3) if stage.sizes.heavy > 2 else (50, 2.0, 1)


def _facts(stage: Stage) -> dict[str, Any]:
    number, seconds, _ = _sizes(stage)
    return {"records": number, "lines_a_second": _A_SECOND, "seconds": seconds}


def _rounds(stage: Stage) -> list[dict[str, dict[str, float]]]:
    number, seconds, rounds = _sizes(stage)
    return _measured(stage.folder, number, seconds, rounds)


@lru_cache(maxsize=1)
def _measured(folder: Path, number: int, seconds: float, rounds: int) -> list[dict[str, dict[str, float]]]:
    """Both rows tell of the same rounds."""
    found = []
    for turn in range(rounds):
        order = _WHO if turn % 2 else _WHO[::-1]
        found.append({who: _one(folder / f"tail-{turn}-{who}", who, number, seconds) for who in order})
    return found


def _one(folder: Path, who: str, number: int, seconds: float) -> dict[str, float]:
    files = [_file(folder, index) for index in range(number)]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(_LINE)
    follower = subprocess.Popen(
        [sys.executable, "-m", "bench.tailing", who, str(folder), str(number)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert follower.stdout is not None
        if follower.stdout.readline() != b"following\n":
            raise Disagreement("the follower did not start")
        written = _write(files, seconds)
        told = json.loads(follower.communicate(b"\n", timeout=60)[0])
    finally:
        follower.kill()
        follower.wait()
    late = sorted(_lateness(written, told["seen"]))
    return {
        "p50": late[len(late) // 2],
        "p99": late[int(len(late) * 0.99)],
        "share": told["processor"] / told["seconds"],
    }


def _write(files: list[Path], seconds: float) -> list[tuple[int, int, float]]:
    """Lines at a steady pace to random records: which, how long it then was, and when."""
    chance = Random(7)
    sizes = [len(_LINE)] * len(files)
    found = []
    begun = time.monotonic()
    for turn in range(int(seconds * _A_SECOND)):
        time.sleep(max(0.0, begun + turn / _A_SECOND - time.monotonic()))
        index = chance.randrange(len(files))
        with files[index].open("ab", buffering=0) as file:
            file.write(_LINE)
        sizes[index] += len(_LINE)
        found.append((index, sizes[index], time.monotonic()))
    return found


def _lateness(written: list[tuple[int, int, float]], seen: list[tuple[int, int, float]]) -> list[float]:
    growth: dict[int, list[tuple[int, float]]] = {}
    for index, size, at in seen:
        growth.setdefault(index, []).append((size, at))
    late = []
    for index, size, at in written:
        known = growth.get(index, [])
        place = bisect_left(known, size, key=lambda one: one[0])
        if place == len(known):
            raise Disagreement("a line never came to its vault")
        late.append(known[place][1] - at)
    return late


def _file(folder: Path, index: int) -> Path:
    return folder / "home" / str(index // 10) / f"{index}.jsonl"


class _Seen:
    """Notes when there was how much of which record."""

    def __init__(self, folder: Path, number: int) -> None:
        self.all: list[tuple[int, int, float]] = []
        self._sizes: dict[str, int] = {}
        self.index = {os.path.realpath(_file(folder, index)): index for index in range(number)}

    def note(self, path: str, size: int) -> None:
        if size != self._sizes.get(path):
            self._sizes[path] = size
            self.all.append((self.index[path], size, time.monotonic()))


class _Records(VaultRecords):
    def __init__(self, folder: Path, seen: _Seen) -> None:
        def environment(session: Session) -> Mapping[str, str]:
            return {"REKINDLE_SCRIPTED_HOME": str(_file(folder, int(session.id)).parent)}

        super().__init__(str(folder / "sessions"), environment, {"scripted": ScriptedTranscript()})
        self._seen = seen

    def _changed(self, paths: list[str], thorough: bool) -> None:
        for path in paths:  # one by one, so that each has its own time
            super()._changed([path], thorough)
            self._seen.note(path, self.copied(path))


def _begin(who: str, folder: Path, number: int, seen: _Seen) -> Coroutine[Any, Any, None]:
    if who == "watch":

        def look(paths: list[str], _: bool) -> None:
            for path in paths:
                seen.note(path, os.path.getsize(path))

        follower = Follower(look)
        for path in seen.index:
            follower.add(path)
        return follower.run()
    records = _Records(folder, seen)
    for index in range(number):
        records.follow(create(f.Created(at=1.0, session=str(index), agent="scripted", cwd="/")), str(index))
    return records.run()


async def _follow(who: str, folder: Path, number: int) -> None:
    seen = _Seen(folder, number)
    work = asyncio.ensure_future(_begin(who, folder, number, seen))
    while len(seen.all) < number:
        await asyncio.sleep(0.01)
    print("following", flush=True)
    begun, used = time.monotonic(), time.process_time()
    await asyncio.to_thread(sys.stdin.readline)
    spent, used = time.monotonic() - begun, time.process_time() - used
    await asyncio.sleep(0.5)
    print(json.dumps({"seen": seen.all, "processor": used, "seconds": spent}))
    work.cancel()
    await asyncio.wait([work])


if __name__ == "__main__":
    asyncio.run(_follow(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
