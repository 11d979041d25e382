"""What spans sessions, with the real daemon: the queue for a limit, the breaker, hold and hurry."""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from typing import Any

import pytest

from rekindle.core.session.state import OURS
from tests.e2e.daemon import Machine, until

pytestmark = pytest.mark.timeout(400)


def returned(machine: Machine, sessions: list[str]) -> list[tuple[float, str]]:
    """When sessions went on after their limit."""
    found = []
    for name in sessions:
        own = [one for one in machine.show(name)["session"]["prompts"] if one["by"] == OURS and one["sent_at"]]
        found += [(one["sent_at"], name) for one in own]
    return sorted(found)


def test_twenty_sessions_that_wait_for_one_limit_come_back_one_by_one_also_over_a_killed_daemon(
    machine: Machine,
) -> None:
    machine.ok("config", "set", "limit_returns", "30")
    late = machine.begin("fail rate_limited 30")
    sessions = [late, *(machine.begin("fail rate_limited 30") for _ in range(18))]
    urgent = machine.begin("fail rate_limited 20", options=("--priority", "high"))
    until(lambda: sum(one["waits_until"] is not None for one in machine.sessions()) >= 18, "that all of them wait")
    told = machine.json("governor")
    assert [queue["limit"] for queue in told["queues"]] == ["scripted:"]
    assert "goes on by itself at" in machine.ok("inbox")
    until(lambda: len(returned(machine, [*sessions, urgent])) >= 2, "the first returns", 120)
    machine.kill_daemon()
    machine.ok("ps")
    machine.ok("show", late)
    until(lambda: len(returned(machine, [*sessions, urgent])) >= 6, "more returns", 120)
    found = returned(machine, [*sessions, urgent])
    assert all(later - one > 1.8 for (one, _), (later, _) in pairwise(found)), found
    assert len({name for _, name in found}) == len(found), "each of them once"
    assert urgent in [name for _, name in found[:2]]
    machine.ok("stop", "--all")


def test_a_session_on_hold_does_not_go_on_until_it_is_resumed_and_one_that_is_hurried_does_at_once(
    machine: Machine,
) -> None:
    session = machine.begin("fail rate_limited 3600")
    until(lambda: machine.show(session)["waits_until"], "the wait")
    held = machine.json("hold", session)
    assert (held["waits_until"], held["needs_you"], held["next"]) == (None, False, f"rekindle resume {session}")
    assert "on hold" in held["why"]
    assert "on hold" in machine.ok("ps")
    machine.kill_daemon()
    machine.ok("resume", session)
    assert machine.show(session)["waits_until"] is not None, "its own time still stands"
    machine.ok("hold", session)
    assert "it goes on now" in machine.ok("hurry", session)
    until(lambda: machine.show(session)["session"]["prompts"][-1]["state"] == "done", "the turn that was hurried")
    refused = machine.run("hurry", session, "--json")
    assert (refused.returncode, json.loads(refused.stdout)["error"]["code"]) == (2, "usage")


def test_the_breaker_asks_one_question_and_nothing_is_restarted_until_it_is_answered(machine: Machine) -> None:
    machine.ok("config", "set", "max_restarts", "1")
    first = machine.begin("die SIGKILL", options=("--policy", "continue"))
    [asked] = until(lambda: machine.json("inbox")["questions"], "the question")
    assert (asked["kind"], asked["session"]) == ("breaker", None)
    second = machine.begin("die SIGKILL", options=("--policy", "continue"))

    def blocked() -> Any:
        told = machine.show(second)
        return told if told["status"] == "interrupted" and told["needs_you"] else None

    told = until(blocked, "the second one is stopped")
    assert told["next"] == f"rekindle answer {asked['id']}"
    assert asked["id"] in machine.ok("ps")
    assert asked["id"] in machine.ok("inbox")
    assert first in machine.ok("answer", asked["id"], "details")
    machine.kill_daemon()
    assert [one["id"] for one in machine.json("inbox")["questions"]] == [asked["id"]]
    assert len(machine.show(second)["session"]["attempts"]) == 1
    machine.ok("answer", asked["id"], "go-on")
    until(lambda: len(machine.show(second)["session"]["attempts"]) == 2, "the second one comes back")
    late = machine.run("answer", asked["id"], "stay", "--json")
    assert json.loads(late.stdout)["error"]["code"] == "answered_already"


