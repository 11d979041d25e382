"""What a resume of a feature would do, and why: the decision with its options, and every row of the three tables.

Pure: `--explain` shows the same value that the resume itself acts on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rekindle.core.feature.evidence import GitEvidence, Merging, WorkBranch, WorkTree
from rekindle.core.feature.left_over import tree_of
from rekindle.core.feature.plan import Plan
from rekindle.core.feature.progress import TaskProgress
from rekindle.core.feature.strays import unanswered
from rekindle.core.feature.task_outcome import (
    has_passed,
    is_complete_by_word,
    is_merged,
    is_said_finished,
    merge_of,
)
from rekindle.core.journal.analysis import (
    Analysis,
    Decision,
    affected,
    decide,
    options_with_issues,
    options_without_checkpoint,
)
from rekindle.core.journal.event import BLOCKER_REPORTED
from rekindle.core.journal.run import COMPLETE, FAILED, IN_PROGRESS, PENDING, SKIPPED, Issue
from rekindle.core.naming_some import some_of
from rekindle.core.reconcile import branches, tasks, worktrees
from rekindle.core.reconcile.branches import Recorded


@dataclass(frozen=True)
class Row:
    """One row of a table: what it is about, what is done, why. `task` is the task of a branch or a worktree."""

    name: str
    action: str
    why: str
    task: str = ""


@dataclass(frozen=True)
class Outlook:
    """Everything that a resume will do. `lost` are tasks that have no work left: they start over."""

    decision: Decision
    issues: tuple[Issue, ...]
    tasks: tuple[Row, ...]
    branches: tuple[Row, ...]
    worktrees: tuple[Row, ...]
    lost: tuple[str, ...]
    warnings: tuple[str, ...]
    affected: tuple[str, ...]


def outlook(
    analysis: Analysis,
    plan: Plan | None,
    known: dict[str, TaskProgress],
    git: GitEvidence,
    kept: frozenset[str] = frozenset(),
    named: Sequence[str] = (),
) -> Outlook:
    """Look at a feature that is to be resumed. An issue that git shows to be resolved asks nothing any more.

    `kept` are tasks whose uncommitted work is in a snapshot, `named` the branches that the journal calls the feature's.
    """
    issues = tuple(issue for issue in analysis.state.issues if not _is_overcome(issue, known, git))
    decision = decide(analysis.state, interrupted=True)
    if decision.case == "B" and not issues:
        decision = Decision("A", decision.next_step, decision.restart_tasks)
    if decision.case == "C" and plan is None:
        decision = replace(decision, options=options_without_checkpoint(has_plan=False))
    merged = {name for name, one in known.items() if is_merged(name, one, git)}
    meant = (
        affected(replace(analysis.state, issues=list(issues)), decision.restart_tasks)
        if decision.case == "B"
        else decision.restart_tasks
    )
    taken_out = {issue.task for issue in issues if issue.task in known} - {*meant}
    meant = (*meant, *(name for name in known if name in taken_out and merge_of(name, known[name], git) == "gone"))
    concerned = tuple(name for name in meant if name not in merged) if decision.case != "A" else ()
    if decision.case == "B":
        decision = replace(decision, options=options_with_issues(concerned, decision.next_step))
    lost = tuple(name for name, one in known.items() if name not in merged | kept and _is_lost(name, one, git))
    trees = _trees(known, merged, git)
    return Outlook(
        decision,
        issues,
        tuple(_task(name, one, git) for name, one in known.items()),
        tuple(_branches(known, git, trees)),
        tuple(tree.row for tree in trees),
        lost,
        tuple(_warnings(plan, known, merged, git, named, is_partial=analysis.state.plan is not None)),
        concerned,
    )


def before_answer(found: Outlook) -> Outlook:
    """The same while nobody has answered yet: what becomes of the affected tasks (case B) is up to the answer."""
    if found.decision.case != "B":
        return found
    asked = {*found.affected}

    def row(one: Row) -> Row:
        if one.name in asked:
            why = f"A: it starts over; B: it is skipped; C: it goes on with your words ({one.why})"
            return replace(one, action="asked", why=why)
        return one

    def place(one: Row) -> Row:
        if one.task in asked and one.action in _UP_TO_THE_ANSWER:
            kept = "what it has is kept under refs/rekindle/kept, and a new one is made"
            return replace(one, action="asked", why=f"A: {kept}; B: it stays; C: {one.action} ({one.why})")
        return one

    return replace(
        found,
        tasks=tuple(map(row, found.tasks)),
        branches=tuple(map(place, found.branches)),
        worktrees=tuple(map(place, found.worktrees)),
    )


def after_answer(found: Outlook, answer: str) -> tuple[Row, ...]:
    """The rows of the tasks once a person has answered. `answer` is the option, with `restart` if all start over."""
    rows = []
    for row in found.tasks:
        if answer == "restart A":
            rows.append(Row(row.name, "start over", "you chose this; its old branch is kept"))
        elif answer == "restart B":
            rows.append(Row(row.name, "give up", "the new plan replaces it; its old branch is kept"))
        elif answer == "A" and row.name in found.affected:
            rows.append(Row(row.name, "start over", "you chose this; its old branch is kept"))
        elif answer == "B" and row.name in found.affected:
            rows.append(Row(row.name, "skip", "you chose this; its branch is kept"))
        elif answer == "C" and row.action not in UNTOLD:
            rows.append(Row(row.name, "go on with your words", row.why))
        else:
            rows.append(row)
    return tuple(rows)


#: Tasks that have no agent to tell anything, whatever a person says.
UNTOLD = ("done", "skipped", "not begun", "merge again")
#: What is done with a branch or a worktree of a task that goes on.
_UP_TO_THE_ANSWER = ("go on", "start", "make again")
#: How many tasks a sentence names.
_NAMED = 20
_BEGUN = (IN_PROGRESS, COMPLETE, FAILED)


def _is_lost(name: str, one: TaskProgress, git: GitEvidence) -> bool:
    """Whether everything done for a task is gone: its branch, or the worktree of a branch without commits.

    A worktree that has something else checked out is not gone, nor is one that has lost its `.git` and still has
    files (it is mended), nor the remembered tip of a deleted branch.
    """
    if not one.has_branch or one.status not in _BEGUN or name in {*git.away, *git.fallen}:
        return False
    done = git.done.get(name)
    if done is not None and done.epoch == one.epoch and done.tip is not None:
        return False  # we know our merge of it, and so what was merged
    branch = git.branches.get(one.branch)
    there = any(tree.branch == one.branch for tree in git.trees.values()) or _is_unlinked(name, git)
    return branch is None or (not there and not branch.commits and branch.elsewhere is None)


def _is_unlinked(name: str, git: GitEvidence) -> bool:
    """Whether the folder of a task's worktree is there with its files, and only its link to the repository is gone."""
    home = git.homes.get(name)
    return home is not None and home not in git.trees and name not in git.removed and name not in git.blocked


