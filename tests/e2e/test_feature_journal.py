"""The journal of a feature that rekindle runs: everything of a run stands in it, in order, before its end."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.e2e.daemon import until
from tests.e2e.features import FEATURE, Shop, task

pytestmark = pytest.mark.timeout(280)


def is_in_order(events: list[dict[str, Any]]) -> bool:
    """Whether every run counts its events from 0 without a hole, and has none behind its end."""
    seqs: dict[str, list[int]] = {}
    ended: set[str] = set()
    for event in events:
        if event["sid"] in ended:
            return False
        seqs.setdefault(event["sid"], []).append(event["seq"])
        if event["type"] == "session.end":
            ended.add(event["sid"])
    return all(found == list(range(len(found))) for found in seqs.values())


def verify(shop: Shop) -> tuple[int, str]:
    done = shop.machine.run("journal", "verify", FEATURE)
    return done.returncode, done.stdout + done.stderr


def test_all_that_agents_did_is_in_the_run_before_it_ends(shop: Shop) -> None:
    shop.machine.ok("run", "--plan", shop.plan(task("a"), task("b", reviewer="scripted", review="say VERDICT: PASS")))
    events = shop.events()
    assert events[-1]["type"] == "session.end"
    assert {event.get("sid") for event in events} == {events[0]["sid"]}
    assert is_in_order(events)
    assert len(shop.events("agent.spawned")) == len(shop.events("agent.completed")) == 3
    assert shop.machine.json("analyze", FEATURE)["active_agents"] == []
    assert verify(shop)[0] == 0, verify(shop)[1]


def test_a_run_that_is_stopped_says_first_that_its_agents_have_ended(shop: Shop) -> None:
    running = shop.start("run", "--plan", shop.plan(task("a", "run sleep 60"), task("b", "run sleep 60")))
    until(lambda: all("run: sleep 60" in shop.said(name) for name in "ab"), "work on both")
    shop.machine.ok("stop", FEATURE)
    running.communicate(timeout=60)
    at_once = shop.events()
    assert at_once[-1]["type"] == "session.end" and is_in_order(at_once)
    assert len(shop.events("agent.completed")) == 2
    assert shop.machine.json("analyze", FEATURE)["active_agents"] == []


def test_what_was_not_written_when_everything_was_killed_is_written_once_and_in_a_run(shop: Shop) -> None:
    plan = shop.plan(task("a"), task("b", "write b.txt b", "run sleep 60", needs=["a"]))
    running = shop.start("run", "--plan", plan)
    until(lambda: "run: sleep 60" in shop.said("b"), "work on b")
    shop.kill_everything()
    running.communicate(timeout=60)
    shop.machine.ok("resume", FEATURE)
    events = shop.events()
    runs = {event["sid"] for event in shop.events("session.start")}
    assert len(runs) == 2 and {event.get("sid") for event in events} == runs
    assert is_in_order(events)
    assert max(Counter(event["eid"] for event in events if "eid" in event).values()) == 1
    assert shop.machine.json("analyze", FEATURE)["active_agents"] == []
    assert verify(shop)[0] == 0, verify(shop)[1]


def test_an_agent_that_is_brought_back_by_hand_does_not_change_the_ended_run(shop: Shop) -> None:
    plan = shop.plan(task("a"), task("b", "write b.txt b", checks=["test -e mended.txt"]))
    assert shop.machine.run("run", "--plan", plan).returncode == 1
    before, lines = shop.machine.json("analyze", FEATURE), len(shop.events())
    [row] = [row for row in shop.machine.json("ps", "--all")["sessions"] if row["title"] == "work: Task b"]
    shop.machine.ok("send", row["id"], "say I am back")
    shop.machine.ok("stop", row["id"])
    until(lambda: shop.events("outside.agent.completed"), "the word of it in the journal")
    more = shop.events()[lines:]
    assert {event["type"] for event in more} >= {"outside.agent.spawned", "outside.agent.completed"}
    assert {event["sid"] for event in more} == {row["id"]}
    now = shop.machine.json("analyze", FEATURE)
    assert {**now, "lines": 0, "strays": []} == {**before, "lines": 0}
    assert now["strays"] == [row["id"]]
    assert verify(shop)[0] == 0, verify(shop)[1]
