"""`rekindle wait`: a script learns how a session or a feature ended, by the exit status and by what is printed."""

from __future__ import annotations

import json
import signal

import pytest

from tests.e2e.daemon import Machine, until
from tests.e2e.features import Shop, task
from tests.e2e.typist import Typist

pytestmark = pytest.mark.timeout(240)


def test_wait_ends_with_the_turn_and_names_the_next_command(machine: Machine) -> None:
    session = machine.begin("stream 20 0.05 word", "say the end")
    told = machine.ok("wait", session)
    assert told == f"{session}: finished its turn.\n  next: rekindle logs {session}\n"
    assert machine.status(session) == "waiting"
    found = machine.json("wait", session)
    assert (found["what"], found["how"], found["is_well"], found["id"]) == ("session", "finished", True, session)


def test_wait_prints_a_question_and_leaves_with_3(machine: Machine) -> None:
    session = machine.begin("ask May I?", "say thanks")
    done = machine.run("wait", session)
    assert done.returncode == 3 and "May I?" in done.stderr and "allow_once" in done.stderr
    asked = json.loads(machine.run("wait", session, "--json").stdout)["error"]["question"]
    machine.ok("answer", asked["id"], "allow")
    machine.ok("wait", session)


def test_wait_says_why_an_agent_is_gone_and_that_the_time_is_over(machine: Machine) -> None:
    session = machine.begin("sleep 60")
    late = machine.run("wait", session, "--timeout", "0.3s", "--json")
    assert late.returncode == 1 and json.loads(late.stdout)["error"]["code"] == "timeout"
    machine.until_said(session, "sleep: 60")
    machine.kill(machine.pids(session)["agent"])
    done = machine.run("wait", session)
    assert done.returncode == 1
    assert "interrupted" in done.stderr and f"next: rekindle resume {session}" in done.stderr
    assert machine.run("wait", "nobody").returncode == 2


def test_ctrl_c_on_wait_says_that_it_goes_on(machine: Machine) -> None:
    session = machine.begin("sleep 60")
    with Typist(machine, "wait", session) as person:
        person.until_shown("Waiting for")
        person.process.send_signal(signal.SIGINT)
        assert person.leave() == 130
        person.until_shown(f"Still running. Reattach: rekindle attach {session}")


def test_wait_returns_when_the_proof_of_a_resume_is_settled(machine: Machine) -> None:
    session = machine.begin("say one")
    machine.ok("wait", session)
    machine.kill(machine.pids(session)["agent"])
    machine.ok("send", session, "say two")
    found = machine.json("wait", session)
    assert "the next turn" not in found["receipt"]["reason"]


def test_wait_for_a_feature_until_its_run_is_over_and_also_afterwards(shop: Shop) -> None:
    machine = shop.machine
    plan = shop.plan(task("a"), task("b", "ask May I write?", "write b.txt b"))
    machine.ok("run", "--plan", plan, "--detach")
    asked = machine.run("wait", shop.feature)
    assert asked.returncode == 3 and "May I write?" in asked.stderr
    [question] = machine.json("inbox")["questions"]
    machine.ok("answer", question["id"], "allow")
    assert "shop: completed.\n  next: git merge feature/shop" in machine.ok("wait", shop.feature)
    machine.kill_daemon()
    assert machine.json("wait", shop.feature)["how"] == "completed", "the journal knows"


def test_a_feature_that_went_down_with_its_daemon_is_told_as_interrupted(shop: Shop) -> None:
    machine = shop.machine
    machine.ok("run", "--plan", shop.plan(task("a", "sleep 60")), "--detach")
    until(lambda: shop.events("task.started"), "a start")
    machine.kill_daemon()
    done = machine.run("wait", shop.feature)
    assert done.returncode == 1 and "interrupted" in done.stderr and "rekindle resume shop" in done.stderr


def test_the_board_of_a_feature_is_opened_again_with_its_question_and_says_what_is_next(shop: Shop) -> None:
    machine = shop.machine
    machine.ok("run", "--plan", shop.plan(task("a"), task("b", "ask May I write?", "write b.txt b")), "--detach")
    with Typist(machine, "attach", shop.feature) as person:
        person.until_shown("b asks: ask: May I write?")
        [question] = machine.json("inbox")["questions"]
        person.until_shown(f"next: rekindle answer {question['id']}")
        person.process.send_signal(signal.SIGINT)
        assert person.leave() == 130
        person.until_shown("Still running. Reattach: rekindle attach shop")
    machine.ok("answer", question["id"], "allow")
    assert "completed, 2 of 2 tasks merged" in (told := machine.ok("attach", shop.feature))
    assert "next: git merge feature/shop" in told
    machine.kill_daemon()
    assert "The newest one: completed" in machine.ok("attach", shop.feature)


def test_the_board_and_the_end_say_why_a_task_failed(shop: Shop) -> None:
    done = shop.machine.run("run", "--plan", shop.plan(task("a", "write a.txt a", checks=["test -e b.txt"])))
    assert done.returncode == 1
    assert "a: failed: " in done.stdout, done.stdout
    assert "task a failed: " in done.stdout and "rekindle resume shop" in done.stdout
