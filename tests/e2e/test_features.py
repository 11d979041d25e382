"""Features through the command line: real daemon, real agents (scripted), real git, real SIGKILL."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from dataclasses import replace
from typing import Any

import pytest

from rekindle.core.journal.event import FIELDS
from tests.e2e.daemon import until
from tests.e2e.features import FEATURE, Shop, task
from tests.journals import line
from tests.soaking import only_in_soak

pytestmark = pytest.mark.timeout(280)


def test_a_plan_is_worked_checked_reviewed_and_merged_and_the_users_checkout_is_not_touched(shop: Shop) -> None:
    before = shop.checkout()
    plan = shop.plan(
        task("a", checks=["test -s a.txt"]),
        task("b", "say I begin", "write b.txt b", "run git add -A", "run git commit -qm mine"),
        task("c", needs=["a", "b"], reviewer="scripted", review="say VERDICT: PASS"),
        head='lint = ["true"]',
    )
    done = shop.machine.run("run", "--plan", plan)
    assert done.returncode == 0, done.stderr + done.stdout
    assert [subject for subject, _ in shop.history()] == [f"Merge task {name}: Task {name}" for name in "abc"]
    assert shop.checkout() == before
    assert not (shop.root / ".worktrees").exists()
    assert shop.git("branch", "--list", "work/*") == ""
    types = {event["type"] for event in shop.events()}
    assert types >= {"session.start", "plan.created", "branch.created", "worktree.created", "task.started"}
    assert types >= {"agent.spawned", "agent.completed", "qa.started", "check.ran", "qa.passed", "branch.merged"}
    assert types >= {"task.completed", "worktree.removed", "checkpoint", "session.end"}
    end = shop.events("session.end")[0]["data"]
    assert end == {"reason": "completed", "duration_s": end["duration_s"], "tasks_completed": 3}
    assert 0 < end["duration_s"] < 280
    lacking = [
        (one["type"], one["data"].get("role"), name)
        for one in shop.events()
        for name in FIELDS.get(one["type"], ())
        if name not in one["data"]
    ]
    assert lacking == [("agent.spawned", "review: Task c", "branch")], "a reviewer works in a copy, on no branch"
    labels = [event["data"]["label"] for event in shop.events("checkpoint")]
    assert labels == ["plan-ready", "wave-1-complete", "wave-2-complete"]
    assert shop.machine.json("analyze", FEATURE)["decision"]["case"] == "none"


def test_after_the_end_of_everything_a_resume_goes_on_in_the_same_conversation(shop: Shop) -> None:
    plan = shop.plan(task("a"), task("b", "write b.txt b", "run sleep 60", "write late.txt x", needs=["a"]))
    running = shop.start("run", "--plan", plan)
    until(lambda: shop.events("agent.spawned")[-1:] and "run: sleep 60" in shop.said("b"), "work on b")
    shop.kill_everything()
    output, _ = running.communicate(timeout=60)
    assert running.returncode == 1 and f"rekindle resume {FEATURE}" in output
    assert f"next: rekindle resume {FEATURE}" in shop.machine.ok()
    explained = shop.machine.ok("resume", FEATURE, "--explain")
    assert 'checkpoint "wave-1-complete" found' in explained and "done: it is merged" in explained
    assert len(shop.events("session.start")) == 1, "explaining acts on nothing"
    resumed = shop.machine.ok("resume", FEATURE)
    assert "same (the agent's own record has every earlier prompt)" in resumed
    assert "was started, outcome unknown: run: sleep 60" in resumed
    assert [subject for subject, _ in shop.history()] == ["Merge task a: Task a", "Merge task b: Task b"]
    assert shop.git("show", f"feature/{FEATURE}:late.txt") == "x"
    [_, start] = shop.events("session.start")
    assert start["data"]["command"] == "resume"
    assert start["data"]["resumes"] == shop.events("session.start")[0]["sid"]
    assert shop.count("task.started") == {"a": 1, "b": 2}
    team = json.loads((shop.machine.home / ".claude" / "teams" / FEATURE / "config.json").read_text())
    assert [one["status"] for one in team["tasks"]] == ["COMPLETE", "IN_PROGRESS"]
    assert team["tasks"][1]["blockedBy"] == ["a"]


def test_the_screen_of_a_cut_run_names_its_agents_with_task_and_branch(shop: Shop) -> None:
    events: list[tuple[str, dict[str, Any]]] = [
        ("session.start", {"command": "implement"}),
        ("plan.created", {"tasks": [{"id": "2", "summary": "API"}], "waves": [], "dependencies": []}),
        ("checkpoint", {"label": "wave-1-complete", "plan_step": "wave-2-start"}),
        ("agent.spawned", {"name": "service-eng", "task": "2", "branch": f"work/{FEATURE}/api-service"}),
        ("task.started", {"taskId": "2", "agent": "service-eng"}),
        ("error.encountered", {"file": "service.ts", "line": 42, "error": "TypeError", "resolved": False}),
    ]
    shop.put_journal(*(line(type_, "f4e3d2c1", seq, **data) for seq, (type_, data) in enumerate(events)))
    asked = shop.machine.run("resume", FEATURE, *shop.yes())
    assert asked.returncode == 3
    assert 'Last checkpoint: "wave-1-complete" (seq 2)' in asked.stdout
    assert "1. [error.encountered] service.ts:42: TypeError (resolved: false)" in asked.stdout
    assert f"- service-eng (task 2, branch work/{FEATURE}/api-service)" in asked.stdout
    assert "B. Continue past it: mark task 2 as skipped and go on at wave-2-start" in asked.stdout


BAD = task("b", "write b.txt b", checks=["test -e mended.txt"])


def failed(shop: Shop, *tasks: str) -> None:
    done = shop.machine.run("run", "--plan", shop.plan(*tasks))
    assert done.returncode == 1, done.stdout
    assert shop.events("session.end")[-1]["data"]["reason"] == "error"
    assert len(shop.events("qa.failed")) == 2
    assert f"{FEATURE}: error: task b failed: test -e " in done.stdout, "the end says why"
    asked = shop.machine.run("resume", FEATURE)
    assert asked.returncode == 3
    assert "[task.failed] task b: quality assurance failed 2 rounds" in asked.stdout
    assert "(attempts: 2)" in asked.stdout
    assert "--choose A" in asked.stderr


def test_a_failed_task_asks_and_is_started_over_with_its_old_tip_kept(shop: Shop) -> None:
    failed(shop, task("a"), task("b", "write b.txt b", checks=["test -e ../../../mended.txt"]))
    (shop.root / "mended.txt").write_text("")
    old = shop.git("rev-parse", f"work/{FEATURE}/b")
    told = shop.machine.ok("resume", FEATURE, "--choose", "A")
    assert "is kept as refs/rekindle/kept" in told
    assert "  task b: start over (" in told
    assert old in shop.git("for-each-ref", "refs/rekindle/kept")
    assert shop.count("task.started") == {"a": 1, "b": 2}
    [decided] = shop.events("resume.decided")
    assert (decided["data"]["choice"], decided["data"]["tasks"]) == ("A", ["b"])
    assert len(decided["data"]["issues"]) == 1
    assert len(shop.history()) == 2


@pytest.mark.parametrize("answer", ["A", *only_in_soak("B", "C")])
def test_before_an_answer_explain_says_what_each_answer_does_and_that_is_what_happens(shop: Shop, answer: str) -> None:
    failed(shop, task("a"), task("b", "write b.txt b", checks=["test -e ../../../mended.txt"]))
    (shop.root / "mended.txt").write_text("")
    branch, tree = f"work/{FEATURE}/b", str(shop.root / ".worktrees" / FEATURE / "b")
    old = shop.git("rev-parse", branch)
    told = shop.machine.json("resume", FEATURE, "--explain")
    rows = {row["name"]: row for key in ("tasks", "branches", "worktrees") for row in told[key]}
    assert {name for name, row in rows.items() if row["action"] == "asked"} == {"b", branch, tree}
    assert rows["b"]["why"].startswith("A: it starts over; B: it is skipped; C: it goes on with your words (")
    assert "A: what it has is kept under refs/rekindle/kept, and a new one is made; B: it stays" in rows[branch]["why"]
    screen = shop.machine.ok("resume", FEATURE, "--explain")
    assert "case B, issues after the last checkpoint" in screen
    assert "work on the issues" not in screen and f"{branch}  asked: A: " in screen
    words = ("--instructions", "write more.txt x") if answer == "C" else ()
    shop.machine.ok("resume", FEATURE, "--choose", answer, *words)
    kept = old in shop.git("for-each-ref", "refs/rekindle/kept")
    stays = shop.git("branch", "--list", branch) != ""
    in_feature = shop.git("branch", "--contains", old, "--list", f"feature/{FEATURE}") != ""
    assert (kept, stays, in_feature) == {
        "A": (True, False, False),
        "B": (False, True, False),
        "C": (False, False, True),
    }[answer]


def test_a_failed_task_can_be_skipped_and_who_needs_it_is_named(shop: Shop) -> None:
    failed(shop, task("a"), BAD, task("c", needs=["b"]), task("d", after=["b"]))
    told = shop.machine.ok("resume", FEATURE, "--choose", "B")
    assert "task c can no longer run: it needs b, which is skipped" in told
    assert "  task b: skip (" in told and "task b: work on the issues" not in told
    assert "2 of 4 tasks merged" in told and "skipped: b, c." in told
    assert [event["data"]["taskId"] for event in shop.events("task.skipped")] == ["b", "c"]
    assert "d no longer waits for b" in shop.events("plan.updated")[0]["data"]["reason"]
    assert [subject for subject, _ in shop.history()] == ["Merge task a: Task a", "Merge task d: Task d"]
    assert shop.git("branch", "--list", f"work/{FEATURE}/b") != "", "its work is kept"
    assert shop.machine.run("resume", FEATURE).returncode == 2, "nothing is left to resume"


def test_a_failed_task_can_be_given_instructions(shop: Shop) -> None:
    failed(shop, BAD)
    shop.machine.ok("resume", FEATURE, "--choose", "C", "--instructions", "write mended.txt yes")
    assert shop.git("show", f"feature/{FEATURE}:mended.txt") == "yes"
    assert shop.count("task.started") == {"b": 2}


def test_what_is_left_of_a_completed_feature_is_cleared_away_with_the_command_of_the_refusal(shop: Shop) -> None:
    failed(shop, task("a"), BAD)
    plan = shop.plan(task("a"))
    refused = shop.machine.run("run", "--plan", plan)
    assert (refused.returncode, f"rekindle resume {FEATURE}; or" in refused.stderr) == (2, True)
    shop.machine.ok("resume", FEATURE, "--choose", "B")
    assert "is completed" in shop.machine.run("resume", FEATURE).stderr
    refused = shop.machine.run("run", "--plan", plan, "--again")
    assert (refused.returncode, "rekindle resume" in refused.stderr) == (2, False)
    for command in refused.stderr.strip().rpartition("to delete it with them: ")[2].split(" && "):
        shop.git(*shlex.split(command)[1:])
    assert shop.git("branch", "--list", f"work/{FEATURE}/*") == ""


@pytest.mark.parametrize("where", ["tasks", *only_in_soak("one", "none")])
def test_what_the_end_of_a_feature_prints_to_delete_what_is_left_works_as_it_is_typed(shop: Shop, where: str) -> None:
    if where != "tasks":
        shop.machine.ok("config", "set", "feature_worktrees", where)
    failed(shop, task("a"), BAD)
    tree = shop.root / ".worktrees" / FEATURE / ("b" if where == "tasks" else ".work")
    (tree / "late.txt").write_text("in no commit")
    told = shop.machine.ok("resume", FEATURE, "--choose", "B")
    assert f"left over: work/{FEATURE}/b in {tree}, kept because it has " in told
    assert f"not merged into feature/{FEATURE} and changes that are not committed" in told
    command = told.partition("to delete it with that work: ")[2].splitlines()[0]
    subprocess.run(["sh", "-ec", command], cwd=shop.root, check=True, stdin=subprocess.DEVNULL)
    assert shop.git("branch", "--list", f"work/{FEATURE}/*") == "" and not tree.exists()
    assert shop.git("show", f"feature/{FEATURE}:a.txt") == "a"


def test_a_wave_that_does_not_pass_promises_no_task_to_skip_and_goes_on_once_it_is_mended(shop: Shop) -> None:
    done = shop.machine.run("run", "--plan", shop.plan(task("a"), head='lint = ["test -e mended.txt"]'))
    assert done.returncode == 1 and "wave 1 does not pass" in done.stdout
    asked = shop.machine.run("resume", FEATURE)
    assert asked.returncode == 3 and "there is no task to skip" in asked.stdout and "as skipped" not in asked.stdout
    tree = shop.machine.home / "mending"
    shop.git("worktree", "add", "-q", str(tree), f"feature/{FEATURE}")
    (tree / "mended.txt").write_text("")
    shop.git("add", "-A", cwd=tree)
    shop.git("commit", "-q", "-m", "mended", cwd=tree)
    shop.git("worktree", "remove", str(tree))
    assert "completed, 1 of 1 task merged" in shop.machine.ok("resume", FEATURE, "--choose", "A")


def early(shop: Shop) -> None:
    """A run that was cut before its first checkpoint."""
    tasks = [{"id": "a", "summary": "Task a", "agent": "builder", "prompt": "write a.txt a"}]
    shop.put_journal(
        line("session.start", "f4e3d2c1", 0, command="implement", mode="fast"),
        line("plan.created", "f4e3d2c1", 1, tasks=tasks, waves=[{"wave": 1, "task_ids": ["a"]}], dependencies=[]),
        line("task.started", "f4e3d2c1", 2, taskId="a"),
    )


@pytest.mark.parametrize("choice", ["A", "B", "C"])
def test_a_run_without_a_checkpoint_asks_and_can_start_over(shop: Shop, choice: str) -> None:
    early(shop)
    asked = shop.machine.run("resume", FEATURE, *shop.yes())
    assert asked.returncode == 3 and "No checkpoint found" in asked.stdout
    assert "plan: yes" in asked.stdout and "tasks begun: 1 (a: IN_PROGRESS)" in asked.stdout
    assert "Recommended: start over with the plan" in asked.stdout and "To see that plan: " in asked.stdout
    if choice == "B":
        assert shop.machine.run("resume", FEATURE, "--choose", "B").returncode == 2
        shop.machine.ok("resume", FEATURE, "--choose", "B", "--plan", shop.plan(task("new")))
    elif choice == "C":
        shop.machine.ok("resume", FEATURE, "--instructions", "write more.txt x")
    else:
        shop.machine.ok("resume", FEATURE, "--choose", "A")
    start = shop.events("session.start")[-1]["data"]
    assert start.get("restarts" if choice != "C" else "resumes") == "f4e3d2c1"
    files = shop.git("ls-tree", "--name-only", f"feature/{FEATURE}").split()
    assert {"A": "a.txt", "B": "new.txt", "C": "more.txt"}[choice] in files


def test_the_work_of_another_orchestrator_is_taken_over_and_what_it_merged_is_not_done_again(shop: Shop) -> None:
    for name in ("1", "2"):
        shop.git("worktree", "add", "-q", "-b", f"work/{FEATURE}/{name}", str(shop.machine.home / name), "main")
        (shop.machine.home / name / f"{name}.txt").write_text(name)
        shop.git("add", "-A", cwd=shop.machine.home / name)
        shop.git("commit", "-q", "-m", f"work {name}", cwd=shop.machine.home / name)
        shop.git("worktree", "remove", str(shop.machine.home / name))
    shop.git("branch", f"feature/{FEATURE}", f"work/{FEATURE}/1")
    shop.git("branch", f"work/{FEATURE}/stray", "main")
    tasks = [{"id": name, "summary": f"Task {name}", "agent": "eng"} for name in ("1", "2")]
    waves = [{"wave": 1, "task_ids": ["1"]}, {"wave": 2, "task_ids": ["2"]}]
    merged = {"name": f"work/{FEATURE}/1", "target": f"feature/{FEATURE}"}
    events: list[tuple[str, dict[str, Any]]] = [
        ("session.start", {"command": "implement", "mode": "standard"}),
        ("plan.created", {"tasks": tasks, "waves": waves, "dependencies": [{"task_id": "2", "blocked_by": "1"}]}),
        ("agent.spawned", {"name": "one", "task": "1", "branch": f"work/{FEATURE}/1"}),
        ("task.started", {"taskId": "1"}),
        ("task.completed", {"taskId": "1"}),
        ("branch.merged", merged),
        ("checkpoint", {"label": "wave-1-complete", "plan_step": "wave-2-start"}),
        ("agent.spawned", {"name": "two", "task": "2", "branch": f"work/{FEATURE}/2"}),
        ("task.started", {"taskId": "2"}),
    ]
    shop.put_journal(*(line(type_, "f4e3d2c1", seq, **data) for seq, (type_, data) in enumerate(events)))
    explained = shop.machine.ok("resume", FEATURE, "--explain")
    assert "delete: it is merged" in explained and "resume the work: it has work on its branch" in explained
    assert "warn: the journal does not know it" in explained
    shop.machine.ok("resume", FEATURE, *shop.yes())
    begun = [event["data"]["task"] for event in shop.events("agent.spawned")]
    assert begun == ["1", "2", "2"], "one agent goes on with what the other left"
    assert shop.git("show", f"feature/{FEATURE}:2.txt") == "2"
    assert shop.git("branch", "--list", "work/*") == f"work/{FEATURE}/stray"


def test_a_conflict_goes_to_an_agent_then_to_a_person_and_is_merged_once(shop: Shop) -> None:
    both = shop.plan(task("a", "write same.txt one"), task("b", "write same.txt two"))
    done = shop.machine.run("run", "--plan", both)
    assert done.returncode == 1 and "its merge has conflicts" in done.stdout
    assert shop.events("blocker.reported")[0]["data"]["task"] == "b"
    tree = shop.root / ".worktrees" / FEATURE / ".integration"
    assert "<<<<<<<" in (tree / "same.txt").read_text()
    assert shop.machine.run("resume", FEATURE).returncode == 3
    (tree / "same.txt").write_text("one and two")
    shop.machine.ok("resume", FEATURE)
    assert shop.git("show", f"feature/{FEATURE}:same.txt") == "one and two"
    assert shop.count("branch.merged") == {"a": 1, "b": 1}
    assert shop.events("branch.merged")[-1]["data"]["conflicts"] is True


def resolves(*script: str) -> tuple[str, str]:
    """Two tasks that change the same file; who is asked to merge them is given a script by the summary."""
    told = "\n".join(("Task b", *script, "say that was it"))
    return task("a", "write same.txt one"), task("b", "write same.txt two", summary=told)


@pytest.mark.parametrize("how", [["run git commit -qam resolved"], [], *only_in_soak(["run git add same.txt"])])
def test_a_conflict_that_an_agent_resolves_is_merged_once(shop: Shop, how: list[str]) -> None:
    shop.machine.ok("run", "--plan", shop.plan(*resolves("write same.txt both", *how)))
    assert shop.git("show", f"feature/{FEATURE}:same.txt") == "both"
    assert [subject[:14] for subject, _ in shop.history()] == ["Merge task a: ", "Merge task b: "]
    assert shop.count("branch.merged") == {"a": 1, "b": 1}
    assert shop.events("blocker.reported") == []


def test_a_resolution_that_is_cut_in_the_middle_is_finished_by_the_same_agent(shop: Shop) -> None:
    before = shop.checkout()
    wait = "run sh -c 'test -e ../../../go || sleep 60'"
    running = shop.start("run", "--plan", shop.plan(*resolves("write same.txt half", wait, "write same.txt both")))
    tree = shop.root / ".worktrees" / FEATURE / ".integration"
    until(lambda: (tree / "same.txt").exists() and (tree / "same.txt").read_text() == "half", "half a resolution")
    shop.kill_everything()
    running.communicate(timeout=60)
    assert shop.count("branch.merged") == {"a": 1}
    (shop.root / "go").write_text("")
    shop.machine.ok("resume", FEATURE)
    assert shop.git("show", f"feature/{FEATURE}:same.txt") == "both"
    assert shop.count("branch.merged") == {"a": 1, "b": 1}
    (shop.root / "go").unlink()
    assert shop.checkout() == before


def test_what_stands_in_the_way_is_named_and_nothing_is_lost(shop: Shop) -> None:
    plan = shop.plan(task("a"))
    assert "promt" in shop.machine.run("run", "--plan", shop.plan('[[task]]\nid="a"\npromt="x"')).stderr
    wrong = {'base = "nowhere"': "no commit 'nowhere'", 'lint = ["nolint ."]': "no program 'nolint'"}
    for head, named in wrong.items():
        refused = shop.machine.run("run", "--plan", shop.plan(task("a"), head=head))
        assert refused.returncode == 2 and named in refused.stderr
    refused = shop.machine.run("run", "--plan", shop.plan(task("a", checks=["nocheck"])))
    assert refused.returncode == 2 and "task 'a', checks: there is no program 'nocheck'" in refused.stderr
    assert shop.events() == []
    shop.plan(task("a"))
    shop.git("stash")
    shop.git("switch", "-q", "-c", f"feature/{FEATURE}")
    refused = shop.machine.run("run", "--plan", plan)
    assert refused.returncode == 2 and "switch --detach" in refused.stderr
    shop.git("switch", "-q", "--detach")
    shop.git("branch", f"work/{FEATURE}/left")
    refused = shop.machine.run("run", "--plan", plan)
    assert refused.returncode == 2 and "left over from earlier work" in refused.stderr
    shop.git("branch", "-D", f"work/{FEATURE}/left")
    shop.git("add", "-f", "notes.txt")
    (shop.root / ".claude" / "progress" / "x").mkdir(parents=True)
    (shop.root / ".claude" / "progress" / "x" / "y").write_text("")
    shop.git("add", "-f", ".claude")
    refused = shop.machine.run("run", "--plan", plan)
    assert refused.returncode == 2 and "git rm -r --cached" in refused.stderr
    shop.git("rm", "-r", "-q", "--cached", ".claude")
    shop.machine.ok("run", "--plan", plan)
    assert shop.history()[0][0] == "Merge task a: Task a"


def test_a_lost_branch_and_a_lost_worktree_are_made_again(shop: Shop) -> None:
    slow = ("run sh -c 'test -e ../../../go || sleep 60'",)
    plan = shop.plan(task("a", "write a.txt a", *slow), task("b", "write b.txt b", *slow))
    running = shop.start("run", "--plan", plan)
    trees = shop.root / ".worktrees" / FEATURE
    until(lambda: (trees / "a" / "a.txt").exists() and (trees / "b" / "b.txt").exists(), "work")
    shop.kill_everything()
    running.communicate(timeout=60)
    shutil.rmtree(trees / "a")
    shutil.rmtree(trees / "b")
    shop.git("worktree", "prune")
    shop.git("branch", "-D", f"work/{FEATURE}/b")
    (shop.root / "go").write_text("")
    told = shop.machine.ok("resume", FEATURE)
    for name in ("a", "b"):
        assert f"task {name}: started over, because nothing of its work was found" in told
        assert shop.git("show", f"feature/{FEATURE}:{name}.txt") == name


def test_work_in_a_worktree_that_has_lost_its_link_is_not_called_lost(shop: Shop) -> None:
    wait = "run sh -c 'test -e ../../../go || sleep 60'"
    running = shop.start("run", "--plan", shop.plan(task("a", "write a.txt a", wait, "write b.txt b")))
    tree = shop.root / ".worktrees" / FEATURE / "a"
    until(lambda: (tree / "a.txt").exists(), "work")
    shop.kill_everything()
    running.communicate(timeout=60)
    (tree / ".git").unlink()
    (shop.root / "go").write_text("")
    told = shop.machine.ok("resume", FEATURE)
    assert "started over" not in told
    assert shop.git("ls-tree", "--name-only", f"feature/{FEATURE}").split() == ["a.txt", "b.txt", "readme.txt"]
    assert len(shop.machine.sessions()) == 1, "it goes on in the same conversation"


def test_a_commit_that_only_a_snapshot_still_has_is_not_called_lost(shop: Shop) -> None:
    commit = "run git -c user.name=t -c user.email=t@example.invalid commit -q -m mine"
    check = {"checks": ["test -e mended.txt"]}
    failed(shop, task("b", "write b.txt b", "run git add -A", commit, **check))
    branch = f"work/{FEATURE}/b"
    tip = shop.git("rev-parse", branch)
    until(lambda: shop.git("for-each-ref", "--contains", tip, "refs/rekindle"), "the snapshot of the turn")
    shop.git("worktree", "remove", "--force", str(shop.root / ".worktrees" / FEATURE / "b"))
    shop.git("branch", "-D", branch)
    shop.git("reflog", "expire", "--expire=now", "--all")
    [row] = shop.machine.json("resume", FEATURE, "--explain")["branches"]
    assert f"it is made again at {tip[:10]}" in row["why"]
    told = shop.machine.ok("resume", FEATURE, "--choose", "C", "--instructions", "write mended.txt yes")
    assert "nothing of its work was found" not in told
    assert shop.git("branch", "--contains", tip, "--list", f"feature/{FEATURE}") != ""
    assert shop.git("show", f"feature/{FEATURE}:mended.txt") == "yes"


@pytest.mark.parametrize("how", ["missing", "rewritten"])
def test_a_feature_branch_that_is_missing_or_rewritten_at_a_resume_costs_no_work(shop: Shop, how: str) -> None:
    wait = "run sh -c 'test -e ../../../go || sleep 60'"
    running = shop.start("run", "--plan", shop.plan(task("a"), task("b", "write b.txt b", wait, needs=["a"])))
    until(lambda: (shop.root / ".worktrees" / FEATURE / "b" / "b.txt").exists(), "work on b")
    shop.kill_everything()
    running.communicate(timeout=60)
    if how == "missing":
        shop.git("branch", "-D", f"feature/{FEATURE}")
    else:
        squashed = shop.git("commit-tree", "-m", "squashed", "-p", "main", f"feature/{FEATURE}^{{tree}}")
        shop.git("update-ref", f"refs/heads/feature/{FEATURE}", squashed)
    (shop.root / "go").write_text("")
    told = shop.machine.ok("resume", FEATURE)
    assert {"missing": "it is made again at our last merge", "rewritten": "was rewritten since our last merge"}[
        how
    ] in told
    first = "Merge task a: Task a" if how == "missing" else "squashed"
    assert [subject for subject, _ in shop.history()] == [first, "Merge task b: Task b"]
    assert shop.git("ls-tree", "--name-only", f"feature/{FEATURE}").split() == ["a.txt", "b.txt", "readme.txt"]
    assert shop.count("task.started") == {"a": 1, "b": 2}


def test_a_bare_repository_has_its_feature_worked_too(shop: Shop) -> None:
    bare = shop.machine.home / "bare.git"
    shop.git("clone", "-q", "--bare", str(shop.root), str(bare))
    inside = replace(shop, machine=replace(shop.machine, work=bare))
    inside.machine.ok("run", "--plan", shop.plan(task("a"), task("b", needs=["a"])))
    assert [subject for subject, _ in inside.history()] == ["Merge task a: Task a", "Merge task b: Task b"]
    assert inside.git("branch", "--list", "work/*") == ""
    assert not shop.git("branch", "--list", "feature/*")


def test_the_users_status_stays_as_it_is_while_a_run_works_and_no_file_of_theirs_says_so(shop: Shop) -> None:
    before = shop.git("status", "--porcelain")
    shop.machine.ok("run", "--plan", shop.plan(task("a", "write a.txt a", "stream 600 0.05 x")), "--detach")
    until(lambda: (shop.root / ".worktrees" / FEATURE / "a" / "a.txt").exists(), "work")
    assert shop.git("status", "--porcelain") == before
    assert not (shop.root / ".gitignore").exists()
    shop.machine.ok("stop", FEATURE)
    assert shop.git("status", "--porcelain") == before


def test_a_run_can_be_left_alone_and_be_ended(shop: Shop) -> None:
    plan = shop.plan(task("a", "write a.txt a", "stream 600 0.05 tick"))
    shop.machine.ok("run", "--plan", plan, "--detach")
    until(lambda: (shop.root / ".worktrees" / FEATURE / "a" / "a.txt").exists(), "work")
    assert shop.machine.run("resume", FEATURE).returncode == 4
    assert shop.machine.run("run", "--plan", plan).returncode == 4
    assert shop.machine.ok("stop", FEATURE) == f"{FEATURE}: stopped.\n  next: rekindle resume {FEATURE}\n"
    assert shop.events("session.end")[-1]["data"]["reason"] == "user_cancelled"
    assert shop.machine.stamped() == []
    board = shop.machine.run("attach", FEATURE).stdout
    assert "a: stopped" in board and f"{FEATURE}: stopped\n  next: rekindle resume {FEATURE}" in board


def test_all_resumes_the_features_that_ask_nothing(shop: Shop) -> None:
    tasks = [{"id": "a", "summary": "Task a", "prompt": "write a.txt a"}]
    events: list[tuple[str, dict[str, Any]]] = [
        ("session.start", {"command": "implement"}),
        ("plan.created", {"tasks": tasks, "waves": [], "dependencies": []}),
        ("checkpoint", {"label": "plan-ready", "plan_step": "wave-1-start"}),
    ]
    for feature, most in (("shop", 2), ("tiny", 3)):  # by the user's own hand: somebody else's would be skipped
        for type_, data in events[:most]:
            shop.machine.ok("track", type_, "--feature", feature, "--data", json.dumps(data))
    other = shop.root / ".claude" / "progress" / "tiny"
    shop.machine.ok("config", "set", "agent", "scripted")
    assert "2 features are interrupted: shop, tiny" in shop.machine.run("resume").stderr
    told = shop.machine.ok("resume", "--all")
    assert "shop: skipped, it asks (case C)" in told and "tiny: run" in told
    until(lambda: "completed" in (other / "events.jsonl").read_text(), "the end of tiny")


def test_an_agent_that_spoils_its_worktree_costs_the_user_nothing(shop: Shop) -> None:
    """Without its `.git`, git would take the user's checkout for the worktree."""
    before = shop.checkout()
    spoils = task("a", "write a.txt a", "run rm .git")
    wanders = task("b", "run git checkout -q -b mine", "stream 120 0.05 x", "run git checkout -q -", "write b.txt b")
    shop.machine.ok("run", "--plan", shop.plan(spoils, wanders))
    assert shop.checkout() == before
    assert [subject for subject, _ in shop.history()] == ["Merge task a: Task a", "Merge task b: Task b"]
    assert shop.git("ls-tree", "--name-only", f"feature/{FEATURE}").split() == ["a.txt", "b.txt", "readme.txt"]


