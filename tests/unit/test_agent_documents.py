"""What the documents say of agents is what the code says, and the guide's example is an agent that works."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from rekindle import agents
from rekindle.adapters.machine.agent_programs import check, path_of, version_of
from rekindle.agents import registry
from rekindle.agents.base.kind import AgentStart
from tests.real.documents import PAGE, renewed
from tests.real.results import outcomes, page

GUIDE = PAGE.parents[1] / "adding-an-agent.md"


def test_the_tables_of_the_agents_are_made_from_the_code() -> None:
    text = PAGE.read_text()
    assert renewed(text) == text, "run: python -m tests.real.documents"
    assert "| Codex (`codex`) | `codex-acp` | session/load |" in text


def program(folder: Path, name: str, *lines: str) -> dict[str, str]:
    """A program of that name, and an environment in which it is found."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("\n".join(["#!/bin/sh", *lines, ""]))
    (folder / name).chmod(stat.S_IRWXU)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}


def test_the_example_of_the_guide_is_an_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = GUIDE.read_text().split("```python\n")[1].split("```")[0]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text("")
    (tmp_path / "mine" / "kind.py").write_text(code)
    monkeypatch.setattr(agents, "__path__", [*agents.__path__, str(tmp_path)])
    kind = registry.found()["mine"]
    for name in ("rekindle.agents.mine.kind", "rekindle.agents.mine"):
        del sys.modules[name]
    assert kind.argv(AgentStart(how="new", token=None, model="m")) == ("mine-agent", "--acp", "--model", "m")
    assert kind.refused(("--resume",)) == "--resume"
    missing = check(kind, {"PATH": str(tmp_path / "nowhere")})
    assert (missing.state, missing.problem) == ("not installed", kind.missing)
    environment = program(
        tmp_path / "bin",
        "mine-agent",
        'if [ "$1" = --version ]; then echo "mine 1.2.3 (abc)"; exit; fi',
        f"exec {sys.executable} -m rekindle.scripted",
    )
    path = path_of(kind, environment)
    assert path is not None
    assert version_of(kind, path, environment) == "1.2.3"
    found = check(kind, environment)
    assert found.state == "ready"
    assert found.can_load


@pytest.mark.parametrize(
    ("words", "state", "problem"),
    [
        (("echo broken >&2", "exit 3"), "ended", "broken"),
        (("exec sleep 60",), "silent", "after 0.5 s"),
        (
            (
                "read line",
                'echo \'{"jsonrpc":"2.0","id":"1-initialize","error":{"code":-32000,"message":"log in first"}}\'',
                "exec sleep 60",
            ),
            "no account",
            "log in first",
        ),
    ],
)
def test_a_program_that_does_not_work_is_reported_in_words(
    tmp_path: Path, words: tuple[str, ...], state: str, problem: str
) -> None:
    environment = program(tmp_path / "bin", "qwen", *words)
    found = check(registry.AGENTS["qwen"], environment, seconds=10.0 if state != "silent" else 0.5)
    assert found.state == state
    assert problem in found.problem


@pytest.mark.parametrize(
    ("node", "said"),
    [
        ("echo v20.20.2", "asks for Node 22 or newer, and {node} is Node 20.20.2"),
        ("echo hello", "asks for Node 22 or newer, and {node} does not tell its version"),
        ("echo v22.1.0", ""),
        ("echo v100.0.0", ""),
    ],
)
def test_an_agent_that_asks_for_a_newer_node_than_there_is_says_so_even_if_it_comes_up(
    tmp_path: Path, node: str, said: str
) -> None:
    program(tmp_path / "bin", "node", node)
    environment = program(tmp_path / "bin", "qwen", f"exec {sys.executable} -m rekindle.scripted")
    found = check(registry.AGENTS["qwen"], environment)
    assert found.state == "ready"
    assert found.old_node.endswith(said.format(node=tmp_path / "bin" / "node"))
    assert bool(found.old_node) == bool(said)
    assert check(registry.AGENTS["scripted"], environment).old_node == "", "who asks for none is not looked at"


JUNIT = """<testsuites><testsuite>
<testcase name="test_s1_killed[codex]"/>
<testcase name="test_s7_and_s11_lost[codex-delete]"/>
<testcase name="test_s7_and_s11_lost[codex-empty]"><failure/></testcase>
<testcase name="test_s3_early[codex]"><skipped message="real agent not installed: codex"/></testcase>
<testcase name="test_s6_torn[codex-a]"/>
<testcase name="test_s6_torn[codex-b]"><skipped message="it keeps no record"/></testcase>
<testcase name="test_s9_long[codex-a]"><skipped message="it never ends"/></testcase>
<testcase name="test_s9_long[codex-b]"><failure/></testcase>
<testcase name="test_s1_killed[claude]"><failure/></testcase>
</testsuite></testsuites>"""


def test_a_scenario_is_passed_only_if_all_of_its_tests_are_and_a_skipped_one_is_a_mark_of_its_own() -> None:
    passed = outcomes(JUNIT, "codex")
    assert passed == {"S1": True, "S6": None, "S7": False, "S9": False, "S11": False}
    row = page({"codex": {"date": "2026-01-01", "passed": passed}}).splitlines()[-1]
    assert row.startswith("| codex | yes | – | – | – | – | skipped | no | – | no | – | no |")
    assert "1 of 11" in row
