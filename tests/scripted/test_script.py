"""The script language: directives, plain talk, and mistakes with their line numbers."""

from __future__ import annotations

import pytest

from rekindle.scripted.script import (
    DieAction,
    FailAction,
    PutAction,
    RunAction,
    SayAction,
    Script,
    ScriptStep,
    StreamAction,
    WriteAction,
    parse,
)


def test_lines_that_begin_with_a_directive_are_steps_and_all_others_are_talk() -> None:
    script = parse("Please do this:\nsay hello\n  say quoted\n> say cited\nSay no\nrun echo 'a b'\n")
    assert script == Script(
        (ScriptStep(1, "say hello", SayAction("hello")), ScriptStep(2, "run echo 'a b'", RunAction(("echo", "a b"))))
    )


def test_talk_alone_is_no_script() -> None:
    assert parse("You were interrupted. Please continue.") == Script()


def test_text_of_a_file_may_have_newlines_and_backslashes() -> None:
    assert parse(r"write a.txt one\ntwo\\n").steps[0].action == WriteAction("a.txt", "one\ntwo\\n")
    assert parse("put a.txt").steps[0].action == PutAction("a.txt", "")


def test_once_names_a_step() -> None:
    (step,) = parse("once boom die exit 3").steps
    assert (step.once, step.action) == ("boom", DieAction(None, 3))


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("die", DieAction("SIGKILL", 0)),
        ("die term", DieAction("SIGTERM", 0)),
        ("die SIGHUP", DieAction("SIGHUP", 0)),
        ("overflow", FailAction("context_overflow", None)),
        ("fail rate_limited 5", FailAction("rate_limited", 5.0)),
        ("stream 3 0.1", StreamAction(3, 0.1, "word")),
        ("stream 3 0 w", StreamAction(3, 0.0, "w")),
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
