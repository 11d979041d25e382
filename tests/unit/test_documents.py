"""What the documents and docstrings name is there: files, modules, and what stands in them."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import rekindle
from rekindle.ports import errors
from rekindle.ports.errors import RekindleError
from tests import rooms
from tests.walks import page as walks

SOURCE = Path(rekindle.__file__).parent
ROOT = SOURCE.parent.parent
FOLDERS = ("src", "tests", "bench", "demo")
#: Words of others (agents' own events), and records of what once was.
NOT_OURS = ("docs/agents/", "docs/seed-coverage.md", "CHANGELOG.md")


def documents() -> list[Path]:
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    return [path for path in found if not path.relative_to(ROOT).as_posix().startswith(NOT_OURS)]


@cache
def python_files() -> frozenset[str]:
    return frozenset(
        "/" + path.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if "node_modules" not in path.parts
    )


@cache
def names_in(path: Path) -> frozenset[str]:
    """All that is defined in a module, and the names that its classes have."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
    return frozenset(found)


def is_there(dotted: str) -> bool:
    """Whether `rekindle.a.b.C.d` is a package, a module, or something in one."""
    parts = dotted.split(".")[1:]
    place = SOURCE
    while parts and (place / parts[0]).is_dir():
        place /= parts.pop(0)
    if not parts:
        return True
    module = place / f"{parts.pop(0)}.py"
    return module.is_file() and all(part in names_in(module) for part in parts)


def quoted(path: Path) -> Iterator[str]:
    text = path.read_text()
    if path.suffix == ".py":
        nodes = ast.walk(ast.parse(text))
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        text = "\n".join(ast.get_docstring(node) or "" for node in nodes if isinstance(node, kinds))
    for found in re.finditer(r"`([^`\n]+)`", text):
        yield found[1]


def everywhere() -> Iterator[tuple[str, str]]:
    for path in [*documents(), *SOURCE.rglob("*.py")]:
        for word in quoted(path):
            yield path.relative_to(ROOT).as_posix(), word


def test_files_that_are_named_exist() -> None:
    missing = [
        (where, word)
        for where, word in everywhere()
        if re.fullmatch(r"[\w./-]+\.py", word) and not any(one.endswith("/" + word) for one in python_files())
    ]
    assert missing == []


def test_modules_and_what_is_in_them_exist() -> None:
    """`rekindle.a.b` and `adapters.git.process` from the top; `module.some_function` wherever that module is."""
    stems = {path.stem for path in SOURCE.rglob("*.py")}
    missing = []
    for where, word in everywhere():
        dotted = word.removesuffix("()").removeprefix("rekindle.")
        if not re.fullmatch(r"[a-z_]\w*(\.\w+)+", word.removesuffix("()")):
            continue
        head, _, last = dotted.rpartition(".")
        if word.startswith("rekindle.") or ("." in head and (SOURCE / head.split(".")[0]).is_dir()):
            found = is_there(f"rekindle.{dotted}")
        elif "_" in last and head in stems:
            found = any(last in names_in(path) for path in SOURCE.rglob(f"{head}.py"))
        else:
            continue
        if not found:
            missing.append((where, word))
    assert missing == []


def test_folders_that_are_named_exist() -> None:
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir()} | set(FOLDERS)
    named = [(where, word) for where, word in everywhere() if re.fullmatch(r"[a-z_]+(/[a-z_]+)*/", word)]
    missing = [
        (where, word)
        for where, word in named
        if word.split("/")[0] in rooms and not (SOURCE / word).is_dir() and not (ROOT / word).is_dir()
    ]
    assert missing == []


def test_the_tree_of_errors_has_every_error_in_its_place() -> None:
    for module in pkgutil.walk_packages(rekindle.__path__, "rekindle."):
        if not module.name.endswith("__main__") and "migrations" not in module.name:
            importlib.import_module(module.name)
    assert drawn(errors.__doc__ or "") == {
        (one.__name__, parent.__name__, one.exit_status) for one, parent in below(errors.RekindleError)
    }


def below(error: type[RekindleError]) -> Iterator[tuple[type[RekindleError], type[RekindleError]]]:
    for one in error.__subclasses__():
        if one.__module__.startswith("rekindle."):
            yield one, error
            yield from below(one)


def drawn(tree: str) -> set[tuple[str, str, int]]:
    """The errors of a drawn tree, each with its parent and its exit status, which is its parent's if it has none."""
    found: set[tuple[str, str, int]] = set()
    above: list[tuple[str, int]] = []
    for line in tree.splitlines():
        branch = re.match(r"([│├└─ ]*)([A-Z]\w+) +(\d)?", line)
        if branch is None or (not branch[1] and branch[2] != "RekindleError"):
            continue
        depth = len(branch[1]) // 4
        status = int(branch[3]) if branch[3] else above[depth - 1][1]
        if depth:
            found.add((branch[2], above[depth - 1][0], status))
        above[depth:] = [(branch[2], status)]
    return found


def test_the_picture_of_the_rooms_is_true() -> None:
    shown = rooms.SECTION.document.read_text()
    assert shown == rooms.SECTION.renewed(rooms.drawn()), "renew it with `python -m tests.rooms`"


def test_the_tables_of_the_walks_are_true() -> None:
    """That a run really passes what they show is a test of its own, with real processes: `tests/e2e/test_walks.py`."""
    shown = walks.SECTION.document.read_text()
    assert shown == walks.SECTION.renewed(walks.drawn()), "renew them with `python -m tests.walks`"
