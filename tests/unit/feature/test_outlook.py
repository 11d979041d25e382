"""Every row of the three tables, in a real repository: what a resume finds, and what it would do about it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from rekindle.core.feature.naming import work_branch
from rekindle.core.feature.outlook import Outlook, outlook
from rekindle.core.feature.plan_event import from_event
from rekindle.core.feature.progress import progress
from rekindle.core.journal.analysis import analyse
from rekindle.core.journal.decode import decode_line
from rekindle.core.journal.fold import fold
from tests.journals import line
from tests.unit.feature.repositories import FEATURE, Repo, make

TASKS = ("merged", "cleared", "worked", "failed", "passed", "begun", "lost", "untreed", "later")


@pytest.fixture
def found(tmp_path: Path) -> dict[str, Any]:
    repo = make(tmp_path / "repo")
    feature = repo.begun(*TASKS[:-1], "stray")
    for task in ("merged", "cleared", "worked", "failed", "passed", "lost", "untreed", "stray"):
        repo.worked(feature, task)
    for task in ("merged", "cleared"):
        repo.merged(feature, task)
    feature.clear("cleared", work_branch(FEATURE, "cleared"))
    shutil.rmtree(feature.tree_of("untreed", "work/shop/untreed"))
    shutil.rmtree(feature.tree_of("lost", "work/shop/lost"))
    repo.git("worktree", "prune")
    repo.git("branch", "-D", work_branch(FEATURE, "lost"))
    passed = {"taskId": "passed", "round": 1, "commit": repo.git("rev-parse", work_branch(FEATURE, "passed"))}
    seen = look(repo, [*events(), ("qa.passed", passed)])
    return {
        "outlook": seen,
        "branches": {row.name.rpartition("/")[2]: row.action for row in seen.branches},
        "worktrees": {row.name.rpartition("/")[2]: row.action for row in seen.worktrees},
        "tasks": {row.name: row.action for row in seen.tasks},
    }


def events() -> list[tuple[str, dict[str, Any]]]:
    told: list[tuple[str, dict[str, Any]]] = [
        ("session.start", {"command": "implement", "mode": "standard"}),
        ("plan.created", {"tasks": [{"id": name} for name in TASKS], "waves": [], "dependencies": []}),
        ("checkpoint", {"label": "plan-ready", "plan_step": "wave-1-start"}),
    ]
    for name in TASKS[:-1]:
        told.append(("branch.created", {"name": work_branch(FEATURE, name), "taskId": name}))
        told.append(("task.started", {"taskId": name}))
    for name in ("merged", "cleared"):
        told.append(("branch.merged", {"name": work_branch(FEATURE, name), "taskId": name}))
        told.append(("task.completed", {"taskId": name}))
    told.append(("qa.failed", {"taskId": "failed", "round": 1, "issues": ["bad"]}))
    return told


def look(repo: Repo, told: list[tuple[str, dict[str, Any]]]) -> Outlook:
    lines = [line(type_, "aaaa0001", seq, **data) for seq, (type_, data) in enumerate(told)]
    analysis = analyse(fold(map(decode_line, lines)))
    plan = from_event(analysis.state.plan)
    assert plan is not None
    known = progress(FEATURE, plan, [analysis.journal.sids[sid] for sid in analysis.lineage])
    git = repo.feature().observe(known)
    return outlook(analysis, plan, known, git)


def test_every_row_of_the_branch_table(found: dict[str, Any]) -> None:
    rows = found["branches"]
    assert rows["merged"] == "delete", "merged in the journal, still there"
    assert rows["cleared"] == "nothing", "merged in the journal, gone"
    assert rows["worked"] == "go on", "in progress, with commits"
    assert rows["begun"] == "start", "in progress, without commits"
    assert rows["lost"] == "make again", "in progress, gone"
    assert rows["stray"] == "warn", "not in the journal"


def test_every_row_of_the_worktree_table(found: dict[str, Any]) -> None:
    rows = found["worktrees"]
    assert rows["merged"] == "delete", "its task is merged"
    assert rows["worked"] == "go on", "in progress, there"
    assert rows["untreed"] == "make again", "in progress, gone"
    assert rows["stray"] == "warn", "not in the journal"


def test_every_row_of_the_task_table(found: dict[str, Any]) -> None:
    rows = found["tasks"]
    assert rows["merged"] == rows["cleared"] == "done"
    assert rows["passed"] == "merge"
    assert rows["failed"] == "work on the issues"
    assert rows["worked"] == rows["untreed"] == "resume the work"
    assert rows["begun"] == "start"
    assert rows["lost"] == "make the branch and start"
    assert rows["later"] == "not begun"


def test_work_that_passed_and_was_changed_since_is_foretold_to_be_checked_again(tmp_path: Path) -> None:
    repo = make(tmp_path / "repo")
    feature = repo.begun("passed")
    repo.worked(feature, "passed")
    passed = {"taskId": "passed", "round": 1, "commit": repo.git("rev-parse", work_branch(FEATURE, "passed"))}
    told = [*events(), ("qa.passed", passed)]
    assert {row.name: row.action for row in look(repo, told).tasks}["passed"] == "merge"
    Path(feature.tree_of("passed", work_branch(FEATURE, "passed")), "mine.txt").write_text("and this\n", "utf-8")
    assert {row.name: row.action for row in look(repo, told).tasks}["passed"] == "check"


def test_only_what_is_really_gone_starts_over(found: dict[str, Any]) -> None:
    assert found["outlook"].lost == ("lost",)
    assert found["outlook"].decision.case == "A"


def test_a_task_that_only_the_journal_calls_complete_is_named_and_left_alone(tmp_path: Path) -> None:
    repo = make(tmp_path / "repo")
    repo.begun("worked")
    seen = look(repo, [*events(), ("task.started", {"taskId": "later"}), ("task.completed", {"taskId": "later"})])
    assert {row.name: row.action for row in seen.tasks}["later"] == "left alone"
    assert any("by the journal's word alone" in one and one.count("later") == 1 for one in seen.warnings)
    assert not any("by the journal's word alone" in one for one in look(repo, events()).warnings)


def test_a_rewritten_or_a_lost_feature_branch_is_told(tmp_path: Path) -> None:
    repo = make(tmp_path / "repo")
    feature = repo.begun("merged")
    repo.worked(feature, "merged")
    repo.merged(feature, "merged")
    repo.git("branch", "-f", "feature/shop", "main")
    assert "was rewritten" in look(repo, events()).warnings[0]
    repo.git("branch", "-D", "feature/shop")
    assert "made again at our last merge" in look(repo, events()).warnings[0]
