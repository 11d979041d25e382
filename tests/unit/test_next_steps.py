"""What a person is told to type can be typed: the mark stands before commands only, and every named command exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import rekindle
from rekindle.doors.cli.app import app as cli
from rekindle.doors.cli.next_step import advice

SOURCES = Path(rekindle.__file__).parent


@pytest.mark.parametrize(
    ("hint", "lines"),
    [
        ("rekindle resume abc", ["next: rekindle resume abc"]),
        ('rekindle send abc "how to go on"', ['next: rekindle send abc "how to go on"']),
        ("git merge feature/shop", ["next: git merge feature/shop"]),
        ("allowed: nudge, done, fail", ["Allowed: nudge, done, fail"]),
        ("did you mean nudge? allowed: nudge, done", ["Did you mean nudge? allowed: nudge, done"]),
        ("rekindle answer abc OPTION", ["rekindle answer abc OPTION"]),
        ("rekindle answer abc yes or no", ["rekindle answer abc yes or no"]),
        (
            "rekindle resume abc; or answer: rekindle answer def",
            ["next: rekindle resume abc", "Or answer: rekindle answer def"],
        ),
        ("`rekindle ps --all` lists sessions", ["`rekindle ps --all` lists sessions"]),
        ("--as-new gives the imported one a new id", ["--as-new gives the imported one a new id"]),
        ("", []),
    ],
)
def test_only_what_can_be_typed_as_it_stands_follows_the_mark(hint: str, lines: list[str]) -> None:
    assert advice(hint) == lines


def test_every_command_and_option_that_is_named_exists() -> None:
    missing, seen = [], 0
    for place, text in _texts():
        for found in re.finditer(r"(?:\A|: |`|\()rekindle ((?:[a-z][a-z-]*|--?[a-z-]+|X|[A-Z_]+)(?: |\b))+", text):
            words = found[0].split("rekindle ", 1)[1].split()
            is_known = words[0] in cli.list_commands(click.Context(cli))
            if not found[0].startswith("`") and not is_known and all(word.isalpha() for word in words[:2]):
                continue  # a sentence about rekindle
            seen += 1
            if problem := _unknown(words):
                missing.append(f"{place}: {found[0]!r}: {problem}")
    assert seen > 100 and not missing, "\n".join(missing)


def _groups(group: click.Group, name: str) -> Iterator[tuple[str, click.Group]]:
    yield name, group
    for word in group.list_commands(click.Context(group)):
        inner = group.get_command(click.Context(group), word)
        if isinstance(inner, click.Group):
            yield from _groups(inner, f"{name} {word}")


def test_the_help_of_a_command_lists_its_commands_in_sentences_that_are_not_cut() -> None:
    seen = list(_groups(cli, "rekindle"))
    assert len(seen) > 8
    for name, group in seen:
        lines = group.get_help(click.Context(group, info_name=name, terminal_width=80)).splitlines()
        cut = [line for line in lines if line.endswith("...") and not line.startswith("Usage")]
        assert not cut, f"{name} --help: {cut}"


def _unknown(words: list[str]) -> str:
    """What of a command line does not exist."""
    at: click.Command = cli
    for word in words:
        if isinstance(at, click.Group) and at is not cli and word.islower() and not word.startswith("-"):
            inner = at.get_command(click.Context(at), word)
            at = inner if inner is not None else at
        elif at is cli and not word.startswith("-"):
            inner = at.get_command(click.Context(at), word) if word.islower() else None
            if inner is None:
                return "" if word.isupper() else f"no command {word}"
            at = inner
        elif word.startswith("--") and word != "--":
            known = {name for one in at.params for name in (*one.opts, *one.secondary_opts)} | {"--help"}
            if word not in known:
                return f"no option {word}"
    return ""


def _texts() -> Iterator[tuple[str, str]]:
    """Every text of the program; what is put into it is an X."""
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            place = f"{path.relative_to(SOURCES)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield place, node.value
            elif isinstance(node, ast.JoinedStr):
                yield place, "".join(str(one.value) if isinstance(one, ast.Constant) else "X" for one in node.values)
