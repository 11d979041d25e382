"""Features that another orchestrator has begun: its names of branches, worktrees and tasks, and every row of the
tables of branches and worktrees. What `--explain` foretells is what happens."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.features import FEATURE, Shop
from tests.e2e.foretold import Before
from tests.journals import line
from tests.soaking import only_in_soak

pytestmark = pytest.mark.timeout(280)


@dataclass
class Orchestrator:
    """Somebody else's run: what it has done in git, and what it has written of it."""

    shop: Shop
    branch: str = f"feature/{FEATURE}"
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    tasks: list[Any] = field(default_factory=list)

    def begin(self) -> Orchestrator:
        self.shop.git("branch", self.branch, "main")
        return self

    def tree(self, name: str) -> Path:
        return self.shop.root / ".worktrees" / FEATURE / name

    def work(self, task: Any, branch: str, tree: str, *, commits: bool = True, tell: bool = False) -> Path:
        """A task that is at work in a worktree of its own."""
        path = self.tree(tree)
        self.shop.git("worktree", "add", "-q", "-b", branch, str(path), self.branch)
        if commits:
            (path / f"half-{task}.txt").write_text("half")
            self.shop.git("add", "-A", cwd=path)
            self.shop.git("commit", "-q", "-m", f"work on {task}", cwd=path)
        self.tasks.append(task)
        self.events.append(("agent.spawned", {"name": f"eng-{task}", "task": task, "branch": branch}))
        self.events.append(("task.started", {"taskId": task, "agent": f"eng-{task}"}))
        if tell:
            self.events.append(("worktree.created", {"path": str(path), "branch": branch}))
        return path

    def merge(self, task: Any, branch: str) -> None:
        """Merge a task as others do: in a checkout of the feature's branch."""
        aside = self.shop.machine.home / "aside"
        self.shop.git("worktree", "add", "-q", str(aside), self.branch)
        self.shop.git("merge", "-q", "--no-ff", "-m", f"merge {task}", branch, cwd=aside)
        self.shop.git("worktree", "remove", str(aside))
        self.merged(task, branch)

    def merged(self, task: Any, branch: str) -> None:
        self.events.append(("task.completed", {"taskId": task}))
        self.events.append(("agent.completed", {"name": f"eng-{task}", "result": "success"}))
        self.events.append(("branch.merged", {"name": branch, "target": self.branch, "conflicts": False}))

    def drop(self, branch: str, tree: str) -> None:
        self.shop.git("worktree", "remove", str(self.tree(tree)))
        self.shop.git("branch", "-D", branch)

    def write(self, mode: str = "standard") -> None:
        """The journal, with a checkpoint and no end."""
        tasks = [
            {"id": one, "summary": f"Task {one}\nwrite done-{one}.txt x", "agent": f"eng-{one}"} for one in self.tasks
        ]
        waves = [{"wave": 1, "task_ids": self.tasks}]
        told: list[tuple[str, dict[str, Any]]] = [
            ("session.start", {"command": "implement", "feature": FEATURE, "branch": self.branch, "mode": mode}),
            ("plan.created", {"tasks": tasks, "waves": waves, "dependencies": []}),
            ("checkpoint", {"label": "plan-ready", "branch": self.branch, "plan_step": "wave-1-start"}),
            *self.events,
        ]
        self.shop.put_journal(*(line(type_, "f4e3d2c1", seq, **data) for seq, (type_, data) in enumerate(told)))


@pytest.mark.parametrize("branch", ["feat/checkout", *only_in_soak(f"feature/{FEATURE}", "main-shop")])
def test_every_row_of_both_tables_comes_true(shop: Shop, branch: str) -> None:
    other = Orchestrator(shop, branch).begin()
    other.work(1, "work/shop/schema-design", "schema", tell=True)
    other.merge(1, "work/shop/schema-design")
    other.work("2", "work/shop/gone", "gone")
    other.merge("2", "work/shop/gone")
    other.drop("work/shop/gone", "gone")
    dirty = other.work(3, "work/shop/dirty", "dirty")
    other.merge(3, "work/shop/dirty")
    (dirty / "late.txt").write_text("in no commit")
    other.work("4", "work/shop/unmerged", "unmerged")
    other.merged("4", "work/shop/unmerged")
    goes_on = other.work(5, "work/shop/api-service", "api service")
    missing = other.work("6", "feat/front-end", "front", tell=True)
    shutil.rmtree(missing)
    shop.git("worktree", "prune")
    other.work(7, "lost-work", "lost")
    other.drop("lost-work", "lost")
    begun = other.work(8, "work/shop/begun", "begun-8", commits=False)
    shop.git("branch", "work/shop/stray", "main")
    shop.git("worktree", "add", "-q", "-b", "experiment", str(other.tree("old-thing")), "main")
    other.write()
    before = Before(shop)
    assert before.told["branch"] == branch
    assert before.rows("branches") == {
        "work/shop/schema-design": "delete",
        "work/shop/gone": "nothing",
        "work/shop/dirty": "keep",
        "work/shop/unmerged": "go on",
        "work/shop/api-service": "go on",
        "feat/front-end": "go on",
        "lost-work": "make again",
        "work/shop/begun": "start",
        "work/shop/stray": "warn",
    }
    assert before.rows("worktrees") == {
        str(other.tree("schema")): "delete",
        str(dirty): "keep",
        str(other.tree("unmerged")): "go on",
        str(goes_on): "go on",
        str(missing): "make again",
        str(other.tree("lost-work")): "make again",
        str(begun): "go on",
        str(other.tree("old-thing")): "warn",
    }
    users = shop.checkout()
    shop.machine.ok("resume", FEATURE, *shop.yes())
    assert before.compare() == []
    assert shop.checkout() == users
    assert shop.events("session.start")[-1]["data"]["branch"] == branch
    files = shop.git("ls-tree", "--name-only", branch).split()
    assert {f"half-{task}.txt" for task in (1, 2, 3, 5, 6)} <= set(files), "no commit is lost"
    assert {f"done-{task}.txt" for task in (5, 6, 7, 8)} <= set(files), "an agent goes on with each task in progress"
    assert "late.txt" not in files
    if branch != f"feature/{FEATURE}":
        assert shop.git("branch", "--list", f"feature/{FEATURE}") == "", "no second branch is made for the feature"


