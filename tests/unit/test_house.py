"""Rules that the whole source keeps."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import rekindle

SOURCE = Path(rekindle.__file__).parent


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text())


def test_no_python_runs_between_fork_and_exec_of_a_process_with_threads() -> None:
    """A lock that another thread holds at the fork is never released in the child."""
    found = {
        name
        for name, tree in _modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "preexec_fn"
    }
    assert found == set()