def _is_overcome(issue: Issue, known: dict[str, TaskProgress], git: GitEvidence) -> bool:
    """A blocked merge that a person has resolved, in the worktree or on the branch; or a failure of merged work."""
    one = known.get(issue.task or "")
    if one is None:
        return False
    branch = git.branches.get(one.branch)
    if is_merged(issue.task or "", one, git):
        return True
    if issue.type != BLOCKER_REPORTED or branch is None:
        return False
    resolved = git.merging is not None and not git.merging.conflicts and git.merging.branch_tip == branch.tip
    return resolved or (issue.commit is not None and issue.commit != branch.tip)


def _task(name: str, one: TaskProgress, git: GitEvidence) -> Row:
    branch = git.branches.get(one.branch)
    if one.status == SKIPPED:
        return Row(name, "skipped", "you decided to leave it out")
    quality: tasks.Quality = "failed" if one.qa is not None and one.qa.result == "failed" else "none"
    quality = "passed" if has_passed(one, git) else quality
    commits = branch is not None and branch.commits > 0
    fallen = name in git.fallen
    how = merge_of(name, one, git)
    finished = is_said_finished(one)
    found = tasks.TaskSides(
        how in ("ours", "said"), branch is not None or fallen, commits or fallen, quality, how == "gone", finished
    )
    if how == "nothing":
        return Row(name, "done", "its agent finished and changed nothing, and that passed: there is nothing to merge")
    step = tasks.step(found)
    if step == "make the branch and start" and one.status == PENDING:
        return Row(name, "not begun", "its turn has not come yet")
    if step == "make the branch and start" and is_complete_by_word(one, git):
        return Row(name, "left alone", "the journal calls it complete; git has neither a branch nor a merge of it")
    if step in ("start", "resume the work") and _asks_about_strays(name, one, git):
        return Row(name, "check", _ASKED)
    if step == "merge" and branch is not None and _is_changed_since(name, branch, git):
        return Row(name, "check", "it passed, and its worktree was changed since: that is committed and checked first")
    if step == "merge" and branch is not None and git.merging is not None and git.merging.branch_tip == branch.tip:
        return Row(name, step, _under_way(git.merging))
    return Row(name, step, _WHY[step])


