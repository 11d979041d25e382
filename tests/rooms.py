"""The picture of the rooms in docs/architecture.md, made of the import rule and of what each room says of itself.

`python -m tests.rooms` renews it.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "rekindle"
DOCUMENT = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- rooms: made by `python -m tests.rooms` -->\n", "<!-- end of rooms -->"
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
    said = " ".join((ast.get_docstring(ast.parse(module.read_text())) or "").split("\n\n")[0].split())
    return re.split(r"(?<=[a-z`)])\. ", said)[0].rstrip(".")


def renewed(text: str) -> str:
    """The document with the picture as it has to be."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{drawn()}\n\n{END}{tail}"


if __name__ == "__main__":
    DOCUMENT.write_text(renewed(DOCUMENT.read_text()))
