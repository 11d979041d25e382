"""A feature's run on a terminal: it fits, whatever the size, and says what matters first."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from rekindle.doors.cli.feature_progress import Board, duration, fitting


def told(count: int, **first: Any) -> dict[str, Any]:
    def task(number: int) -> dict[str, Any]:
        about = {"id": f"task-{number}", "summary": "漢字 " * 30, "state": "waiting", "problem": "", "session": None}
        return {**about, "agent": None, "seconds": 0, **(first if number == 0 else {})}

    tasks = [task(number) for number in range(count)]
    waves = [[one["id"] for one in tasks]]
    return {"feature": "shop", "sid": "aaaa0001", "mode": "standard", "waves": waves, "tasks": tasks}


def screen(state: dict[str, Any], width: int, height: int = 24, **environment: str) -> str:
    file = io.StringIO()
    console = Console(
        file=file, width=width, height=height, force_terminal=True, _environ={"TERM": "xterm", **environment}
    )
    with Board(True, console=console) as board:
        board.show(state)
    return file.getvalue()


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
@pytest.mark.parametrize("count", [1, 3, 50])
def test_no_line_is_broken_and_nothing_is_higher_than_the_screen(width: int, count: int) -> None:
    working = {"state": "working", "agent": "scripted", "session": "0123456789", "seconds": 75.0}
    shown = screen(told(count, **working), width, NO_COLOR="1")
    lines = shown.split("\n")
    assert len(lines) <= 24
    assert sum("task-" in line for line in lines) == min(count, 20)
    assert "working" in shown and ("1 min 15 s" in shown) is (width > 40)
    assert ("0123456789" in shown) is (width > 60) and ("漢字" in shown) is (width > 80)


def test_colours_are_left_out_where_nobody_wants_them() -> None:
    merged = {"state": "merged"}
    assert "\x1b[32m" in screen(told(1, **merged), 80)
    assert "\x1b[32m" not in screen(told(1, **merged), 80, NO_COLOR="1")


def test_a_terminal_that_cannot_go_back_gets_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert screen(told(1, state="merged"), 80, TERM="dumb") == ""
    assert "wave 1  task-0: merged" in capsys.readouterr().out


def test_what_happens_is_shown_before_what_rests() -> None:
    tasks = told(30)["tasks"]
    for one in tasks[:10]:
        one["state"] = "merged"
    tasks[25]["state"] = "asking"
    rows, left_out = fitting(tasks, 8)
    assert [row["id"] for row in rows][-1] == "task-25" and len(rows) == 8
    assert left_out == "not shown: 3 merged, 19 waiting"
    assert fitting(tasks, 30) == (tasks, "")


@pytest.mark.parametrize(("seconds", "said"), [(8.9, "8 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")])
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said
