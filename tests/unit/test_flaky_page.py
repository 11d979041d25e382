"""Every test that docs/flaky.md lists is still there: a page about tests that are gone or renamed helps nobody."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "flaky.md"
_TEST = re.compile(r"`(tests/[^`:]+\.py)::(\w+)(?:\[[^`]*\])?`")


def listed(page: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The first cell of every row, with the tests that it names: file and function."""
    for line in page.splitlines():
        if not line.startswith("|") or line.startswith(("|---", "| test |")):
            continue
        cell = line.split("|")[1].strip()
        yield cell, _TEST.findall(cell)


def missing(page: str, root: Path = ROOT) -> list[str]:
    """What the page lists and nobody can run; a row that names no test is one that cannot be looked for."""
    found: list[str] = []
    for cell, tests in listed(page):
        if not tests or cell.count("`tests/") != len(tests):
            found.append(f"names no test as FILE::FUNCTION: {cell}")
        for file, function in tests:
            path = root / file
            tree = ast.parse(path.read_text()) if path.exists() else ast.Module([], [])
            if function not in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}:
                found.append(f"is not there any more: {file}::{function}")
    return found


def test_every_listed_test_is_there() -> None:
    page = PAGE.read_text()
    assert len(list(listed(page))) >= 2, "the tables were not found"
    assert missing(page) == []


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("| `tests/unit/test_flaky_page.py::test_every_listed_test_is_there` | x |", []),
        ("| `tests/unit/test_flaky_page.py::test_every_listed_test_is_there[a b]`, seed 4 | x |", []),
        ("| `tests/unit/test_flaky_page.py::test_gone` | x |", ["tests/unit/test_flaky_page.py::test_gone"]),
        ("| `tests/unit/test_gone.py::test_gone` | x |", ["tests/unit/test_gone.py::test_gone"]),
        ("| `tests/unit/test_flaky_page.py`, that one | x |", ["names no test"]),
        ("| the same file, another one | x |", ["names no test"]),
    ],
)
def test_a_row_about_a_test_that_is_gone_or_not_named_is_told(row: str, told: list[str]) -> None:
    found = missing(f"| test | cause |\n|---|---|\n{row}\n")
    assert len(found) == len(told)
    assert all(words in one for words, one in zip(told, found, strict=True))
