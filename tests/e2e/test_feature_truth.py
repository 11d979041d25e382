"""Nothing half done is called complete, whatever users, agents, checks and reviewers do to a feature's branches."""

from __future__ import annotations

import subprocess
from collections import Counter
from typing import Any

import pytest

from tests.e2e.daemon import until
from tests.e2e.features import FEATURE, Shop, task
from tests.journals import line
from tests.soaking import only_in_soak

WAIT = "run sh -c 'until test -e ../../../go; do sleep 0.05; done'"
COMMIT = "run git -c user.name=a -c user.email=a@example.invalid commit -qm"
TREES = f".worktrees/{FEATURE}"


def branch(name: str) -> str:
    return f"work/{FEATURE}/{name}"


def files(shop: Shop) -> list[str]:
    return shop.git("ls-tree", "-r", "--name-only", f"feature/{FEATURE}").split()


def warnings(shop: Shop) -> str:
    return "\n".join(event["data"]["message"] for event in shop.events("warning.logged"))


def spawned(shop: Shop) -> Counter[str]:
    return Counter(event["data"]["task"] for event in shop.events("agent.spawned"))


def commits(shop: Shop) -> str:
    """The subjects of all commits; nothing while a worktree is just being made."""
    try:
        return shop.git("log", "--all", "--format=%s")
    except subprocess.CalledProcessError:
        return ""


def let_go(shop: Shop) -> None:
    (shop.root / "go").write_text("")


def test_an_agent_whose_store_was_lost_is_followed_by_one_that_is_told_what_the_branch_holds(shop: Shop) -> None:
    plan = shop.plan(task("a", "write a.txt half", "run git add -A", f"{COMMIT} 'Half of it'", WAIT))
    running = shop.start("run", "--plan", plan)
    until(lambda: "Half of it" in commits(shop), "a first commit")
    shop.kill_everything()
    running.communicate(timeout=60)
    shop.lose_store()
    let_go(shop)
    shop.machine.ok("resume", FEATURE)
    assert spawned(shop) == {"a": 2}, "nobody calls half of it complete"
    [told] = [text for text in shop.prompts("a") if "Half of it" in text]
    assert "Somebody has worked on this before" in told and "The branch has 1 commit" in told


def test_what_a_user_brings_into_the_feature_does_not_end_the_agent_that_is_at_it(shop: Shop) -> None:
    first = ("write one.txt 1", "run git add -A", f"{COMMIT} One")
    plan = shop.plan(task("a", *first, WAIT, "write two.txt 2"), task("b"))
    running = shop.start("run", "--plan", plan)
    until(lambda: "One" in commits(shop), "a first commit")
    shop.git("push", "-q", ".", f"{branch('a')}:feature/{FEATURE}")
    until(lambda: "by somebody else, before it was checked" in warnings(shop), "a report")
    let_go(shop)
    running.communicate(timeout=120)
    assert running.returncode == 0
    assert {"one.txt", "two.txt", "b.txt"} <= set(files(shop))
    assert spawned(shop)["a"] == 1
    assert {"Merge task a: Task a", "Merge task b: Task b"} <= {subject for subject, _ in shop.history()}


@pytest.mark.parametrize("who", ["checks", "reviewer"])
def test_an_agent_that_merges_itself_gets_past_nobody(shop: Shop, who: str) -> None:
    """What bypassed the checks is checked after the fact, and work that fails is named and not called complete."""
    script = ("write a.txt a", "run git add -A", f"{COMMIT} mine", f"run git push -q . HEAD:feature/{FEATURE}")
    strict = (
        {"checks": ["test -e never.txt"]}
        if who == "checks"
        else {"reviewer": "scripted", "review": "say VERDICT: FAIL"}
    )
    done = shop.machine.run("run", "--plan", shop.plan(task("a", *script, **strict), head='mode = "strict"'))
    assert done.returncode != 0
    assert [event["data"]["round"] for event in shop.events("qa.failed")] == [1, 2, 3]
    assert shop.events("task.completed") == []
    assert "by somebody else" in shop.events("task.failed")[0]["data"]["error"]


def test_a_commit_that_came_after_the_verdict_is_checked_and_reviewed_as_well(shop: Shop) -> None:
    """The first task of the wave holds the merge of the second back: its verdict is older than the user's commit."""
    more = {"checks": ["true"], "reviewer": "scripted", "review": "say VERDICT: PASS"}
    plan = shop.plan(task("a", WAIT, "write a.txt a"), task("b", "write b.txt b", **more))
    running = shop.start("run", "--plan", plan)
    until(lambda: len(shop.events("qa.passed")) == 1, "a verdict on b")
    tree = shop.root / TREES / "b"
    (tree / "later.txt").write_text("later\n")
    shop.git("add", "-A", cwd=tree)
    shop.git("commit", "-q", "-m", "later", cwd=tree)
    let_go(shop)
    running.communicate(timeout=120)
    assert running.returncode == 0 and "later.txt" in files(shop)
    [first, second] = [event["data"] for event in shop.events("qa.passed") if event["data"]["taskId"] == "b"]
    assert first["commit"] != second["commit"]
    merge = next(event["data"]["commit"] for event in shop.events("branch.merged") if event["data"]["taskId"] == "b")
    assert shop.git("rev-parse", f"{merge}^2") == second["commit"]
    assert len([event for event in shop.events("check.ran") if event["data"].get("taskId") == "b"]) == 2


