"""Runs the drill with some agents and writes what came of it: `python -m tests.real.results [AGENT…]`.

A scenario is passed if every test of it passed. Results of agents that are not run now stay as they were.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.real.acp_stage import SETUPS
from tests.real.programs import MISSING

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "agents" / "results.json"
PAGE = RESULTS.with_suffix(".md")
DRILL = "tests/real/test_drill.py"
SCENARIOS = tuple(f"S{number}" for number in range(1, 12))
_NAME = re.compile(r"test_(s\d+(?:_and_s\d+)?)_.*\[([a-z]+)(?:-.*)?\]")


def run(agent: str) -> dict[str, Any]:
    """One agent's drill."""
    with tempfile.NamedTemporaryFile(suffix=".xml") as told:
        words = [sys.executable, "-m", "pytest", "-n", "2", DRILL, "-k", agent, f"--junitxml={told.name}"]
        subprocess.run(words, cwd=ROOT, check=False, env={**os.environ, "REKINDLE_DRILL": agent})
        return {"date": datetime.now(UTC).date().isoformat(), "passed": outcomes(Path(told.name).read_text(), agent)}


def outcomes(junit: str, agent: str) -> dict[str, bool | None]:
    """Whether each scenario was passed; None: a test of it cannot apply. Without the agent there are none at all."""
    found: dict[str, list[bool | None]] = defaultdict(list)
    for case in ElementTree.fromstring(junit).iter("testcase"):
        name = _NAME.fullmatch(case.get("name", ""))
        skipped = case.find("skipped")
        if name is None or name[2] != agent or (skipped is not None and MISSING in skipped.get("message", "")):
            continue
        passed = None if skipped is not None else case.find("failure") is None and case.find("error") is None
        for scenario in name[1].upper().split("_AND_"):
            found[scenario].append(passed)
    return {scenario: None if None in tests and False not in tests else all(tests) for scenario, tests in found.items()}


def page(results: dict[str, Any]) -> str:
    """The table."""
    head = f"| agent | {' | '.join(SCENARIOS)} | passed | date |\n|---|{':-:|' * len(SCENARIOS)}--:|---|"
    rows = [_row(agent, one) for agent, one in sorted(results.items())]
    words = (
        "# The drill, agent by agent\n\nMade by `python -m tests.real.results`; not written by hand.\n"
        "`yes`: every test of the scenario passed, `no`: at least one did not, `skipped`: one of them cannot apply to\n"
        "the agent (the test says why), so that the scenario is not passed, `–`: not run with this agent.\n"
    )
    return "\n".join([words, head, *rows, ""])


def _row(agent: str, one: dict[str, Any]) -> str:
    words = {True: "yes", False: "no", None: "skipped"}
    marks = [words[one["passed"][name]] if name in one["passed"] else "–" for name in SCENARIOS]
    return f"| {agent} | {' | '.join(marks)} | {marks.count('yes')} of {len(SCENARIOS)} | {one['date']} |"


def main(agents: list[str]) -> None:
    for agent in agents or ["scripted", "claude", *SETUPS]:
        found = run(agent)
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}  # by now, others may have run beside us
        RESULTS.write_text(json.dumps({**known, agent: found}, indent=1, sort_keys=True) + "\n")
        PAGE.write_text(page(json.loads(RESULTS.read_text())))


if __name__ == "__main__":
    main(sys.argv[1:])
