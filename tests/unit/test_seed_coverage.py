"""docs/seed-coverage.md is true: its counts add up, and every test that it names exists."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "seed-coverage.md").read_text("utf-8")
ROWS = re.findall(r"^\| ([JBPRT])-(\d+) \| (.*?) \| (built|partly|changed|not yet) \|(.*)\|$", TEXT, re.MULTILINE)
NAMES = {"J": "journal", "B": "job", "P": "phases", "R": "runbook", "T": "task session"}


STATES = ("built", "partly", "changed", "not yet")


def names_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_row_is_well_formed_and_numbered_once() -> None:
    begun = re.findall(r"^\| ([JBPRT]-\d+) \|", TEXT, re.MULTILINE)
    assert len(begun) == len(ROWS) > 500
    assert len(set(begun)) == len(begun)


def test_every_test_that_is_named_exists() -> None:
    named = set(re.findall(r"(tests/[\w/]+\.py)::(\w+)", TEXT))
    assert named
    missing = [f"{path}::{name}" for path, name in sorted(named) if name not in names_in(path)]
    assert missing == []


def test_what_is_called_built_names_a_test_and_what_is_partly_built_says_what_is_missing() -> None:
    there = [(f"{seed}-{number}", state, where) for seed, number, _, state, where in ROWS if state in STATES[:2]]
    assert [name for name, _, where in there if "::" not in where] == []
    assert [name for name, state, where in there if state == "partly" and "`. " not in where] == []


def test_every_row_says_why_it_is_as_it_is() -> None:
    assert [f"{seed}-{number}" for seed, number, _, _, where in ROWS if not where.strip()] == []


def test_the_summary_counts_the_rows() -> None:
    counted = Counter((seed, state) for seed, _, _, state, _ in ROWS)
    for seed, name in NAMES.items():
        numbers = [counted[seed, state] for state in STATES]
        row = f"| {name} | {sum(numbers)} | {' | '.join(map(str, numbers))} |"
        assert row in TEXT.replace(f" ({seed}-)", ""), f"the summary should have: {row}"
