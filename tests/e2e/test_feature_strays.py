"""Work of an agent that is not on its task's branch: found, named, taken or left by a person, and never called lost."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import until
from tests.e2e.features import FEATURE, Shop, task
from tests.e2e.typist import Typist
from tests.soaking import only_in_soak

pytestmark = pytest.mark.timeout(280)

WHO = "-c user.name=a -c user.email=a@example.invalid"
BRANCH = f"work/{FEATURE}/a"


def commits(name: str) -> tuple[str, ...]:
    return f"write {name}.txt {name}", "run git add -A", f"run git {WHO} commit -qm {name}"


AND_BACK = ("run git checkout -q -b other", *commits("late"), f"run git checkout -q {BRANCH}")
ASTRAY = {
    "on another branch": ((*commits("a"), "run git checkout -q -b other", *commits("late")), "'late' (on other)"),
    "not committed on another branch": (
        (*commits("a"), "run git checkout -q -b other", "write late.txt late"),
        "uncommitted changes (in ",
    ),
    "on a detached HEAD": (
        (*commits("a"), "run git checkout -q --detach", *commits("late")),
        "'late' (on the detached HEAD of ",
    ),
    "on a branch that is deleted": (
        (
            "run git checkout -q -b other",
            *commits("late"),
            f"run git checkout -q {BRANCH}",
            "run git branch -q -D other",
            *commits("a"),
        ),
        "'late' (on other, which was deleted or moved)",
    ),
    "dropped by a reset": (
        (*commits("a"), *commits("late"), "run git reset -q --hard HEAD~1"),
        "'late' (on no branch: a reset dropped it)",
    ),
    "in the stash": (
        (*commits("a"), "write late.txt late", f"run git {WHO} stash -q -u"),
        f"'WIP on {BRANCH}: ",
    ),
    "the task's branch is deleted": (
        (*commits("a"), "run git checkout -q -b other", *commits("late"), f"run git branch -q -D {BRANCH}"),
        "'late' (on other)",
    ),
}
#: Each of them is asked about in `make test`; `make soak` gives the other answer too.
TAKEN, LEFT = list(ASTRAY)[::2], list(ASTRAY)[1::2]


def astray(shop: Shop, how: str) -> str:
    """A run in which the agent of a leaves work elsewhere: it stops there, and says what it has found."""
    script, named = ASTRAY[how]
    done = shop.machine.run("run", "--plan", shop.plan(task("a", *script), task("b"), task("c", needs=["a"])))
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"work of its agent is not on {BRANCH}: " in done.stdout and named in done.stdout, done.stdout
    assert f"rekindle resume {FEATURE} --take a" in done.stdout and "--leave a" in done.stdout
    assert shop.count("qa.passed") == {"b": 1} and shop.events("branch.merged") == [], "the others go on, and wait"
    asked = shop.machine.run("resume", FEATURE)
    assert asked.returncode == 3, asked.stdout + asked.stderr
    assert named in asked.stderr and f"rekindle resume {FEATURE} --take a" in asked.stderr
    assert len(shop.events("session.start")) == 1, "a question changes nothing"
    explained = shop.machine.ok("resume", FEATURE, "--explain")
    assert "Work of task a that is not on its branch:" in explained
    [row] = shop.machine.json("resume", FEATURE, "--explain")["strays"]
    assert (row["task"], row["state"]) == ("a", "asked")
    assert "started over" not in explained
    [task_row] = [one for one in shop.machine.json("resume", FEATURE, "--explain")["tasks"] if one["name"] == "a"]
    assert task_row["action"] == "check" and "then it is checked and merged" in task_row["why"]
    return str(row["commit"])


@pytest.mark.parametrize("how", [*TAKEN, *only_in_soak(*LEFT)])
def test_work_that_is_not_on_the_branch_is_asked_about_and_taken(shop: Shop, how: str) -> None:
    before = shop.checkout()
    astray(shop, how)
    told = shop.machine.ok("resume", FEATURE, "--take", "a")
    assert "started over" not in told and "is taken over" in told
    assert "completed, 3 of 3" in told
    files = shop.git("ls-tree", "--name-only", f"feature/{FEATURE}").split()
    assert files == ["a.txt", "b.txt", "c.txt", "late.txt", "readme.txt"]
    assert shop.count("task.started")["a"] == 1, "its agent was not asked again"
    decided = [event["data"] for event in shop.events("resume.decided") if event["data"]["choice"] == "take"]
    assert [one["tasks"] for one in decided] == [["a"]] and decided[0]["commits"]
    assert shop.git("for-each-ref", "refs/rekindle/kept") == ""
    if how != "in the stash":
        assert shop.checkout() == before


@pytest.mark.parametrize("how", [*LEFT, *only_in_soak(*TAKEN)])
def test_work_that_is_left_out_is_named_and_kept_and_not_asked_about_again(shop: Shop, how: str) -> None:
    commit = astray(shop, how)
    told = shop.machine.ok("resume", FEATURE, "--leave", "a")
    assert "started over" not in told and "completed, 3 of 3" in told
    assert "Left out of task a: " in told
    files = shop.git("ls-tree", "--name-only", f"feature/{FEATURE}").split()
    assert files == ["a.txt", "b.txt", "c.txt", "readme.txt"]
    kept = shop.git("for-each-ref", "--format=%(objectname)", "refs/rekindle/kept").split()
    assert kept and (not commit or commit in kept)
    assert any("late.txt" in shop.git("show", "--format=", "--name-only", "-m", one) for one in kept) or "stash" in how


def test_what_is_taken_is_checked_like_any_work(shop: Shop) -> None:
    script = (*commits("a"), "run git checkout -q -b other", *commits("late"))
    plan = shop.plan(task("a", *script, checks=["sh -c 'git rev-parse HEAD; test -e late.txt'"]))
    assert shop.machine.run("run", "--plan", plan).returncode == 1
    assert shop.events("check.ran") == [], "nothing is checked before somebody has answered"
    late = shop.git("rev-parse", "other")
    shop.machine.ok("resume", FEATURE, "--take", "a")
    [check] = shop.events("check.ran")
    assert check["data"]["result"] == "pass" and late in check["data"]["output_summary"]


def test_what_conflicts_is_reported_and_can_be_left_or_taken_by_hand(shop: Shop) -> None:
    script = (
        "run git checkout -q -b other",
        "write same.txt other",
        "run git add -A",
        f"run git {WHO} commit -qm other",
        f"run git checkout -q {BRANCH}",
        "write same.txt mine",
    )
    assert shop.machine.run("run", "--plan", shop.plan(task("a", *script))).returncode == 1
    tip = shop.git("rev-parse", BRANCH)
    refused = shop.machine.run("resume", FEATURE, "--take", "a")
    assert refused.returncode == 2 and f"conflicts with {BRANCH}: same.txt; nothing was changed" in refused.stderr
    assert shop.git("rev-parse", BRANCH) == tip
    tree = shop.root / ".worktrees" / FEATURE / "a"
    shop.git("merge", "-q", "-s", "ours", "-m", "by hand", "other", cwd=tree)
    assert "completed, 1 of 1" in shop.machine.ok("resume", FEATURE)
    assert shop.git("show", f"feature/{FEATURE}:same.txt") == "mine"


def test_an_agent_that_is_cut_on_another_branch_goes_on_there_and_nobody_is_asked(shop: Shop) -> None:
    wait = "run sh -c 'test -e ../../../go || sleep 60'"
    script = (*commits("a"), "run git checkout -q -b other", *commits("late"), "write half.txt x", wait)
    back = (
        "run git add -A",
        f"run git {WHO} commit -qm half",
        f"run git checkout -q {BRANCH}",
        "run git merge -q other",
    )
    running = shop.start("run", "--plan", shop.plan(task("a", *script, *back)))
    tree = shop.root / ".worktrees" / FEATURE / "a"
    until(lambda: (tree / "half.txt").exists(), "work on the other branch")
    shop.kill_everything()
    running.communicate(timeout=60)
    [row] = list(shop.machine.json("resume", FEATURE, "--explain")["worktrees"])
    assert (row["action"], row["name"]) == ("go on", str(tree))
    (shop.root / "go").write_text("")
    told = shop.machine.ok("resume", FEATURE)
    assert "started over" not in told and "completed, 1 of 1" in told
    files = shop.git("ls-tree", "--name-only", f"feature/{FEATURE}").split()
    assert files == ["a.txt", "half.txt", "late.txt", "readme.txt"]


def test_instructions_are_an_answer_too(shop: Shop) -> None:
    plan = shop.plan(task("a", *ASTRAY["on another branch"][0]))
    assert shop.machine.run("run", "--plan", plan).returncode == 1
    assert shop.machine.run("resume", FEATURE).returncode == 3
    words = f"run git checkout -q {BRANCH}\nrun git merge -q other"
    assert "completed, 1 of 1" in shop.machine.ok("resume", FEATURE, "--instructions", words)
    assert shop.git("show", f"feature/{FEATURE}:late.txt") == "late"


def test_answers_that_nobody_asked_for_are_refused(shop: Shop) -> None:
    astray(shop, "on another branch")
    for flags, named in (
        (("--take", "b"), "task b has no work elsewhere"),
        (("--take", "nobody"), "has no task 'nobody'"),
        (("--take", "a", "--leave", "a"), "both taken and left"),
    ):
        refused = shop.machine.run("resume", FEATURE, *flags)
        assert refused.returncode == 2 and named in refused.stderr, refused.stderr


def test_on_a_terminal_it_is_asked(shop: Shop) -> None:
    astray(shop, "on another branch")
    with Typist(shop.machine, "resume", FEATURE) as person:
        person.until_shown("Take it or leave it")
        assert "Work of task a that is not on its branch:" in person.screen and "late (on other)" in person.screen
        assert "no input needed" not in person.screen
        person.type("take")
        assert person.leave() == 0
    assert shop.git("show", f"feature/{FEATURE}:late.txt") == "late"