def _is_changed_since(name: str, branch: WorkBranch, git: GitEvidence) -> bool:
    """Whether the worktree of a task that has passed has changes which are on no branch yet."""
    tree = tree_of(git, branch)
    return tree is not None and tree.uncommitted and name not in git.checking


def _asks_about_strays(name: str, one: TaskProgress, git: GitEvidence) -> bool:
    """Whether a run has asked about work outside its branch: it asks, and keeps the work, when nobody works on it."""
    return any(stray.kept for stray in unanswered(git.strays.get(name, ()), one.answered))


def _under_way(merging: Merging) -> str:
    """A merge that waits in the integration worktree."""
    if merging.conflicts:
        return f"it has passed; its merge waits in {merging.path}, with conflicts in {', '.join(merging.conflicts)}"
    return f"it has passed; the conflicts of its merge are resolved in {merging.path}: that result is merged"


_ASKED = (
    "decide first about its work elsewhere; then it is checked and merged, with its agent only if that had not finished"
)
_WHY: dict[tasks.Step, str] = {
    "done": "it is merged",
    "merge": "it has work that passed quality assurance",
    "work on the issues": "it has work that did not pass: its agent gets the issues",
    "merge again": "it was merged and passed, and somebody took the merge out of the feature's branch",
    "check": "it has work that is not checked yet",
    "resume the work": "it has work on its branch: its agent continues, or another is told what the branch contains",
    "start": "its branch has no commits: its agent is brought back, or started",
    "make the branch and start": "there is neither a branch nor a merge of it",
}


def _recorded(one: TaskProgress | None, *, merged: bool, exists: bool) -> Recorded:
    """What the journal says about a branch. One that exists under a task's name is worked on, recorded or not."""
    if one is None:
        return "nothing"
    if one.status == SKIPPED and not merged:
        return "skipped"
    if merged:
        return "merged"
    return "in progress" if one.has_branch or exists else "nothing"


def _is_merged_again(name: str, one: TaskProgress, git: GitEvidence) -> bool:
    """Whether only our merge of a task has to be redone, which needs neither its branch nor its worktree."""
    has_branch = one.branch in git.branches or name in git.fallen
    return one.status != SKIPPED and not has_branch and merge_of(name, one, git) == "gone"


def _branches(known: dict[str, TaskProgress], git: GitEvidence, trees: Sequence[_Tree]) -> list[Row]:
    rows = []
    owners = {one.branch: (name, one) for name, one in known.items()}
    staying = {tree.branch for tree in trees if tree.row.action not in ("delete", "nothing")}
    for name in dict.fromkeys((*(one.branch for one in known.values() if one.has_branch), *git.branches)):
        task, one = owners.get(name, ("", None))
        found = git.branches.get(name)
        seen = branches.BranchSides(
            name,
            _recorded(one, merged=one is not None and is_merged(task, one, git), exists=found is not None),
            found is not None,
            found.commits if found is not None else 0,
            found is not None and found.merged,
            name in staying or (found is not None and found.elsewhere is not None),
            git.blocked.get(task, ""),
        )
        verdict = branches.reconcile(seen)
        if found is None and task in git.fallen and verdict.action == "make again":
            verdict = branches.BranchVerdict(
                "make again", f"it was deleted: it is made again at {git.fallen[task][:10]}"
            )
        if one is not None and _is_merged_again(task, one, git):
            verdict = branches.BranchVerdict(
                "nothing", "it is gone: its task is merged again from the commit that passed"
            )
        rows.append(Row(name, verdict.action, verdict.why, task))
    return rows


