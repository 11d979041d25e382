"""A run of the benchmark gets to its end, whatever a row does, and leaves nothing running."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from time import monotonic

import pytest

from bench import report
from bench.__main__ import _measured, _write
from bench.leftovers import end_leftovers
from bench.measured import Measured, Result, Row, Skipped
from bench.rows import ROWS
from bench.stage import QUICK, Stage


def row(name: str, measure: object) -> Row:
    return Row(name, "itself", "at most", 1, measure, "what", "why")  # type: ignore[arg-type]


def good(_stage: Stage) -> Measured:
    return Measured([2.0, 2.0], [1.0, 1.0])


def broken(_stage: Stage) -> Measured:
    raise AssertionError("it broke")


def given_up(_stage: Stage) -> Measured:
    pytest.fail("the agent did not come up")


def missing(_stage: Stage) -> Measured:
    raise Skipped("no node")


def endless(_stage: Stage) -> Measured:
    subprocess.run([sys.executable, "-c", "import time; time.sleep(600)"], check=True)
    return good(_stage)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path, QUICK)


def test_a_row_that_fails_or_is_missing_does_not_stop_the_others(stage: Stage) -> None:
    rows = [row("a", broken), row("b", missing), row("z", given_up), row("c", good)]
    kept: list[Result] = []
    results = _measured(rows, stage, "now", monotonic() + 60, judged=True, keep=kept.append)
    first, second, gave_up, third = results
    assert kept == results, "each is written as soon as it is there"
    assert "did not come up" in gave_up.details["failed"]
    assert (first.ratio, first.met) == (None, False)
    assert "it broke" in first.details["failed"]
    assert second.details["skipped"] == "no node"
    assert (third.ratio, third.met) == (0.5, True)


def test_a_row_that_does_not_end_is_cut_off_and_later_ones_are_named_as_skipped(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.__main__._PATIENCE", 0.0)
    first, second = _measured([row("a", endless), row("b", good)], stage, "now", monotonic() + 1, judged=True)
    assert "took too long" in first.details["failed"]
    assert "make bench ROWS" in second.details["skipped"]


def test_a_row_that_hangs_does_not_use_up_the_time_of_the_others(stage: Stage) -> None:
    hanging = replace(row("a", endless), seconds=1.0)
    first, second = _measured([hanging, row("b", good)], stage, "now", monotonic() + 600, judged=True)
    assert "took too long" in first.details["failed"]
    assert second.met is True


def test_a_row_without_a_figure_keeps_its_last_one_and_the_page_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = tuple(tmp_path / name for name in ("results.json", "benchmarks.md", "benchmarks.svg"))
    monkeypatch.setattr(report, "FILES", files)
    monkeypatch.setattr(report, "RESULTS", files[0])
    one = ROWS[0]
    measured = {"bound": one.bound, "run": "yesterday", "took_s": 90, "lowest": 1.0, "highest": 1.0}
    _write(Result(one.name, one.reference, 1.0, one.target, True, measured))
    _write(
        Result(one.name, one.reference, None, one.target, False, {"bound": one.bound, "run": "today", "failed": "no"})
    )
    page = files[1].read_text()
    assert f"- **{one.name}**, today: no" in page
    assert report.load()[one.name].ratio == 1.0
    assert "took 1.5 minutes" in page


def test_the_page_names_the_rows_that_were_measured_on_a_busy_machine(stage: Stage) -> None:
    one, other = ROWS[0], ROWS[1]
    [quiet] = _measured([row(one.name, good)], stage, "by night", monotonic() + 60, judged=True, busy=0.4)
    [busy] = _measured([row(other.name, good)], stage, "by day", monotonic() + 60, judged=True, busy=99.0)
    page = report.page([quiet, busy], ROWS)
    assert f"- by day, a load of 99 on {os.cpu_count()} cores before it began: {other.name}\n" in page
    assert "- by night, a load" not in page
    assert "busy with other work" not in report.page([quiet], ROWS)


def test_what_a_row_left_running_is_ended_and_nothing_else(tmp_path: Path) -> None:
    waits = "print(flush=True); import time; time.sleep(600)"
    words = [sys.executable, "-c", waits]
    ours = subprocess.Popen(words, env={**os.environ, "HOME": str(tmp_path)}, stdout=subprocess.PIPE)
    other = subprocess.Popen(words, stdout=subprocess.PIPE)
    try:
        for one in (ours, other):
            assert one.stdout is not None
            one.stdout.readline()
        assert end_leftovers(tmp_path) == 1
        assert ours.wait(10) == -9
        assert other.poll() is None
    finally:
        for one in (ours, other):
            one.kill()
            one.communicate()


def test_every_row_names_its_reference_and_what_it_measures() -> None:
    assert len({one.name for one in ROWS}) == len(ROWS)
    for one in ROWS:
        assert one.reference and one.what.endswith(".") and one.reason.endswith("."), one.name