def test_a_run_is_ended_at_once_although_a_check_hangs_and_goes_on_with_the_check(shop: Shop) -> None:
    plan = shop.plan(task("a", checks=["sh -c 'test -e ../../../go || sleep 250'"]))
    shop.machine.ok("run", "--plan", plan, "--detach")
    until(lambda: shop.events("qa.started"), "the check")
    assert shop.machine.ok("stop", FEATURE) == f"{FEATURE}: stopped.\n  next: rekindle resume {FEATURE}\n"
    (shop.root / "go").write_text("")
    shop.machine.ok("resume", FEATURE)
    assert shop.count("task.completed") == {"a": 1}


def test_an_agent_that_asks_for_permission_is_reported_and_goes_on_when_it_is_answered(shop: Shop) -> None:
    shop.machine.ok("run", "--plan", shop.plan(task("a", "ask May I?", "write a.txt a")), "--detach")
    [warning] = until(lambda: shop.events("warning.logged"), "the report")
    assert "the agent of task a asks for permission: ask: May I? (" in warning["data"]["message"]
    [row] = shop.machine.json("ps")["sessions"]
    [asked] = shop.machine.json("inbox")["questions"]
    assert (asked["session"], asked["feature"]) == (row["id"], FEATURE)
    assert f"rekindle answer {asked['id']}`" in warning["data"]["message"]
    shop.machine.ok("answer", asked["id"], asked["options"][0]["id"])
    until(lambda: shop.events("session.end"), "the end")
    assert shop.events("session.end")[0]["data"]["reason"] == "completed"
    assert len(shop.events("warning.logged")) == 1
    assert shop.machine.run("resume", FEATURE).returncode == 2, "nothing is left to ask"


@pytest.mark.parametrize("seen", ["branch.created", "agent.spawned", *only_in_soak("plan.created", "task.started")])
def test_an_end_that_comes_early_leaves_no_agent_behind(shop: Shop, seen: str) -> None:
    shop.machine.ok("run", "--plan", shop.plan(task("a", "stream 900 0.05 x")), "--detach")
    until(lambda: shop.events(seen), seen)
    shop.machine.ok("stop", FEATURE)
    assert shop.events("session.end")[-1]["data"]["reason"] == "user_cancelled"
    assert shop.machine.stamped() == []
    assert {row["status"] for row in shop.machine.json("ps", "--all")["sessions"]} <= {
        "asleep",
        "interrupted",
        "cancelled",
    }
    until(lambda: not shop.machine.stamped(), "rest")
    shop.machine.ok("resume", FEATURE, "--choose", "A", "--detach")
    until(lambda: "x1" in shop.said("a"), "work again")
