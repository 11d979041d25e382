"""Every command that a document or a hint of the program names exists, with each of its options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from rekindle.doors.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
#: A command in a block or between backticks, to its end or to a comment.
_TYPED = re.compile(r"(?:^ {4}(?:\$ )?|`)rekindle ([^`\n]+)", re.MULTILINE)
_HINTED = re.compile(r"`rekindle ([a-z][^`\"\n]*)`")
_ENDS = re.compile(r"\s+#|\s{3,}|\s*[|;>&]|<<|…|\.\.\.| \(|\*\*")
_OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")


def typed(text: str, pattern: re.Pattern[str]) -> Iterator[list[str]]:
    """The words of each command, without values that are quoted."""
    for found in pattern.finditer(text):
        line = re.sub(r"\"[^\"]*\"|'[^']*'", "TEXT", found[1])
        yield _ENDS.split(line)[0].split()


def problem_of(words: list[str]) -> str | None:
    """What is wrong with a command; None if nothing is."""
    command: click.Command = app
    context = click.Context(app, info_name="rekindle")
    rest = list(words)
    while isinstance(command, click.Group) and rest and re.fullmatch(r"[a-z][a-z-]+", rest[0]):
        below = command.get_command(context, rest[0])
        if below is None:
            return f"there is no command {' '.join(words)!r}"
        command = below
        rest.pop(0)
    known = {one for parameter in command.params for one in (*parameter.opts, *parameter.secondary_opts)}
    known |= set(command.get_help_option_names(context))
    told = " ".join(rest[: rest.index("--")] if "--" in rest else rest)
    missing = [one for one in _OPTION.findall(told) if one not in known]
    return f"{' '.join(words)!r} has no {', '.join(missing)}" if missing else None


@pytest.mark.parametrize("page", PAGES, ids=lambda one: str(one.relative_to(ROOT)))
def test_every_command_in_a_document_exists_with_its_options(page: Path) -> None:
    told = [problem_of(words) for words in typed(page.read_text("utf-8"), _TYPED)]
    assert [one for one in told if one is not None] == []


def test_every_command_in_a_hint_of_the_program_exists_with_its_options() -> None:
    pages = sorted((ROOT / "src" / "rekindle").rglob("*.py"))
    found = [(page.name, re.sub(r"\{[^}]*\}", "X", page.read_text("utf-8"))) for page in pages]
    told = [(name, problem_of(words)) for name, text in found for words in typed(text, _HINTED)]
    assert len(told) > 100
    assert [one for one in told if one[1] is not None] == []


def commands(group: click.Group, *above: str) -> Iterator[tuple[str, set[str]]]:
    """Every command with its options."""
    context = click.Context(group)
    for name in group.list_commands(context):
        below = group.get_command(context, name)
        assert below is not None
        if isinstance(below, click.Group):
            yield from commands(below, *above, name)
        else:
            yield " ".join([*above, name]), {one for parameter in below.params for one in parameter.opts}


def test_every_command_answers_programs_but_those_that_show_something_else() -> None:
    silent = {name for name, options in commands(app) if not options & {"--json", "--jsonl"}}
    talk, texts = {"attach", "config edit"}, {"completion", "runbook schema"}
    assert silent == talk | texts


def test_a_command_or_an_option_that_is_not_there_is_found() -> None:
    assert problem_of(["job", "submit", "TEXT", "--nope", "1"]) == "'job submit TEXT --nope 1' has no --nope"
    assert problem_of(["jobs", "list"]) == "there is no command 'jobs list'"
    assert problem_of(["run", "TEXT", "--", "--any"]) is None