def test_a_branch_that_the_user_has_checked_out_is_foretold_to_block_its_task_and_stays(shop: Shop) -> None:
    other = Orchestrator(shop).begin()
    other.work(1, "work/shop/mine", "mine")
    shop.git("worktree", "remove", str(other.tree("mine")))
    shop.git("stash", "-q")
    shop.git("switch", "-q", "work/shop/mine")
    other.write()
    before = Before(shop)
    assert before.rows("branches") == {"work/shop/mine": "blocked"}
    users = shop.checkout()
    done = shop.machine.run("resume", FEATURE, *shop.yes())
    assert done.returncode == 1 and f"work/shop/mine is checked out in {shop.root}" in done.stdout
    assert before.compare() == []
    assert shop.checkout() == users


def test_what_is_in_the_way_of_a_lost_worktree_is_foretold_and_left_alone(shop: Shop) -> None:
    other = Orchestrator(shop).begin()
    path = other.work(1, "work/shop/api", "service", tell=True)
    shop.git("worktree", "remove", str(path))
    path.mkdir(parents=True)
    (path / "mine.txt").write_text("the user's")
    other.write()
    before = Before(shop)
    assert before.rows("worktrees") == {str(path): "blocked"}
    done = shop.machine.run("resume", FEATURE, *shop.yes())
    assert done.returncode == 1 and f"{path} is in the way" in done.stdout
    assert before.compare() == []
    assert (path / "mine.txt").read_text() == "the user's"


@pytest.mark.parametrize(
    "path", ["../outside", ".worktrees/link/deep", *only_in_soak("/etc/x", ".worktrees", ".worktrees/shop/.git")]
)
def test_no_worktree_is_made_where_only_a_journal_wants_it(shop: Shop, path: str) -> None:
    outside = shop.machine.home / "outside"
    outside.mkdir()
    other = Orchestrator(shop).begin()
    other.work(1, "work/shop/api", "api")
    shop.git("worktree", "remove", str(other.tree("api")))
    (shop.root / ".worktrees").mkdir(exist_ok=True)
    (shop.root / ".worktrees" / "link").symlink_to(outside)
    other.events.append(("worktree.created", {"path": path, "branch": "work/shop/api"}))
    other.write()
    before = Before(shop)
    assert before.rows("worktrees") == {str(other.tree("api")): "make again"}
    shop.machine.ok("resume", FEATURE, *shop.yes())
    assert before.compare() == []
    assert list(outside.iterdir()) == []


def test_a_worktree_outside_the_folder_is_used_if_the_journal_and_git_both_know_it(shop: Shop) -> None:
    other = Orchestrator(shop).begin()
    outside = shop.machine.home / "their trees" / "api"
    shop.git("worktree", "add", "-q", "-b", "work/shop/api", str(outside), other.branch)
    other.tasks.append(1)
    other.events += [
        ("agent.spawned", {"name": "eng", "task": 1, "branch": "work/shop/api"}),
        ("worktree.created", {"path": str(outside), "branch": "work/shop/api"}),
        ("task.started", {"taskId": 1}),
    ]
    other.write()
    before = Before(shop)
    assert before.rows("worktrees") == {str(outside): "go on"}
    shop.machine.ok("resume", FEATURE, *shop.yes())
    assert before.compare() == []
    assert not outside.exists(), "its task is merged"


def test_a_journal_that_works_on_the_features_own_branch_gets_a_branch_for_the_task(shop: Shop) -> None:
    """Not every orchestrator gives its tasks branches: then the feature's is not the task's to work on."""
    other = Orchestrator(shop, "main-shop").begin()
    other.tasks.append(1)
    other.events += [
        ("agent.spawned", {"name": "eng", "task": 1, "branch": "main-shop"}),
        ("task.started", {"taskId": 1}),
    ]
    other.write()
    shop.machine.ok("resume", FEATURE, *shop.yes())
    assert json.dumps(shop.events("branch.merged")[-1]["data"]["name"]) == '"work/shop/1"'
    assert "done-1.txt" in shop.git("ls-tree", "--name-only", "main-shop").split()
