"""The picture of the rooms in docs/architecture.md, made of the import rule and of what each room says of itself.

`python -m tests.rooms` renews it.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.generated import ROOT, SOURCE, Section, first_sentence

SECTION = Section("rooms", "tests.rooms")
_WIDTH = 20


def drawn() -> str:
    """The rooms from the top of the import rule to its bottom, each with what it is for."""
    rows = [line for layer in layers() for room in layer.split(" | ") for line in _room(SOURCE / room, 0)]
    return "\n".join(f"    {line}".rstrip() for line in rows)


def layers() -> list[str]:
    """The layers of the import rule, top first; rooms beside each other are joined by ` | `."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    rule = next(one for one in contracts if one["type"] == "layers" and one.get("containers") == ["rekindle"])
    return [*rule["layers"], *rule.get("exhaustive_ignores", [])]


def _room(path: Path, depth: int) -> Iterator[str]:
    is_folder = path.is_dir()
    said = _sentence(path / "__init__.py" if is_folder else path.with_suffix(".py"))
    name = f"{'  ' * depth}{path.name}{'/' if is_folder else '.py'}"
    yield f"{name:<{_WIDTH}} {said}"
    if is_folder:
        for inner in sorted(path.iterdir()):
            if (inner / "__init__.py").exists():
                yield from _room(inner, depth + 1)


def _sentence(module: Path) -> str:
    return first_sentence(ast.get_docstring(ast.parse(module.read_text())))


if __name__ == "__main__":
    SECTION.document.write_text(SECTION.renewed(drawn()))
