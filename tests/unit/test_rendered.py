"""An agent's words on a terminal: wrapped, as Markdown, none of them lost or said twice, and nothing that steers it."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console

from rekindle.agents.base.conversation import ConversationEntry, Kind
from rekindle.doors.cli.live import LiveView, waiting_line, working_line
from rekindle.doors.cli.rendered import RenderedView, blocks


def told(**changes: Any) -> dict[str, Any]:
    usage = {"tokens": 262, "cost": 0.5}
    return {"status": "working", "waits_until": None, "why": "", "usage": usage, **changes}


def rendered(*said: tuple[Kind, str], width: int = 80, status: bool = False) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, height=24, force_terminal=True, _environ={"TERM": "xterm"})
    view = RenderedView("s1", console)
    for kind, text in said:
        if status:
            view.status(told(), 12.0, 1.0)
        view.show([ConversationEntry(kind, text, 1)])
    view.rest()
    return file.getvalue()


def plain(shown: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)


def test_words_that_come_in_pieces_are_printed_once_and_whole() -> None:
    text = "# Title\n\nOne **bold** word.\n\n```\ncode\n\nmore\n```\n\nlast"
    shown = plain(rendered(*(("said", letter) for letter in text)))
    for word in ("Title", "One bold word.", "code", "more", "last"):
        assert shown.count(word) == 1, shown
    assert "**" not in shown and "```" not in shown


@pytest.mark.parametrize("width", [40, 80, 160])
def test_long_words_are_wrapped_and_lines_stay_lines(width: int) -> None:
    shown = plain(rendered(("said", "first line\nsecond line\n\n" + "word " * 100), width=width))
    assert re.search(r"first line *\nsecond line", shown)
    assert all(len(line) <= width for line in shown.splitlines()) and shown.count("word") == 100


@pytest.mark.parametrize("width", [40, 80, 160])
def test_what_is_still_being_said_is_broken_between_words_and_does_not_move(width: int) -> None:
    said = " ".join(f"word{number}" for number in range(3000))
    view = RenderedView("s1", Console(file=io.StringIO(), force_terminal=True, width=width))
    full = set[str]()
    for start in range(0, len(said), 7):
        view.show([ConversationEntry("said", said[start : start + 7], 1)])
        lines = view.tail(width).split("\n")
        assert all(len(line) <= width for line in lines) and len(lines) <= 5
        assert set(said.split()).issuperset(" ".join(lines).split()[:-1]), lines
        full.update(lines[:-1])
    assert lines[-1].endswith("word2999")
    assert len(full) <= len(said) // (width - 9) + 5 * (len(said) // 4096), "a line that is full stays as it is"


def test_a_long_entry_goes_on_behind_its_mark() -> None:
    shown = plain(rendered(("tool", "run: " + "argument " * 12), ("prompt", "one word " * 6), width=40)).splitlines()
    assert shown[0] == "  ▸ run: argument argument argument" and shown[1].startswith("    argument argument")
    assert shown[4].startswith("you one word") and shown[5].startswith("    one word")
    assert all(len(line) <= 40 for line in shown)


def test_what_is_still_being_said_keeps_its_indents() -> None:
    view = RenderedView("s1", Console(file=io.StringIO(), force_terminal=True, width=40))
    view.show([ConversationEntry("said", "```\nif  x:\n    return  1\n    # " + "a comment " * 6, 1)])
    assert view.tail(40).split("\n")[1:4] == ["if  x:", "    return  1", "    # a comment a comment a comment a"]


def test_markdown_swallows_nothing_and_nothing_steers_the_terminal() -> None:
    shown = rendered(("said", "a List<T> and <div>\n\n<b>html</b>\n\n[x]: http://y\n\n\x1b[2Jgone \x1b]8;;u\x07"))
    for word in ("List<T>", "<div>", "<b>html</b>", "[x]: http://y", "gone"):
        assert word in plain(shown)
    assert "\x1b[2J" not in shown and "\x1b]8" not in shown


def test_a_status_stands_below_and_is_gone_in_the_end() -> None:
    shown = rendered(("said", "hello"), ("tool", "ls"), ("end", "end_turn"), status=True)
    assert "working · 12 s · 262 tokens · $0.5000" in plain(shown)
    assert "turn finished" in plain(shown) and shown.endswith("\x1b[1A\x1b[2K"), "its line is erased"


@pytest.mark.parametrize(
    ("text", "done", "left"),
    [
        ("a\n\nb", ["a"], "b"),
        ("a\nb", [], "a\nb"),
        ("```\na\n\nb\n```\n\n", ["```\na\n\nb\n```"], ""),
        ("```\na\n\nb", [], "```\na\n\nb"),
        ("~~~\n```\n\nb\n~~~\n\nc\n", ["~~~\n```\n\nb\n~~~"], "c\n"),
    ],
)
def test_a_block_is_complete_with_a_blank_line_outside_of_code(text: str, done: list[str], left: str) -> None:
    assert blocks(text) == (done, left)


def test_a_line_says_what_a_limit_waits_for_and_until_when(capsys: pytest.CaptureFixture[str]) -> None:
    limited = told(waits_until=1000.0, why="rate limited")
    assert waiting_line(limited, 900.0).endswith("(in 1 min 40 s): rate limited")
    assert working_line(limited, 5.0, 900.0) == waiting_line(limited, 900.0)
    view = LiveView("s1")
    for _ in range(3):
        view.status(limited, 5.0, 900.0)
    assert capsys.readouterr().out.count("rate limited") == 1