def test_a_person_can_bring_a_session_back_while_restarts_are_stopped(machine: Machine) -> None:
    machine.ok("config", "set", "max_restarts", "1")
    machine.begin("die SIGKILL", options=("--policy", "continue"))
    [asked] = until(lambda: machine.json("inbox")["questions"], "the question")
    machine.ok("answer", asked["id"], "stay")
    second = machine.begin("die SIGKILL", options=("--policy", "continue"))
    until(lambda: machine.show(second)["status"] == "interrupted", "the second one is stopped")
    assert "rekindle governor --go-on" in machine.ok("ps")
    machine.ok("resume", second)
    assert len(machine.show(second)["session"]["attempts"]) == 2
    assert machine.json("governor", "--go-on")["stopped_since"] is None


def test_what_cannot_go_on_after_a_start_is_in_the_inbox_with_its_reason_and_the_rest_goes_on(machine: Machine) -> None:
    program = machine.home / "bin" / "agent"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    program.chmod(0o755)
    book = machine.work / "book.toml"
    book.write_text(f'[agent.own]\nrun = "{program}"\nkind = "scripted"\n')
    goes_on = machine.begin("say a", "once x sleep 600", "say the end", options=("--policy", "continue"))
    asks = machine.begin("say a", "once x sleep 600", "say the end", options=("--policy", "ask"))
    policy = ("--detach", "--policy", "continue", "--runbook", str(book))
    lacks = machine.ok("run", *policy, "own", "say a\nonce x sleep 600\nsay the end").strip()
    stopped = machine.begin("say a", "once x sleep 600", options=("--policy", "never"))
    sessions = [goes_on, asks, lacks, stopped]
    for session in sessions:
        machine.until_said(session, "sleep: 600")
    pids = [pid for session in sessions for pid in machine.pids(session).values()]
    machine.kill_daemon()
    for pid in pids:
        machine.kill(pid)
    program.rename(program.with_name("elsewhere"))
    machine.ok("governor")
    until(lambda: "the end" in machine.said(goes_on).splitlines(), "the one that can goes on")
    told = until(lambda: len((one := machine.json("inbox"))["parked"]) == 2 and one, "what cannot go on")
    assert [one["session"] for one in told["questions"]] == [asks]
    parked = {one["session"]: one for one in told["parked"]}
    assert "there is no program" in parked[lacks]["why"]
    assert parked[stopped]["next"] == f"rekindle resume {stopped}"
    assert f"{lacks} cannot go on" in machine.ok("inbox")
    program.with_name("elsewhere").rename(program)
    until(lambda: "the end" in machine.said(lacks).splitlines(), "it goes on when its program is there")


def test_resuming_all_starts_as_many_as_there_is_room_for_and_the_others_wait_for_their_turn(machine: Machine) -> None:
    machine.ok("config", "set", "max_agents", "1")
    cut = [machine.begin("say a", "once x sleep 600", "say the end") for _ in range(2)]
    for session in cut:
        machine.until_said(session, "sleep: 600")
        machine.kill(machine.pids(session)["agent"])
        machine.until_status(session, "interrupted")
    busy = machine.begin("sleep 600")
    machine.until_said(busy, "sleep: 600")
    told = machine.json("resume", "--all")
    assert told["resumed"] == []
    assert {one["id"] for one in told["skipped"] if "waits for its turn" in one["reason"]} == set(cut)
    assert all("1 of 1 agent is working" in machine.show(session)["why"] for session in cut)
    machine.ok("stop", busy)
    for session in cut:
        machine.until_said(session, "the end")