@pytest.mark.parametrize("how", ["files", "commit"])
def test_what_a_reviewer_changes_is_no_part_of_the_work(shop: Shop, how: str) -> None:
    review = ["write graffiti.txt mine"]
    if how == "commit":
        review += ["run git add -A", f"{COMMIT} mine"]
    more = {"reviewer": "scripted", "review": "\n".join([*review, "say VERDICT: PASS"])}
    shop.machine.ok("run", "--plan", shop.plan(task("a", "write a.txt a", **more), task("b", needs=["a"])))
    assert files(shop) == ["a.txt", "b.txt", "readme.txt"]
    assert "the reviewer of task a changed files" in warnings(shop)
    [kept] = shop.git("for-each-ref", "--format=%(refname)", "refs/rekindle/kept").split()
    assert shop.git("show", f"{kept}:graffiti.txt") == "mine"


def test_what_a_check_writes_is_not_committed_and_rounds_come_to_an_end(shop: Shop) -> None:
    check = "sh -c 'date +%N > coverage.txt; exit 1'"
    done = shop.machine.run(
        "run", "--plan", shop.plan(task("a", "write a.txt a", checks=[check]), head='mode = "strict"')
    )
    assert done.returncode != 0
    assert [event["data"]["round"] for event in shop.events("qa.failed")] == [1, 2, 3]
    assert "coverage.txt" not in shop.git("ls-tree", "-r", "--name-only", branch("a"))
    assert int(shop.git("rev-list", "--count", branch("a"), "^main")) <= 3


def test_what_a_passing_check_leaves_is_named_kept_and_not_merged(shop: Shop) -> None:
    check = "sh -c 'date +%N > coverage.txt; echo changed >> readme.txt'"
    shop.machine.ok("run", "--plan", shop.plan(task("a", "write a.txt a", checks=[check])))
    assert files(shop) == ["a.txt", "readme.txt"]
    assert shop.git("show", f"feature/{FEATURE}:readme.txt") == "hello"
    assert "its checks changed readme.txt, coverage.txt: that is not part of the work" in warnings(shop)
    assert not (shop.root / TREES / "a").exists(), "nothing of it is lost: refs have it"
    kept = shop.git("for-each-ref", "--format=%(refname)", "refs/rekindle/kept").split()
    assert any("changed" in shop.git("show", f"{ref}:readme.txt") for ref in kept)


def test_a_check_that_mends_the_files_does_not_make_an_unmended_commit_pass(shop: Shop) -> None:
    """A formatter, and then the check that everything is formatted: the second judges the commit as the first does."""
    checks = ["sh -c 'echo good > a.txt'", "grep -q good a.txt"]
    plan = shop.plan(task("a", "write a.txt bad", checks=checks), head='mode = "strict"')
    assert shop.machine.run("run", "--plan", plan).returncode != 0
    assert shop.events("qa.passed") == [] and len(shop.events("qa.failed")) == 3


def test_what_an_agent_writes_after_its_checks_were_cut_is_work(shop: Shop) -> None:
    check = "sh -c 'echo x > left.txt; test -e ../../../go || exec sleep 600'"
    running = shop.start("run", "--plan", shop.plan(task("a", "write a.txt a", checks=[check])))
    until(lambda: (shop.root / TREES / "a" / "left.txt").exists(), "the check")
    shop.kill_everything()
    running.communicate(timeout=60)
    let_go(shop)
    shop.machine.ok("resume", FEATURE, "--instructions", "write more.txt more")
    assert files(shop) == ["a.txt", "more.txt", "readme.txt"]


def test_a_second_plan_of_a_feature_begins_where_the_first_one_ended(shop: Shop) -> None:
    shop.machine.ok("run", "--plan", shop.plan(task("a"), task("b", needs=["a"])))
    shop.machine.ok("run", "--plan", shop.plan(task("c", checks=["test -e b.txt"]), task("d", needs=["c"])))
    assert files(shop) == ["a.txt", "b.txt", "c.txt", "d.txt", "readme.txt"]


