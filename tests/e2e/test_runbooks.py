"""Runbooks with the real commands: rules are checked, recorded, and hold whatever is killed."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.daemon import Machine, until

pytestmark = pytest.mark.timeout(240)
BOOK = """\
[agent.worker]
run = "scripted"
prompt = "say from the book"
on_dead = { action = "resume", message = "say I was told to continue", append = true }
on_error = [
  { match = "rate_limited", action = "resume", cooldown = "1s" },
]
"""


def written(machine: Machine, text: str) -> str:
    path = machine.work / "book.toml"
    path.write_text(text)
    return str(path)


def shown(machine: Machine, session: str) -> dict[str, Any]:
    found: dict[str, Any] = machine.json("show", session)["session"]
    return found


def in_turn(machine: Machine, session: str) -> int:
    """The pid of an agent that has begun its turn."""
    found = until(lambda: [one for one in shown(machine, session)["prompts"] if one["state"] == "began"], "a turn")
    assert found
    return int(shown(machine, session)["attempts"][-1]["pid"])


def test_an_agent_whose_process_is_killed_goes_on_with_its_history_and_the_message(machine: Machine) -> None:
    book = written(machine, BOOK)
    session = machine.ok("run", "--runbook", book, "worker", "say one\nstream 400 0.05 thinking", "--detach").strip()
    os.kill(in_turn(machine, session), signal.SIGKILL)
    until(lambda: len(shown(machine, session)["attempts"]) == 2, "a second attempt")
    until(lambda: "I was told to continue" in machine.said(session), "the message of the runbook")
    assert shown(machine, session)["attempts"][-1]["receipt"]["kind"] == "same"


def test_the_rules_are_recorded_and_a_changed_file_changes_no_session(machine: Machine) -> None:
    book = written(machine, BOOK)
    session = machine.ok("run", "--runbook", book, "--detach").strip()
    until(lambda: "from the book" in machine.said(session), "the agent's own prompt")
    rules = shown(machine, session)["rules"]
    written(machine, BOOK.replace('"resume", message', '"fail", message'))
    assert shown(machine, session)["rules"] == rules
    assert "the file has changed since" in machine.ok("show", session)
    written(machine, '[agent.worker]\nrun = "scripted"\non_dead = "fail"\n')
    machine.ok("stop", "--sleep", session)
    machine.ok("resume", session, "--runbook", book)
    assert shown(machine, session)["rules"]["reactions"]["dead"][0]["action"] == "fail"
    os.kill(int(shown(machine, session)["attempts"][-1]["pid"]), signal.SIGKILL)
    until(lambda: shown(machine, session)["state"] == "FAILED", "the end that the new rules want")


def test_a_policy_that_is_typed_wins_over_the_runbook(machine: Machine) -> None:
    book = written(machine, BOOK)
    session = machine.ok("run", "--runbook", book, "--policy", "never", "--detach").strip()
    rules = shown(machine, session)["rules"]
    assert (rules["policy"], "dead" in rules["reactions"], "error" in rules["reactions"]) == ("never", False, True)


def test_a_limit_that_is_typed_wins_over_the_runbook_and_the_runbook_over_the_settings(machine: Machine) -> None:
    machine.ok("config", "set", "max_cost", "5")
    machine.ok("config", "set", "max_tokens", "7000")
    book = written(machine, '[agent.a]\nrun = "scripted"\nprompt = "say x"\nlimits = { max_cost = 1 }\n')
    by_book = machine.ok("run", "--runbook", book, "a", "--detach").strip()
    limits = shown(machine, by_book)["rules"]["limits"]
    assert (limits["cost"], limits["tokens"]) == (1.0, 7000)
    typed = machine.ok("run", "--runbook", book, "a", "--max-cost", "2", "--detach").strip()
    assert shown(machine, typed)["rules"]["limits"]["cost"] == 2.0


def test_the_users_own_runbook_holds_for_every_session_and_a_repository_has_no_say(machine: Machine) -> None:
    folder = machine.home / ".config" / "rekindle"
    folder.mkdir(parents=True)
    (folder / "runbook.toml").write_text('[default]\non_idle = { action = "done" }\n')
    (machine.work / "runbook.toml").write_text('[default]\non_idle = { action = "fail" }\n')
    (machine.work / ".rekindle.toml").write_text("")
    session = machine.ok("run", "--agent", "scripted", "say hi", "--detach").strip()
    until(lambda: shown(machine, session)["state"] == "COMPLETED", "the end by the user's own rule")
    assert str(folder / "runbook.toml") in machine.ok("show", session)
    assert "on_idle" in machine.ok("runbook", "show")


def test_a_dead_agent_is_asked_about_and_the_first_answer_counts(machine: Machine) -> None:
    session = machine.ok("run", "--agent", "scripted", "say one\nstream 400 0.05 thinking", "--detach").strip()
    os.kill(in_turn(machine, session), signal.SIGKILL)
    [asked] = until(lambda: machine.json("inbox")["questions"], "the question")
    assert (asked["session"], asked["kind"], asked["recommended"]) == (session, "dead", "resume")
    assert "SIGKILL" in asked["title"]
    machine.ok("answer", asked["id"], "resume", "--text", "say and be quick")
    until(lambda: len(shown(machine, session)["attempts"]) == 2, "a second attempt")
    until(lambda: "and be quick" in machine.said(session), "what the person said")
    late = machine.run("answer", asked["id"], "fail", "--json")
    assert (late.returncode, json.loads(late.stdout)["error"]["code"]) == (4, "answered_already")
    assert machine.json("inbox")["questions"] == []


@pytest.mark.parametrize("passes", [True, False])
def test_a_gate_decides_and_asks_with_what_it_said(machine: Machine, passes: bool) -> None:
    command = f'["sh", "-c", "echo looked at >> ran.txt; exit {0 if passes else 3}"]'
    book = written(
        machine, f'[agent.a]\nrun = "scripted"\nprompt = "say x"\non_idle = {{ action = "gate", run = {command} }}\n'
    )
    session = machine.ok("run", "--runbook", book, "--detach").strip()
    if passes:
        until(lambda: shown(machine, session)["state"] == "COMPLETED", "the gate's yes")
    else:
        [asked] = until(lambda: machine.json("inbox")["questions"], "the question")
        assert "exit status 3" in asked["detail"]
        machine.ok("answer", asked["id"], "done")
        until(lambda: shown(machine, session)["state"] == "COMPLETED", "a person's yes")
    assert Path(machine.work, "ran.txt").read_text() == "looked at\n"


def test_agent_resume_says_who_is_back_and_who_was_skipped(machine: Machine) -> None:
    dead, alive = (
        machine.ok("run", "--agent", "scripted", "say one\nstream 900 0.05 thinking", "--detach").strip()
        for _ in range(2)
    )
    os.kill(in_turn(machine, dead), signal.SIGKILL)
    in_turn(machine, alive)
    until(lambda: machine.json("inbox")["questions"], "the dead one to be noticed")
    told = machine.json("agent", "resume", "--all")
    assert told["resumed"] == [dead]
    assert [name for name, _ in told["skipped"]] == [alive]
    one = machine.json("agent", "resume", alive[:6])
    assert (one["resumed"], one["skipped"][0][0]) == ([], alive)
    assert machine.json("agent", "resume", alive, "--kill")["resumed"] == [alive]
    neither = machine.run("agent", "resume")
    assert (neither.returncode, "Either provide an agent ID or use --all" in neither.stderr) == (2, True)


@pytest.mark.parametrize(
    ("text", "line", "key", "allowed"),
    [
        ('[agent.a]\nrun = "claude"\non_dead = "nudge"', 3, "agent.a.on_dead", "resume"),
        ('[agent.a]\nrun = "claude"\n\non_error = [{ action = "nudge" }]', 4, "agent.a.on_error[0].action", "wait"),
        ('[agent.a]\nrun = "nobody"', 2, "agent.a.run", "claude"),
    ],
)
def test_a_wrong_runbook_is_refused_with_line_key_and_what_is_allowed(
    machine: Machine, text: str, line: int, key: str, allowed: str
) -> None:
    book = written(machine, text)
    done = machine.run("runbook", "check", book, "--json")
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["file"], error["line"], error["key"]) == (2, book, line, key)
    assert allowed in error["allowed"]
    run = machine.run("run", "--runbook", book, "do it")
    assert (run.returncode, f"line {line}" in run.stderr) == (2, True)


def test_a_good_runbook_is_counted_and_its_warnings_are_told(machine: Machine) -> None:
    good = machine.run("runbook", "check", written(machine, BOOK.replace('"resume", cool', '"recover", cool')))
    assert (good.returncode, good.stdout) == (0, f"{machine.work / 'book.toml'}: 1 agent, 1 warning.\n")
    assert "recover is the old name of resume" in good.stderr
    assert machine.run("runbook", "check", str(machine.work / "none.toml")).returncode == 2
    assert json.loads(machine.ok("runbook", "schema"))["title"] == "rekindle runbook"


def test_new_rules_are_taken_while_the_agent_is_there_and_a_wait_goes_on_to_its_end(machine: Machine) -> None:
    book = machine.work / "book.toml"
    book.write_text('[agent.worker]\nrun = "scripted"\non_error = [{ action = "wait", cooldown = "600s" }]\n')
    prompt = "once a fail overloaded\nonce b fail overloaded\nsay the end"
    session = machine.ok("run", "--runbook", str(book), "worker", prompt, "--detach").strip()
    waits = until(lambda: machine.show(session)["waits_until"], "the wait")
    other = machine.work / "other.toml"
    other.write_text('[agent.worker]\nrun = "scripted"\non_error = "fail"\n')
    assert "It has the rules of" in machine.ok("resume", session, "--runbook", str(other))
    told = machine.show(session)
    assert (told["waits_until"], told["session"]["rules_source"]) == (waits, str(other))
    assert len(told["session"]["attempts"]) == 1, "its agent was not restarted for that"
    machine.ok("hold", session)
    machine.ok("resume", session, "--runbook", str(book), "--max-cost", "7")
    told = machine.show(session)["session"]
    assert (told["on_hold"], told["rules_source"], told["rules"]["limits"]["cost"]) == ("", str(book), 7.0)
    machine.ok("resume", session, "--runbook", str(other))
    machine.ok("hurry", session)
    until(lambda: machine.show(session)["session"]["state"] == "FAILED", "the end that the new rules want")
