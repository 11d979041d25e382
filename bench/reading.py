"""Measures how journals are read: detection, analysis cold and warm, the list of runs, many folders."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from bench.measured import Disagreement, Measured, Skipped, in_turn, rounded
from bench.stage import ROOT, Stage
from rekindle.adapters.journal_file.read import read_state, read_tail
from rekindle.adapters.journal_file.snapshot import SnapshotCache

_NODE_MEMORY = "--max-old-space-size=8192"


def detect(stage: Stage) -> Measured:
    """Who wrote last, in a long journal and in a short one."""
    short, long = stage.journal(stage.sizes.short), stage.journal(stage.sizes.long)

    def seconds(path: Path) -> float:
        begun = perf_counter()
        tail = read_tail(path)
        spent = perf_counter() - begun
        if tail is None or tail.ended:
            raise Disagreement(f"a journal of {path.stat().st_size} bytes was not found to be interrupted")
        return spent

    measured = in_turn(stage.sizes.tiny, lambda: seconds(short), lambda: seconds(long))
    return replace(measured, facts={"lines": stage.sizes.long, "reference_lines": stage.sizes.short})


def analyse_warm(stage: Stage) -> Measured:
    """From a snapshot and the tail that was written since, against reading everything."""
    path = stage.journal(stage.sizes.long)
    kept, cache = stage.folder / "kept-snapshot", stage.folder / "warm-cache"
    if not kept.exists():
        _snapshot_before_tail(path, kept, stage.sizes.tail)
    expected = stage.timed("analyse-cold", path, stage.folder / "cold-cache").answer

    def warm() -> float:
        timing = stage.timed("analyse-warm", path, cache, kept)
        if timing.answer != expected:
            raise Disagreement("the analysis from a snapshot differs from the one from the first byte")
        return timing.seconds

    measured = in_turn(stage.sizes.heavy, lambda: stage.timed("naive-analyse", path).seconds, warm)
    return replace(measured, facts={"lines": stage.sizes.long, "tail_lines": stage.sizes.tail})


def analyse_cold(stage: Stage) -> Measured:
    """From the first byte, against the same in plain Python."""
    path = stage.journal(stage.sizes.long)
    answers: list[Any] = [None, None]

    def reference() -> float:
        timing = stage.timed("naive-analyse", path)
        answers[0] = timing.answer
        return timing.seconds

    return _cold(stage, path, answers, reference)


def analyse_cold_node(stage: Stage) -> Measured:
    """From the first byte, against the same in Node."""
    node = shutil.which("node")
    if node is None:
        raise Skipped("node is not installed")
    path = stage.journal(stage.sizes.long)
    command = [node, _NODE_MEMORY, str(ROOT / "bench" / "naive.mjs"), str(path)]
    answers: list[Any] = [None, None]

    def reference() -> float:
        timing = stage.child(command)
        answers[0] = timing.answer
        return timing.seconds

    return _cold(stage, path, answers, reference)


def list_runs(stage: Stage) -> Measured:
    """Every run with its times, its number of events and whether it ended, without any cache."""
    path = stage.journal(stage.sizes.long)
    answers: list[Any] = [None, None]

    def run(operation: str, place: int) -> float:
        timing = stage.timed(operation, path)
        answers[place] = timing.answer
        return timing.seconds

    measured = in_turn(stage.sizes.heavy, lambda: run("naive-list", 0), lambda: run("list-runs", 1))
    if answers[0] != answers[1]:
        raise Disagreement("the lists of runs differ")
    return replace(measured, facts={"lines": stage.sizes.long, "runs": len(answers[0])})


def scan_cold(stage: Stage) -> Measured:
    """All features with nothing known of them."""
    return _scan(stage, "cold")


def scan_warm(stage: Stage) -> Measured:
    """All features again, when none has changed."""
    return _scan(stage, "warm")


def _cold(stage: Stage, path: Path, answers: list[Any], reference: Any) -> Measured:
    limit: list[float] = []

    def candidate() -> float:
        limit.append(stage.timed("read", path).seconds)
        timing = stage.timed("analyse-cold", path, stage.folder / "cold-cache")
        answers[1] = timing.answer
        return timing.seconds

    measured = in_turn(stage.sizes.heavy, reference, candidate)
    _same_analysis(*answers)
    size = path.stat().st_size
    facts = {
        "lines": stage.sizes.long,
        "bytes_a_line": rounded(size / stage.sizes.long),
        "times_of_only_reading": rounded(median(measured.candidate) / median(limit)),
    }
    return replace(measured, facts=facts)


def _same_analysis(plain: dict[str, Any], full: dict[str, Any]) -> None:
    """The reference knows less, so only what both know is compared: pending tasks it has never heard of."""
    checkpoint = full["checkpoint"]
    found = {
        "sid": full["sid"],
        "events": full["events"],
        "gaps": len(full["gaps"]),
        "checkpoint": checkpoint["label"] if checkpoint else None,
        "tasks": {task: status for task, status in full["tasks"].items() if status != "PENDING"},
        "active_agents": full["active_agents"],
        "issues": len(full["issues"]) + len(full["resolved_issues"]),
        "warnings": len(full["warnings"]),
    }
    known = {**plain, "sid": plain["interrupted"][0]}
    known.pop("interrupted")
    if known != found:
        raise Disagreement(f"the analyses differ: {known} and {found}")


def _scan(stage: Stage, temperature: str) -> Measured:
    folder, cache = stage.progress(), stage.folder / f"scan-{temperature}"
    answers: list[Any] = [None, None]

    def run(place: int, operation: str, *arguments: object) -> float:
        timing = stage.timed(operation, folder, *arguments)
        answers[place] = timing.answer
        return timing.seconds

    if temperature == "warm":
        run(1, "scan", cache, "cold")
    measured = in_turn(stage.sizes.heavy, lambda: run(0, "naive-scan"), lambda: run(1, "scan", cache, temperature))
    if answers[0] != answers[1]:
        raise Disagreement(f"{answers[0]} and {answers[1]} features are interrupted")
    facts = {"folders": stage.sizes.folders, "lines_each": stage.sizes.folder_lines, "interrupted": answers[0]}
    return replace(measured, facts=facts)


def _snapshot_before_tail(path: Path, folder: Path, lines: int) -> None:
    """Have the reader keep what it knows of the journal without its last lines."""
    with open(path, "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        start = max(0, size - lines * 4_096)
        file.seek(start)
        block = file.read()
        tail = b"".join(block.splitlines(keepends=True)[-lines:])
        file.truncate(size - len(tail))
        file.flush()
        read_state(path, SnapshotCache(folder))
        file.seek(0, os.SEEK_END)
        file.write(tail)
