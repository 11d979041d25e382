"""What a person and an agent are told after a crash, and after the next one: real processes, real SIGKILL."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

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
    words = "its outcome is unknown (it was stopped with you): run: python3 tool.py"
    until(lambda: words in machine.said(session), "what the agent is told")


def test_a_prompt_that_wakes_a_session_says_so_with_its_receipt(machine: Machine) -> None:
    session = killed_in_a_command(machine, "say after")
    told = machine.ok("send", session, "say more", "--follow")
    lines = told.splitlines()
    assert lines[0] == f"{session}: woken up, attempt 2."
    assert lines[1].startswith("  the same conversation: ")
    assert lines[2] == "  - was started, outcome unknown: run: python3 tool.py"
    assert "\nmore\n" in told
    assert told.count("the same conversation: ") == 1, "a receipt that did not change is printed once"
    quiet = machine.ok("send", session, "say again")
    assert "woken" not in quiet
    assert "conversation" not in quiet
    machine.until_status(session, "waiting")
    machine.ok("stop", session, "--sleep")
    woken = machine.ok("send", session, "say the last")
    assert f"{session}: woken up, attempt 3." in woken
    assert "the same conversation" in woken
    assert f"rekindle show {session}" in woken


def test_an_agent_that_comes_back_by_itself_shows_its_receipt_to_whoever_watches(machine: Machine) -> None:
    done = machine.run("run", "--policy", "continue", "once x die\nsay the end")
    assert "the same conversation: " in done.stdout


def test_a_failed_resume_shows_no_receipt_of_an_earlier_attempt(machine: Machine) -> None:
    machine.ok("run", "say first")
    session = machine.json("ps")["sessions"][0]["id"]
    assert "the same conversation" in machine.ok("resume", session)
    machine.ok("stop", session, "--sleep")
    for one in machine.home.rglob("*.jsonl"):
        if "scripted" in str(one):
            one.write_bytes(b"")  # the agent cannot open its conversation any more
    for copy in Path(machine.places.sessions, session, "vault").rglob("*"):
        if copy.is_file():
            copy.write_bytes(b"")
    done = machine.run("resume", session)
    assert "same conversation" not in done.stdout + done.stderr
    assert machine.show(session)["receipt"] is None


def told_to_go_on(machine: Machine, session: str) -> list[str]:
    return [one["text"] for one in machine.json("logs", session)["entries"] if one["kind"] == "told"]


def test_an_agent_that_was_cut_off_twice_gets_its_task_and_all_its_words_back_once(machine: Machine) -> None:
    session = machine.begin("stream 2000 0.002 alpha", "stream 2000 0.002 beta", "say the end", "sleep 600")
    for attempt, word in ((1, "alpha900"), (2, "beta900")):
        machine.until_said(session, word)
        machine.kill(machine.pids(session, attempt)["agent"])
        machine.until_status(session, "interrupted")
        machine.ok("resume", session)
    machine.until_said(session, "the end")
    once, twice = told_to_go_on(machine, session)
    assert all(f" alpha{number} " in once for number in range(2, 900)), "a long answer comes back whole"
    for words in ([f" alpha{number} " for number in range(2, 900)], [f" beta{number} " for number in range(2, 900)]):
        assert [word for word in words if twice.count(word) != 1] == []
    assert twice.index(" alpha900 ") < twice.index(" beta2 ")
    assert twice.count("You were working on") == twice.count("Your process was interrupted") == 1
    assert "You were working on: stream 2000 0.002 alpha" in twice
