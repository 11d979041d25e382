"""The script language: directives, plain talk, and mistakes with their line numbers."""

from __future__ import annotations

import pytest

from rekindle.scripted.script import Die, Fail, Put, Run, Say, Script, Step, Stream, Write, parse


def test_lines_that_begin_with_a_directive_are_steps_and_all_others_are_talk() -> None:
    script = parse("Please do this:\nsay hello\n  say quoted\n> say cited\nSay no\nrun echo 'a b'\n")
    assert script == Script((Step(1, "say hello", Say("hello")), Step(2, "run echo 'a b'", Run(("echo", "a b")))))


def test_talk_alone_is_no_script() -> None:
    assert parse("You were interrupted. Please continue.") == Script()


def test_text_of_a_file_may_have_newlines_and_backslashes() -> None:
    assert parse(r"write a.txt one\ntwo\\n").steps[0].action == Write("a.txt", "one\ntwo\\n")
    assert parse("put a.txt").steps[0].action == Put("a.txt", "")


def test_once_names_a_step() -> None:
    (step,) = parse("once boom die exit 3").steps
    assert (step.once, step.action) == ("boom", Die(None, 3))


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("die", Die("SIGKILL", 0)),
        ("die term", Die("SIGTERM", 0)),
        ("die SIGHUP", Die("SIGHUP", 0)),
        ("overflow", Fail("context_overflow", None)),
        ("fail rate_limited 5", Fail("rate_limited", 5.0)),
        ("stream 3 0.1", Stream(3, 0.1, "word")),
        ("stream 3 0 w", Stream(3, 0.0, "w")),
    ],
)
def test_arguments(line: str, action: object) -> None:
    assert parse(line).steps[0].action == action


@pytest.mark.parametrize(
    "line",
    [
        "say",
        "write",
        "run",
        "run 'open",
        "terminal",
        "read",
        "put",
        "ask",
        "sleep",
        "sleep soon",
        "sleep -1",
        "sleep nan",
        "sleep inf",
        "stream 3",
        "stream x 1",
        "stream 1 1 a b",
        "fail",
        "fail sometimes",
        "fail other later",
        "overflow now",
        "die exit",
        "die exit 256",
        "die SIGCHLD",
        "die SIGKILL now",
        "noise much",
        "big -5",
        "truncate it",
        "spawn",
        "once",
        "once name",
        "once name dance",
        "once a once b say c",
    ],
)
def test_a_wrong_directive_is_a_mistake_with_its_line_number(line: str) -> None:
    script = parse(f"say fine\n\n{line}")
    assert len(script.mistakes) == 1
    assert script.mistakes[0].startswith("line 3: ")