@dataclass(frozen=True)
class _Tree:
    branch: str | None
    row: Row


def _trees(known: dict[str, TaskProgress], merged: set[str], git: GitEvidence) -> list[_Tree]:
    rows = []
    owners = {one.branch: (name, one) for name, one in known.items()}
    away = {tree.path: name for name, tree in git.away.items()}
    there = {*(tree.branch for tree in git.trees.values()), *(known[name].branch for name in git.away if name in known)}
    gone = [
        WorkTree(git.homes.get(name, ""), one.branch)
        for name, one in known.items()
        if one.has_branch and name not in merged and one.status != SKIPPED and one.branch not in there
        if not _is_merged_again(name, one, git)
    ]
    for tree in (*git.trees.values(), *gone):
        task, one = owners.get(tree.branch or "", ("", None))
        if tree.path in away and away[tree.path] in known and away[tree.path] not in merged:
            has, wanted = tree.branch or "a detached HEAD", known[away[tree.path]].branch
            why = f"it has {has} checked out instead of {wanted}"
            rows.append(_Tree(wanted, Row(tree.path, "go on", why, away[tree.path])))
            continue
        branch = git.branches.get(tree.branch or "")
        exists = tree not in gone
        seen = worktrees.WorktreeSides(
            tree.path,
            _recorded(one, merged=task in merged, exists=exists),
            exists,
            branch is not None and branch.merged,
            tree.uncommitted,
            tree.locked,
            git.blocked.get(task, ""),
        )
        verdict = worktrees.reconcile(seen)
        rows.append(_Tree(tree.branch, Row(tree.path, verdict.action, verdict.why, task)))
    return rows


def _missing(known: dict[str, TaskProgress], git: GitEvidence) -> str:
    gone = [name for name, one in known.items() if merge_of(name, one, git) == "gone"]
    if not gone:
        return "all merged work is in it still"
    return f"{'task' if len(gone) == 1 else 'tasks'} {some_of(gone, _NAMED)} will be merged again"


def _warnings(
    plan: Plan | None,
    known: dict[str, TaskProgress],
    merged: set[str],
    git: GitEvidence,
    named: Sequence[str],
    *,
    is_partial: bool,
) -> list[str]:
    branch = git.target
    told = []
    if named and named[0] != branch:
        told.append(f"the journal names {named[0]}, which does not exist or is yours: its work is merged into {branch}")
    if plan is None and is_partial:
        told.append("the journal has only part of the plan: its writer was killed before it wrote the rest")
    elif plan is None:
        told.append("the journal has no plan")
    if git.tip is None and git.last_merge is not None:
        told.append(f"{branch} is gone; it is made again at our last merge ({git.last_merge[:10]})")
    elif git.tip is None and merged:
        told.append(
            f"{branch} is gone, and merged work was on it: find it with `git reflog`, then `git branch {branch} COMMIT`"
        )
    word = [name for name, one in known.items() if is_complete_by_word(one, git) and name not in merged]
    if word:
        told.append(
            f"complete by the journal's word alone, without a branch or a merge in git: {some_of(word, _NAMED)}; "
            "nobody works on that, and nothing of it was checked here"
        )
    if git.rewritten and git.last_merge is not None:
        told.append(
            f"{branch} was rewritten since our last merge ({git.last_merge[:10]}, still under refs/rekindle/merged); "
            f"{_missing(known, git)}"
        )
    return told
