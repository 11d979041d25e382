"""What a person and an agent are told after a crash, and after the next one: real processes, real SIGKILL."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e.daemon import Machine, until

pytestmark = pytest.mark.timeout(240)

TOOL = "import time; open('ran.txt','a').write('x\\n'); time.sleep(600)"


def killed_in_a_command(machine: Machine, *behind: str) -> str:
    """A session whose agent was killed while a command of it ran."""
    (machine.work / "tool.py").write_text(TOOL)
    session = machine.begin("run python3 tool.py", *behind)
    until((machine.work / "ran.txt").exists, "the command")
    machine.kill(machine.pids(session)["agent"])
    machine.until_status(session, "interrupted")
    return session


def resumed_and_killed_at_its_start(machine: Machine, session: str, attempt: int) -> None:
    with ThreadPoolExecutor(1) as pool:
        back = pool.submit(machine.run, "resume", session)
        machine.kill(machine.pids(session, attempt)["agent"])
        back.result()
    machine.until_status(session, "interrupted", "dead")


def test_a_second_crash_does_not_make_an_unknown_outcome_known(machine: Machine) -> None:
    session = killed_in_a_command(machine, "sleep 600")
    resumed_and_killed_at_its_start(machine, session, 2)
    assert "outcome unknown: run: python3 tool.py" in machine.ok("resume", session, "--explain")
    told = json.loads(machine.ok("resume", session, "--json"))
    assert told["receipt"]["kind"] == "same"
    assert any("outcome unknown: run: python3 tool.py" in line for line in told["receipt"]["unknown"])
    machine.until_said(session, "its outcome is unknown (it was stopped with you): run: python3 tool.py")
