"""Plans as a person runs them: what is refused before anything begins, and in whose name the work is done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.daemon import until
from tests.e2e.features import FEATURE, Shop, task


@pytest.mark.parametrize(
    ("wrong", "head", "named", "remedy"),
    [
        (
            {"agent": "claude"},
            "",
            "task 'b' wants Claude Code, and there is no program 'claude'",
            "npm install --global",
        ),
        ({"reviewer": "gemini"}, "", "there is no program 'gemini'", "npm install --global @google/gemini-cli"),
        ({"agent": "nobody"}, "", "task 'b' wants an agent 'nobody'", "there are: "),
        ({}, 'base = "nowhere"', "there is no commit 'nowhere'", "`base`"),
        ({"checks": ["true && true"]}, "", "has '&&'", '["sh", "-c", "true && true"]'),
    ],
)
def test_a_plan_that_cannot_be_worked_is_refused_before_anything_is_written(
    shop: Shop, wrong: dict[str, str], head: str, named: str, remedy: str
) -> None:
    plan = shop.plan(task("a"), task("b", **wrong), head=head)
    refused = shop.machine.run("run", "--plan", plan, PATH=shop.path_without_agents())
    assert refused.returncode == 2
    assert named in refused.stderr and remedy in refused.stderr
    assert not shop.journal.parent.exists()
    assert shop.machine.json("features")["features"] == []
    assert shop.machine.json("ps", "--all")["sessions"] == []
    assert shop.git("branch", "--list", f"*{FEATURE}*") == ""


def test_agents_checks_and_commits_have_the_name_and_the_environment_of_whoever_runs_the_plan(shop: Shop) -> None:
    """A daemon that somebody started elsewhere has another environment than a folder with its own (direnv)."""
    shop.machine.ok("run", "-d", "say it is up", GIT_AUTHOR_NAME="Daemon", SHOP_KEY="another")
    tools = shop.machine.home / "tools"
    tools.mkdir()
    (tools / "shoptool").write_text('#!/bin/sh\ntest "$SHOP_KEY" = s3cret-word\n')
    (tools / "shoptool").chmod(0o755)
    mine = {f"GIT_{who}_{what}": f"{who}@{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    by_hand = ("write b.txt b", "run git add -A", "run git commit -qm by-hand", "run shoptool")
    plan = shop.plan(task("a", checks=["shoptool"]), task("b", *by_hand))
    path = f"{tools}:{shop.machine.environment()['PATH']}"
    shop.machine.ok("run", "--plan", plan, PATH=path, SHOP_KEY="s3cret-word", **mine)
    made = shop.git("log", "--format=%an %ae %cn %ce", f"main..feature/{FEATURE}").splitlines()
    assert len(made) == 4 and set(made) == {"AUTHOR@NAME AUTHOR@EMAIL COMMITTER@NAME COMMITTER@EMAIL"}
    assert "s3cret-word" not in shop.journal.read_text()
    kept = list(Path(shop.machine.places.sessions).rglob("environment.json"))
    assert sorted(json.loads(file.read_text())["SHOP_KEY"] for file in kept) == [
        "another",
        "s3cret-word",
        "s3cret-word",
    ]
    assert {file.stat().st_mode & 0o077 for file in kept} == {0}


def test_a_finished_plan_is_not_run_again_unasked(shop: Shop) -> None:
    plan = shop.plan(task("a"), task("b", needs=["a"]))
    shop.machine.ok("run", "--plan", plan)
    events, history = len(shop.events()), shop.history()
    told = shop.machine.ok("run", "--plan", plan)
    assert "is finished" in told and f"2 of 2 tasks merged into feature/{FEATURE}" in told
    assert "Nothing was started" in told and f"rekindle run --plan {plan} --again" in told
    for more in ((), ("--detach",)):
        found = json.loads(shop.machine.ok("run", "--plan", plan, "--json", *more))
        assert (found["already_finished"], found["reason"], found["over"]) == (True, "completed", True)
        assert [one["state"] for one in found["tasks"]] == ["merged", "merged"]
    assert (len(shop.events()), shop.history()) == (events, history)
    assert len(shop.machine.json("ps", "--all")["sessions"]) == 2
    shop.machine.ok("run", "--plan", shop.plan(task("a", "write a.txt more"), task("b", "write b.txt more")))
    assert len(shop.machine.json("ps", "--all")["sessions"]) == 4, "another plan is not this one"


def test_tasks_that_were_done_before_are_not_paid_for_again_unasked(shop: Shop) -> None:
    shop.machine.ok("run", "--plan", shop.plan(task("a")))
    longer = shop.plan(task("a"), task("b"))
    refused = shop.machine.run("run", "--plan", longer)
    assert refused.returncode == 2 and "task a of this plan is done already" in refused.stderr
    assert "--again" in refused.stderr
    assert len(shop.machine.json("ps", "--all")["sessions"]) == 1


def test_a_plan_that_was_stopped_half_way_is_resumed_and_not_begun_anew(shop: Shop) -> None:
    plan = shop.plan(task("a"), task("b", needs=["a"], checks=["false"]))
    assert shop.machine.run("run", "--plan", plan).returncode == 1
    refused = shop.machine.run("run", "--plan", plan)
    assert refused.returncode == 2 and f"rekindle resume {FEATURE}" in refused.stderr
    assert len(shop.machine.json("ps", "--all")["sessions"]) == 2


def test_a_task_that_rightly_changes_nothing_is_done(shop: Shop) -> None:
    plan = shop.plan(task("look", "say all is well", checks=["test -s readme.txt"]), task("b", needs=["look"]))
    told = shop.machine.ok("run", "--plan", plan)
    assert f"1 of 2 tasks merged into feature/{FEATURE}; done without changes: look." in told
    [done] = [event["data"] for event in shop.events("task.completed") if event["data"]["taskId"] == "look"]
    assert done["files_changed"] == []
    assert [subject for subject, _ in shop.history()] == ["Merge task b: Task b"]
    assert shop.count("branch.merged") == {"b": 1} and shop.count("qa.passed") == {"look": 1, "b": 1}
    [about] = [e["data"]["message"] for e in shop.events("warning.logged") if "look" in e["data"]["context"]]
    assert about.endswith("its agent finished its turn and changed nothing, and that passed (1 check)")
    assert shop.git("branch", "--list", "work/*") == "" and not (shop.root / ".worktrees").exists()
    assert shop.machine.json("journal", "verify", FEATURE)["problems"] == []
    again = shop.machine.json("run", "--plan", plan)
    assert [one["state"] for one in again["tasks"]] == ["unchanged", "merged"]


def test_a_task_that_changes_nothing_is_not_done_unless_it_passes(shop: Shop) -> None:
    plan = shop.plan(task("look", "say all is well", checks=["test -s report.txt"]))
    assert shop.machine.run("run", "--plan", plan).returncode == 1
    assert shop.count("task.failed") == {"look": 1} and shop.events("task.completed") == []
    assert shop.count("qa.failed") == {"look": 2}


def test_files_that_git_ignores_are_not_thrown_away_with_a_task_that_changed_nothing_else(shop: Shop) -> None:
    (shop.root / ".git" / "info" / "exclude").write_text("report.txt\n")
    shop.machine.ok("run", "--plan", shop.plan(task("look", "write report.txt found")))
    assert (shop.root / ".worktrees" / FEATURE / "look" / "report.txt").read_text().strip() == "found"


def test_a_resume_leaves_a_task_alone_that_was_done_without_a_change(shop: Shop) -> None:
    slow = "run sh -c 'test -e ../../../go || sleep 60'"
    plan = shop.plan(task("look", "say all is well"), task("b", "write b.txt b", slow, needs=["look"]))
    running = shop.start("run", "--plan", plan)
    until((shop.root / ".worktrees" / FEATURE / "b" / "b.txt").exists, "work")
    shop.kill_everything()
    running.communicate(timeout=60)
    [row, _] = shop.machine.json("resume", FEATURE, "--explain")["tasks"]
    assert (row["name"], row["action"]) == ("look", "done") and "nothing to merge" in row["why"]
    (shop.root / "go").write_text("")
    assert "done without changes: look" in shop.machine.ok("resume", FEATURE)
    assert shop.count("task.started") == {"look": 1, "b": 2} and shop.count("task.completed") == {"look": 1, "b": 1}