def test_a_commit_that_only_looks_like_a_merge_of_ours_proves_nothing(shop: Shop) -> None:
    """An agent writes our trailers, for itself and for another task, and a ref of ours."""
    forge = (
        "write a.txt a",
        "run git add -A",
        f"{COMMIT} 'Work on a' -m 'Rekindle-Task: {FEATURE}/a'",
        f"run git push -q . HEAD:feature/{FEATURE}",
        f"run git update-ref refs/rekindle/checked/{FEATURE}/a HEAD",
    )
    plan = shop.plan(task("a", *forge, checks=["test -e never.txt"]), head='mode = "strict"')
    assert shop.machine.run("run", "--plan", plan).returncode != 0
    assert shop.events("task.completed") == [] and len(shop.events("qa.failed")) == 3


def test_no_journal_has_git_told_anything_but_the_names_of_commits(shop: Shop) -> None:
    target = shop.machine.home / "precious.txt"
    target.write_text("precious")
    plan = {"tasks": [{"id": "a", "summary": "a"}], "waves": [], "dependencies": []}
    merged = {"name": f"work/{FEATURE}/a", "taskId": "a", "commit": f"--output={target}"}
    shop.put_journal(
        line("session.start", "f4e3d2c1", 0, command="implement"),
        line("plan.created", "f4e3d2c1", 1, **plan),
        line("checkpoint", "f4e3d2c1", 2, label="x", plan_step="wave-1-start"),
        line("branch.merged", "f4e3d2c1", 3, **merged),
    )
    shop.git("branch", f"feature/{FEATURE}", "main")
    shop.machine.run("resume", FEATURE, "--explain")
    assert target.read_text() == "precious"


def test_work_that_a_journal_calls_merged_and_git_does_not_is_merged(shop: Shop) -> None:
    shop.git("branch", f"feature/{FEATURE}", "main")
    shop.git("worktree", "add", "-q", "-b", branch("a"), str(shop.machine.home / "a"), "main")
    (shop.machine.home / "a" / "a.txt").write_text("a")
    shop.git("add", "-A", cwd=shop.machine.home / "a")
    shop.git("commit", "-q", "-m", "work", cwd=shop.machine.home / "a")
    shop.git("worktree", "remove", str(shop.machine.home / "a"))
    tasks = [{"id": "a", "summary": "write x.txt x"}, {"id": "b", "summary": "write b.txt b"}]
    waves = [{"wave": 1, "task_ids": ["a"]}, {"wave": 2, "task_ids": ["b"]}]
    events: list[tuple[str, dict[str, Any]]] = [
        ("session.start", {"command": "implement"}),
        ("plan.created", {"tasks": tasks, "waves": waves, "dependencies": [{"task_id": "b", "blocked_by": "a"}]}),
        ("task.started", {"taskId": "a"}),
        ("task.completed", {"taskId": "a"}),
        ("branch.merged", {"name": branch("a"), "taskId": "a"}),
        ("checkpoint", {"label": "wave-1-complete", "plan_step": "wave-2-start"}),
    ]
    shop.put_journal(*(line(type_, "f4e3d2c1", seq, **data) for seq, (type_, data) in enumerate(events)))
    shop.machine.ok("resume", FEATURE, *shop.yes())
    assert files(shop) == ["a.txt", "b.txt", "readme.txt"], "and b was built on it"


@pytest.mark.parametrize("how", ["reset by one", "rebased", *only_in_soak("reset to the base", "squashed")])
def test_a_feature_that_was_rewritten_is_understood_from_git(shop: Shop, how: str) -> None:
    plan = shop.plan(task("a"), task("b", needs=["a"]), task("c", "write c.txt c", WAIT, needs=["b"]))
    running = shop.start("run", "--plan", plan)
    until(lambda: (shop.root / TREES / "c" / "c.txt").exists(), "work on c")
    shop.kill_everything()
    running.communicate(timeout=60)
    name = f"feature/{FEATURE}"
    if how == "reset to the base":
        shop.git("update-ref", f"refs/heads/{name}", "main")
    elif how == "reset by one":
        shop.git("update-ref", f"refs/heads/{name}", f"{name}^1")
    elif how == "rebased":
        other = shop.machine.home / "other"
        shop.git("worktree", "add", "-q", "--detach", str(other), "main")
        (other / "news.txt").write_text("news\n")
        shop.git("add", "-A", cwd=other)
        shop.git("commit", "-q", "-m", "news", cwd=other)
        news = shop.git("rev-parse", "HEAD", cwd=other)
        shop.git("checkout", "-q", "--detach", name, cwd=other)
        shop.git("rebase", "-q", news, cwd=other)
        shop.git("update-ref", f"refs/heads/{name}", shop.git("rev-parse", "HEAD", cwd=other))
    else:
        squashed = shop.git("commit-tree", "-m", "squashed", "-p", "main", f"{name}^{{tree}}")
        shop.git("update-ref", f"refs/heads/{name}", squashed)
    let_go(shop)
    foretold = shop.machine.json("resume", FEATURE, "--explain")
    told = shop.machine.ok("resume", FEATURE)
    again = {row["name"] for row in foretold["tasks"] if row["action"] == "merge again"}
    branches = {row["name"]: row["action"] for row in foretold["branches"]}
    trees = {row["name"].rpartition("/")[2] for row in foretold["worktrees"]}
    lost = {"reset to the base": ["a", "b"], "reset by one": ["b"]}.get(how, [])
    for one in ("a", "b"):
        assert (one in again) is (one in lost)
        assert branches[branch(one)] == "nothing", "a merge is made again without the branch"
        assert one not in trees
        assert (f"our merge of task {one} is no longer in {name}" in warnings(shop)) is (one in lost)
    assert ("will be merged again" in told) is bool(lost)
    assert {"a.txt", "b.txt", "c.txt"} <= set(files(shop))
    assert spawned(shop) == {"a": 1, "b": 1, "c": 2}, "nothing is done again that is there"
    merged = [event["data"]["taskId"] for event in shop.events("branch.merged")]
    assert merged == ["a", "b", *lost, "c"]


