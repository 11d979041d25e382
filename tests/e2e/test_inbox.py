"""Answers that come at the same time, or while the daemon is killed: each question is answered once."""

from __future__ import annotations

import json
import subprocess
import time

import pytest

from tests.e2e.daemon import Machine, until
from tests.e2e.test_questions import open_question
from tests.soaking import only_in_soak

pytestmark = pytest.mark.timeout(240)


def dead(machine: Machine) -> str:
    """A session whose agent was killed in its turn, about which rekindle asks."""
    session = machine.begin("say one", "stream 900 0.05 thinking")
    machine.until_said(session, "thinking3")
    machine.kill(machine.pids(session)["agent"])
    return session


@pytest.mark.parametrize("own", [True, False], ids=["rekindle's own", "the agent's"])
def test_four_clients_answer_at_once_and_one_wins(machine: Machine, own: bool) -> None:
    session = dead(machine) if own else machine.begin("ask May I?", "say done")
    asked = open_question(machine)
    assert asked["recommended"] in [one["id"] for one in asked["options"]]
    words = [one["id"] for one in asked["options"]] * 2
    clients = [
        subprocess.Popen(
            [*machine.command, "answer", asked["id"], word, "--json"],
            cwd=machine.work,
            env=machine.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for word in words[:4]
    ]
    told = [(json.loads(client.communicate(timeout=120)[0]), client.returncode) for client in clients]
    [won] = [found for found, status in told if status == 0]
    assert [status for _, status in told].count(4) == 3
    assert {found["error"]["option"] for found, status in told if status} == {won["option"]}
    assert all("by pid " in found["error"]["message"] for found, status in told if status), "by whom"
    [over] = machine.show(session)["session"]["settled"]
    assert over["option"] == won["option"]


@pytest.mark.parametrize("seconds", [0.0, 0.2, *only_in_soak(0.05, 0.1, 0.3, 0.5)])
def test_an_answer_that_is_given_while_the_daemon_is_killed_counts_once(machine: Machine, seconds: float) -> None:
    session = dead(machine)
    asked = open_question(machine)
    client = machine.start("answer", asked["id"], "resume", "--text", "say only once")
    time.sleep(seconds)  # how far the answer gets: not synchronisation but what is tried
    machine.kill_daemon()
    client.communicate(timeout=120)
    if any(one["id"] == asked["id"] for one in machine.questions()):
        machine.ok("answer", asked["id"], "resume", "--text", "say only once")
    machine.until_said(session, "\nonly once")
    prompts = [one["text"] for one in machine.show(session)["session"]["prompts"]]
    assert prompts.count("say only once") == 1
    assert machine.said(session).count("\nonly once") == 1
    until(lambda: machine.questions() == [], "nothing is asked any more")
