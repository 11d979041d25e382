"""The daemon is killed in the middle of a rule: what was due happens once, and at its time."""

from __future__ import annotations

import json
import tarfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.daemon import Machine, until

pytestmark = pytest.mark.timeout(240)


def begin(machine: Machine, rules: str, prompt: str) -> str:
    book = machine.work / "book.toml"
    book.write_text(f'[agent.worker]\nrun = "scripted"\n{rules}\n')
    return machine.ok("run", "--runbook", str(book), "worker", prompt, "--detach").strip()


def attempts(machine: Machine, session: str) -> int:
    return len(machine.show(session)["session"]["attempts"])


def test_killed_during_a_cooldown_the_action_comes_at_its_time_and_once(machine: Machine) -> None:
    rules = 'on_error = [{ match = "overloaded", action = "resume", cooldown = "6s", attempts = 2 }]'
    session = begin(machine, rules, "once a fail overloaded\nsay the end")
    waits = until(lambda: machine.json("ps")["sessions"][0]["waits_until"], "the cooldown")
    machine.kill_daemon()
    machine.ok("inbox")  # a new daemon
    assert machine.json("ps")["sessions"][0]["waits_until"] == waits, "the same moment"
    assert "the end" not in machine.said(session).splitlines()
    machine.kill_daemon()
    machine.ok("inbox")
    until(lambda: "the end" in machine.said(session).splitlines(), "the end")
    machine.until_status(session, "waiting", "asleep")
    assert machine.said(session).splitlines().count("the end") == 1
    last = machine.show(session)["session"]["prompts"][-1]
    assert last["state"] == "done"


def test_killed_while_a_dead_agent_waits_for_its_restart_it_comes_back_once(machine: Machine) -> None:
    rules = 'on_dead = { action = "resume", cooldown = "4s", attempts = 1 }'
    session = begin(machine, rules, "say begin\nonce a sleep 600\nsay the end")
    machine.until_said(session, "sleep: 600")
    machine.kill(machine.pids(session)["agent"])
    until(lambda: machine.json("ps")["sessions"][0]["waits_until"], "the cooldown")
    machine.kill_daemon()
    assert attempts(machine, session) == 1
    machine.ok("inbox")
    until(lambda: attempts(machine, session) == 2, "the restart")
    machine.kill_daemon()
    machine.ok("inbox")
    until(lambda: "the end" in machine.said(session).splitlines(), "the end")
    assert attempts(machine, session) == 2


def test_killed_during_a_gate_it_decides_once(machine: Machine) -> None:
    gate = '["sh", "-c", "echo looked >> gate.txt; until test -e open; do sleep 0.05; done"]'
    session = begin(machine, f'on_idle = {{ action = "gate", run = {gate} }}', "say hello")
    gates = machine.work / "gate.txt"
    until(gates.exists, "the gate")
    machine.kill_daemon()
    (machine.work / "open").write_text("")
    machine.ok("inbox")
    until(lambda: machine.show(session)["session"]["state"] == "COMPLETED", "the gate's yes")
    assert len(gates.read_text().splitlines()) <= 2, "cut off once, so it may have run twice, and no more often"
    kinds = [one["fact"] for one in facts(machine, session)]
    assert (kinds.count("gate_wanted"), kinds.count("gate_ran")) == (1, 1)


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.15])
def test_killed_while_a_question_is_answered_the_answer_counts_once(machine: Machine, seconds: float) -> None:
    session = begin(machine, 'on_dead = "escalate"', "say begin\nonce a sleep 600\nsay the end")
    machine.until_said(session, "sleep: 600")
    machine.kill(machine.pids(session)["agent"])
    [asked] = until(lambda: machine.json("inbox")["questions"], "the question")
    daemon = machine.daemon()
    killer = threading.Timer(seconds, machine.kill, (daemon,))  # the moment is what is tried
    killer.start()
    first = machine.run("answer", asked["id"], "resume", "--json")
    killer.join()
    if first.returncode != 0:  # nobody knows whether it counted, so a person says it again
        again = machine.run("answer", asked["id"], "resume", "--json")
        assert again.returncode in (0, 4), again.stdout
    machine.ok("inbox")  # a new daemon, if the last one was killed behind its answer
    until(lambda: "the end" in machine.said(session).splitlines(), "the end")
    kinds = [one["fact"] for one in facts(machine, session)]
    assert kinds.count("escalation_answered") == 1
    assert attempts(machine, session) == 2
    assert machine.json("inbox")["questions"] == []


def facts(machine: Machine, session: str) -> list[dict[str, Any]]:
    """Everything that is on record about a session."""
    archive = Path(machine.home, f"{time.monotonic_ns()}.tar.gz")
    machine.ok("export", session, "--output", str(archive))
    with tarfile.open(archive) as packed:
        found = packed.extractfile("facts.jsonl")
        assert found is not None
        return [json.loads(line) for line in found.read().splitlines()]