def merge_without(shop: Shop, how: str) -> str:
    """Somebody leaves a task's work out of the feature, in a commit that has the task's among its parents."""
    other, name = shop.machine.home / "other", f"feature/{FEATURE}"
    shop.git("worktree", "add", "-q", "--detach", str(other), name)
    if how == "amended":
        shop.git("rm", "-q", "b.txt", cwd=other)
        shop.git("commit", "-q", "--amend", "--no-edit", cwd=other)
    else:
        shop.git("merge", "-q", "--no-ff", "-s", "ours", "-m", "mine", branch("b"), cwd=other)
    made = shop.git("rev-parse", "HEAD", cwd=other)
    shop.git("update-ref", f"refs/heads/{name}", made)
    return made


@pytest.mark.parametrize("how", ["amended", "merged without it"])
def test_work_that_is_in_the_history_and_not_in_the_files_is_not_called_merged(shop: Shop, how: str) -> None:
    """A merge of ours that somebody amended, and a merge with the strategy `ours`."""
    waits = WAIT if how != "amended" else "say done"
    work = task("b", "write b.txt b", "run git add -A", f"{COMMIT} mine", waits, needs=["a"])
    running = shop.start("run", "--plan", shop.plan(task("a"), work, task("c", WAIT, "write c.txt c", needs=["b"])))
    until(lambda: spawned(shop)["c" if how == "amended" else "b"] and "mine" in commits(shop), "work on b")
    shop.kill_everything()
    running.communicate(timeout=60)
    made = merge_without(shop, how)
    let_go(shop)
    done = shop.machine.run("resume", FEATURE)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "is in the history of feature/shop, but its changes in b.txt are not there" in done.stdout
    assert shop.machine.run("resume", FEATURE).returncode == 3, "somebody has to say what is to become of it"
    assert "c.txt" not in files(shop), "what needs it is not begun without it"
    assert shop.git("rev-parse", f"feature/{FEATURE}") == made
    shop.machine.ok("resume", FEATURE, "--choose", "A")
    assert {"a.txt", "b.txt", "c.txt"} <= set(files(shop))


def test_a_task_is_said_once_in_a_conversation(shop: Shop) -> None:
    """The agent could not start at first. Its second start begins the conversation, and one telling is enough."""
    effects = shop.machine.home / "effects"
    script = (f"run sh -c 'echo x >> {effects}'", "write a.txt a")
    home = shop.machine.home / ".local" / "state" / "rekindle" / "scripted"
    home.parent.mkdir(parents=True, exist_ok=True)
    home.write_text("in the way of the agent's own folder")
    running = shop.start("run", "--plan", shop.plan(task("a", *script, checks=["test -e never.txt"])))
    until(lambda: shop.events("agent.completed"), "a start that fails")
    assert not effects.exists()
    home.unlink()
    running.communicate(timeout=120)
    assert [event["data"]["round"] for event in shop.events("qa.failed")] == [1, 2]
    assert effects.read_text() == "x\n", "the second round is about the issues, not the task once more"


def test_the_branches_of_a_wave_begin_at_one_commit_however_few_are_worked_at_once(shop: Shop) -> None:
    shop.machine.ok("run", "--plan", shop.plan(task("a"), task("b"), task("c"), head="jobs = 1"))
    merges = [event["data"]["commit"] for event in shop.events("branch.merged")]
    bases = {shop.git("rev-parse", f"{commit}^2^") for commit in merges}
    assert bases == {shop.git("rev-parse", "main")}
