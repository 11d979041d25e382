"""Rules that the whole source keeps."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

import rekindle

SOURCE = Path(rekindle.__file__).parent


#: All in one process: reading the whole source is most of their work.
pytestmark = pytest.mark.xdist_group("house")
Modules = list[tuple[str, list[ast.AST]]]


@pytest.fixture(scope="module")
def modules() -> Modules:
    """Every module, and all that is written in it."""
    found = sorted(SOURCE.rglob("*.py"))
    return [(path.relative_to(SOURCE).as_posix(), list(ast.walk(ast.parse(path.read_text())))) for path in found]


def test_no_python_runs_between_fork_and_exec_of_a_process_with_threads(modules: Modules) -> None:
    """A lock that another thread holds at the fork is never released in the child."""
    found = {
        name for name, nodes in modules for node in nodes if isinstance(node, ast.keyword) and node.arg == "preexec_fn"
    }
    assert found == set()


def test_nothing_waits_in_a_way_that_swallows_a_cancellation(modules: Modules) -> None:
    """Before Python 3.12, `asyncio.wait_for` goes on as if nothing were if it is cancelled when its time has come."""
    found = {
        name for name, nodes in modules for node in nodes if isinstance(node, ast.Attribute) and node.attr == "wait_for"
    }
    assert found == set()


def test_outside_their_room_agents_are_known_by_what_all_of_them_answer(modules: Modules) -> None:
    """Who imports one agent's language, or asks which dialect it has, has to be changed for the next agent."""
    found = set()
    for name, nodes in modules:
        if name.startswith("agents/"):
            continue
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rekindle.agents"):
                room = (node.module or "").split(".")[2:3] or [alias.name for alias in node.names]
                found |= {f"{name} imports {one}" for one in room if one not in ("base", "registry")}
            asks = isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"
            if asks and "Dialect" in ast.unparse(node):
                found.add(f"{name} asks for a dialect")
    assert found == set()


def test_what_is_not_imported_is_not_a_dependency(modules: Modules) -> None:
    project = tomllib.loads((SOURCE.parent.parent / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[<>=!~\[ ]", one)[0] for one in project["dependencies"]}
    imported = {
        (node.module or "" if isinstance(node, ast.ImportFrom) else alias.name).split(".")[0]
        for _, nodes in modules
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    imported_as = {"prompt-toolkit": "prompt_toolkit", "pyyaml": "yaml", "prometheus-client": "prometheus_client"}
    imported_as["websockets"] = "uvicorn"  # which speaks it with that
    assert {name for name in names if imported_as.get(name, name) not in imported} == set()


def test_no_public_class_name_occurs_twice(modules: Modules) -> None:
    """A name that means two things has to be looked up wherever it is read."""
    homes = defaultdict(set)
    for name, nodes in modules:
        for node in nodes:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(name)
    assert {one for one, places in homes.items() if len(places) > 1} == set()


def test_no_module_is_longer_than_400_lines(modules: Modules) -> None:
    long = {name for name, _ in modules if len((SOURCE / name).read_text().splitlines()) > 400}
    assert long == set()


def test_no_function_is_longer_than_60_lines(modules: Modules) -> None:
    long = {
        f"{name}:{node.name}"
        for name, nodes in modules
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (node.end_lineno or 0) - node.lineno >= 60
    }
    assert long == set()
