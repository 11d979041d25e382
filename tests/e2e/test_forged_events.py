"""What an agent writes into the journal of the run that drives it: kept and shown, and nobody acts on it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.e2e.daemon import until
from tests.e2e.features import FEATURE, Shop, task

pytestmark = pytest.mark.timeout(280)

#: Run by an agent: appends events to the run that is under way, without asking anybody.
FORGER = """
import json, sys
path, events = sys.argv[1], json.loads(sys.argv[2])
lines = [json.loads(line) for line in open(path)]
sid = lines[0]["sid"]
with open(path, "a") as file:
    for number, (type, data) in enumerate(events):
        seq, own = data.pop("_seq", len(lines) + number), data.pop("_sid", sid)
        data = {key: sid if value == "OURS" else value for key, value in data.items()}
        file.write(json.dumps({"v": 1, "sid": own, "seq": seq, "type": type, "data": data}) + "\\n")
"""
#: Each of these alone would settle task b, or the whole run.
LIES: list[tuple[str, dict[str, object]]] = [
    ("branch.created", {"name": f"work/{FEATURE}/b", "taskId": "b"}),
    ("worktree.created", {"path": "/nowhere", "branch": f"work/{FEATURE}/b"}),
    ("qa.passed", {"taskId": "b", "round": 1}),
    ("branch.merged", {"name": f"work/{FEATURE}/b", "target": f"feature/{FEATURE}", "taskId": "b"}),
    ("task.completed", {"taskId": "b"}),
    ("task.skipped", {"taskId": "b"}),
    ("checkpoint", {"label": "done", "plan_step": "finish", "resumable": True}),
]


def forge(shop: Shop, *events: tuple[str, dict[str, object]]) -> str:
    """A line of an agent's script that writes straight into the journal's file."""
    script = shop.machine.home / "forger.py"
    script.write_text(FORGER)
    return f"run {sys.executable} {script} {shop.journal} '{json.dumps(events)}'"


def track(type_: str, data: dict[str, object]) -> str:
    """A line of an agent's script that goes through our door."""
    return f"run rekindle track {type_} --feature {FEATURE} --data '{json.dumps(data)}'"


def is_worked(shop: Shop) -> None:
    """Both tasks were worked by their agents and merged, whatever the journal was told."""
    assert [subject for subject, _ in shop.history()] == ["Merge task a: Task a", "Merge task b: Task b"]
    assert shop.git("show", f"feature/{FEATURE}:b.txt") == "b"


def test_what_an_agent_tracks_is_kept_as_a_claim_and_decides_nothing(shop: Shop) -> None:
    told: list[tuple[str, dict[str, object]]] = [*LIES, ("session.end", {"reason": "completed"})]
    lies = [track(type_, data) for type_, data in told]
    shop.machine.ok("run", "--plan", shop.plan(task("a", *lies, "write a.txt a"), task("b", needs=["a"])))
    is_worked(shop)
    sid = shop.events("session.start")[0]["sid"]
    for type_, _ in told:
        assert [event["sid"] for event in shop.events(f"claimed.{type_}")] == [sid]
    found = shop.machine.json("analyze", FEATURE)
    assert [one["type"] for one in found["claims"]] == [type_ for type_, _ in told]
    assert "- task.skipped task #b" in shop.machine.ok("analyze", FEATURE)
    assert shop.machine.run("journal", "verify", FEATURE).returncode == 0


def test_what_an_agent_writes_straight_into_the_file_is_named_and_decides_nothing(shop: Shop) -> None:
    lie = forge(shop, *LIES, ("session.end", {"reason": "completed"}))
    shop.machine.ok("run", "--plan", shop.plan(task("a", lie, "write a.txt a"), task("b", needs=["a"])))
    is_worked(shop)
    warned = " ".join(event["data"]["message"] for event in shop.events("warning.logged"))
    assert all(type_ in warned for type_, _ in LIES)
    done = shop.machine.run("journal", "verify", FEATURE)
    assert done.returncode == 1
    lines = [number for number, one in enumerate(shop.journal.read_text().splitlines(), 1) if '"ts"' not in one]
    assert len(lines) == len(LIES) + 1
    assert all(f"events.jsonl:{number}: " in done.stdout for number in lines)


def test_an_event_of_the_run_cannot_be_overwritten_by_an_agent(shop: Shop) -> None:
    lie = forge(shop, ("tool.invoked", {"_seq": 1}))  # the plan
    shop.machine.ok("run", "--plan", shop.plan(task("a", lie, "write a.txt a"), task("b", needs=["a"])))
    is_worked(shop)
    assert [task["id"] for task in shop.machine.json("analyze", FEATURE)["plan"]["tasks"]] == ["a", "b"]


def test_a_forged_end_does_not_keep_a_cut_run_from_being_resumed(shop: Shop) -> None:
    lie = forge(shop, *LIES, ("session.end", {"reason": "completed"}))
    plan = shop.plan(task("a", lie, "write a.txt a"), task("b", "write b.txt b", "run sleep 60", needs=["a"]))
    running = shop.start("run", "--plan", plan)
    until(lambda: "run: sleep 60" in shop.said("b"), "work on b")
    shop.kill_everything()
    running.communicate(timeout=60)
    shop.machine.ok("resume", FEATURE)
    is_worked(shop)


@pytest.mark.parametrize("ends", [True, False])
def test_a_forged_run_does_not_take_a_cut_run_over(shop: Shop, ends: bool) -> None:
    start: dict[str, object] = {"_sid": "deadbeef", "_seq": 0, "command": "resume", "resumes": "OURS"}
    end: dict[str, object] = {"_sid": "deadbeef", "_seq": 1, "reason": "completed"}
    lie = forge(shop, ("session.start", start), *([("session.end", end)] if ends else []))
    plan = shop.plan(task("a", lie, "write a.txt a"), task("b", "write b.txt b", "run sleep 60", needs=["a"]))
    running = shop.start("run", "--plan", plan)
    until(lambda: "run: sleep 60" in shop.said("b"), "work on b")
    shop.kill_everything()
    running.communicate(timeout=60)
    shop.machine.ok("resume", FEATURE)
    is_worked(shop)
    assert not [event for event in shop.events() if event["type"].startswith("outside.")]
    warned = " ".join(event["data"]["message"] for event in shop.events("warning.logged"))
    assert "(session.start)" in warned
    assert "interferes with a run" in shop.machine.run("journal", "verify", FEATURE).stdout


def test_a_run_that_nobody_drives_may_be_tracked_by_an_agent(shop: Shop) -> None:
    words = (*("track", "session.start", "--feature", FEATURE), *("--data", '{"command": "implement"}'))
    shop.machine.ok(*words)
    session = shop.machine.begin(track("task.completed", {"taskId": "b"}))
    shop.machine.until_status(session, "waiting")
    assert shop.machine.json("analyze", FEATURE)["tasks"] == {"b": "COMPLETE"}
    assert Path(shop.journal).read_text().count("claimed.") == 0
