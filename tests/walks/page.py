"""The walks as tables: each milestone with its process, its room, and what its docstring says first."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from tests.generated import SOURCE, Section, first_sentence
from tests.walks.milestones import WALKS, Milestone, Walk

SECTION = Section("walks", "tests.walks")
_HEAD = ("| | process | room | function | what it does |", "|---:|---|---|---|---|")


def drawn() -> str:
    """All walks, one below the other."""
    return "\n\n".join(_walk(number, walk) for number, walk in enumerate(WALKS, 1))


def _walk(number: int, walk: Walk) -> str:
    rows = [_row(step, one) for step, one in enumerate(walk.milestones, 1)]
    return "\n".join([f"### {number}. {walk.title}", "", walk.about, "", *_HEAD, *rows])


def _row(step: int, milestone: Milestone) -> str:
    path, name = _home(milestone.function)
    said = first_sentence(_docstrings(path).get(name))
    if not said:
        raise LookupError(
            f"{milestone.function} is not there, or has no docstring: change it in tests/walks/milestones.py, "
            "then renew docs/architecture.md with `python -m tests.walks`"
        )
    place = path.relative_to(SOURCE)
    room = place.stem if place.parent == Path() else place.parent.as_posix()
    link = f"[`{path.stem}.{name}`](../src/rekindle/{place.as_posix()})"
    cells = (str(step), milestone.process, room, link, said.replace("|", r"\|"))
    return f"| {' | '.join(cells)} |"


def _home(function: str) -> tuple[Path, str]:
    """The module of a function, and its name in there."""
    place, parts = SOURCE, function.split(".")
    while len(parts) > 1 and (place / parts[0]).is_dir():
        place /= parts.pop(0)
    return place / f"{parts[0]}.py", ".".join(parts[1:])


@cache
def _docstrings(module: Path) -> dict[str, str | None]:
    """What the functions of a module say of themselves, and those of its classes."""
    if not module.is_file():
        return {}
    found: dict[str, str | None] = {}
    for node in ast.parse(module.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found[node.name] = ast.get_docstring(node)
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    found[f"{node.name}.{inner.name}"] = ast.get_docstring(inner)
    return found
