"""A feature's run on a terminal: it fits, whatever the size, and says what matters first."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from rekindle.core.quantities import duration
from rekindle.doors.cli.amounts import used
from rekindle.doors.cli.feature_progress import Board, fitting, headline, notes


def told(count: int, **first: Any) -> dict[str, Any]:
    def task(number: int) -> dict[str, Any]:
        about = {"id": f"task-{number}", "summary": "漢字 " * 30, "state": "pending", "problem": "", "session": None}
        return {**about, "agent": None, "seconds": 0, **(first if number == 0 else {})}

    tasks = [task(number) for number in range(count)]
    waves = [[one["id"] for one in tasks]]
    about = {"feature": "shop", "sid": "aaaa0001", "mode": "standard", "seconds": 65.0, "tokens": 1200, "cost": 0.5}
    return {**about, "waves": waves, "tasks": tasks}


def asked(session: str) -> dict[str, Any]:
    options = [{"id": "allow_once"}, {"id": "reject_once"}]
    return {"id": "q12", "session": session, "title": "May I write?", "options": options}


def screen(state: dict[str, Any], width: int, height: int = 24, *questions: Any, **environment: str) -> str:
    file = io.StringIO()
    console = Console(
        file=file, width=width, height=height, force_terminal=True, _environ={"TERM": "xterm", **environment}
    )
    with Board(True, console=console) as board:
        board.show(state, questions)
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
    assert left_out == "not shown: 3 merged, 19 pending"
    assert fitting(tasks, 30) == (tasks, "")


@pytest.mark.parametrize(("seconds", "said"), [(8.9, "8 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")])
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("tokens", "cost", "said"),
    [
        (0, None, []),
        (1, None, ["1 token"]),
        (12345, 0.0123, ["12,345 tokens", "$0.0123"]),
        (2, 3.5, ["2 tokens", "$3.50"]),
    ],
)
def test_what_was_used(tokens: int, cost: float | None, said: list[str]) -> None:
    assert used(tokens, cost) == said


def test_the_first_line_says_how_far_a_run_has_come_and_what_it_took() -> None:
    told_ = told(5, state="merged")
    assert headline(told_) == "shop · 1 of 5 tasks merged · 1 min 5 s · 1,200 tokens · $0.5000 · run aaaa0001, standard"


@pytest.mark.parametrize("width", [80, 160])
def test_the_board_shows_what_is_asked_and_why_a_task_failed(width: int) -> None:
    state = told(3, state="asking", session="s0")
    state["tasks"][1] |= {"state": "failed", "problem": "its agent died repeatedly"}
    shown = screen(state, width, 24, asked("s0"), NO_COLOR="1")
    assert "task-0 asks: May I write?" in shown
    assert "(allow_once or reject_once)" in shown and "next: rekindle answer q12\n" in shown
    assert "task-1 failed: its agent died repeatedly" in shown


def test_a_board_with_more_to_say_than_fits_says_so_and_stays_on_the_screen() -> None:
    state = told(30)
    for task in state["tasks"]:
        task |= {"state": "stuck", "problem": "no room"}
    shown = screen(state, 80, 24, NO_COLOR="1")
    assert len(shown.split("\n")) <= 24 and "more lines: see rekindle inbox" in shown


def test_a_long_name_of_a_task_leaves_room_for_time_and_session() -> None:
    state = told(1, state="working", session="0123456789", seconds=75.0)
    state["tasks"][0]["id"] = state["waves"][0][0] = "a-very-long-name-of-a-task-" * 4
    shown = screen(state, 80, NO_COLOR="1")
    assert "1 min 15 s" in shown and "0123456789" in shown and "…" in shown


def test_lines_tell_each_question_once(capsys: pytest.CaptureFixture[str]) -> None:
    board = Board(False)
    for _ in range(2):
        board.show(told(1, state="asking", session="s0"), [asked("s0")])
    said = capsys.readouterr().out
    assert said.count("asks: May I write?") == 1 and "rekindle answer q12" in said
    assert notes(told(1), []) == []
