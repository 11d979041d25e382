"""The rows about the work-tree time machine: a snapshot, and what git itself needs to write the same tree.

The reference is `git add -A` and `git write-tree` on a copy of the index, which is what a script would do. A snapshot
does more (a commit, a ref, and every new object on the disk before the ref) and has its own index to begin with.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from bench.measured import Disagreement, Measured, in_turn
from bench.stage import Stage
from rekindle.adapters.snapshots.taking import take

_SESSION = "bench"
_FOLDERS = 200
_ROUNDS = 15
_CHANGED = 20


def unchanged(stage: Stage) -> Measured:
    """Nothing has changed since the last snapshot."""
    top = _repository(stage, "unchanged")
    take(str(top), _SESSION, "the first", 0.0)
    return in_turn(_ROUNDS, lambda: _reference(top)[0], lambda: _snapshot(top, wanted=False)[0])


def changed(stage: Stage) -> Measured:
    """In each of 20 folders one file has changed and one is new."""
    top = _repository(stage, "changed")
    take(str(top), _SESSION, "the first", 0.0)
    number = 0

    def after_changes(measure: Callable[[], float]) -> float:
        nonlocal number
        number += 1
        for folder in range(_CHANGED):
            (top / f"d{folder}" / "f0.txt").write_text(f"{number} of {folder}\n")
            (top / f"d{folder}" / f"new{number}.txt").write_text(f"new in round {number}, folder {folder}\n")
        return measure()

    def agreed() -> float:
        seconds, tree = _snapshot(top, wanted=True)
        if tree != _reference(top)[1]:
            raise Disagreement("the snapshot is not the tree that git writes")
        return seconds

    return in_turn(_ROUNDS, lambda: after_changes(lambda: _reference(top)[0]), lambda: after_changes(agreed))


def first(stage: Stage) -> Measured:
    """No file has been committed or snapshotted before: git has to take in all of them."""
    top = stage.folder / "first"
    _write_files(stage, top)

    def from_nothing(measure: Callable[[Path], float]) -> float:
        shutil.rmtree(top / ".git", ignore_errors=True)
        _git(top, "init", "-q")
        return measure(top)

    return in_turn(
        stage.sizes.heavy,
        lambda: from_nothing(lambda top: _reference(top)[0]),
        lambda: from_nothing(lambda top: _snapshot(top, wanted=True)[0]),
    )


def _repository(stage: Stage, name: str) -> Path:
    top = stage.folder / name
    _write_files(stage, top)
    _git(top, "init", "-q")
    _git(top, "add", "-A")
    _git(top, "-c", "user.name=bench", "-c", "user.email=bench@localhost.invalid", "commit", "-q", "-m", "begin")
    time.sleep(2.0)  # an index as young as its files makes git read all of them
    _git(top, "update-index", "--refresh")
    return top


def _write_files(stage: Stage, top: Path) -> None:
    for folder in range(_FOLDERS):
        (top / f"d{folder}").mkdir(parents=True)
        for file in range(stage.sizes.files // _FOLDERS):
            (top / f"d{folder}" / f"f{file}.txt").write_text(f"{folder} {file} content\n" * 20)


def _reference(top: Path) -> tuple[float, str]:
    index, copy = top / ".git" / "index", top / ".git" / "copy"
    begun = time.perf_counter()
    if index.exists():
        shutil.copy2(index, copy)
    _git(top, "add", "-A", index=copy)
    tree = _git(top, "write-tree", index=copy).strip()
    spent = time.perf_counter() - begun
    copy.unlink()
    return spent, tree


def _snapshot(top: Path, *, wanted: bool) -> tuple[float, str]:
    begun = time.perf_counter()
    made = take(str(top), _SESSION, "again", 0.0)
    spent = time.perf_counter() - begun
    if (made is not None) != wanted:
        raise Disagreement("there should have been a snapshot" if wanted else "there should have been no snapshot")
    return spent, made.tree if made is not None else ""


def _git(top: Path, *words: str, index: Path | None = None) -> str:
    env = {**os.environ, **({"GIT_INDEX_FILE": str(index)} if index is not None else {})}
    done = subprocess.run(["git", "-c", "gc.auto=0", *words], cwd=top, env=env, check=True, capture_output=True)
    return done.stdout.decode()
