"""How far each task of a plan has come according to the journal: the runs of a lineage and the decisions between them.

A decision to start a task over (a new *epoch*) cancels everything that was said about it before, so its old failure,
checks and merge do not count for the new work.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from rekindle.core.feature.naming import work_branch
from rekindle.core.feature.plan import Plan
from rekindle.core.feature.records import named_branches
from rekindle.core.feature.strays import LEAVE, TAKE
from rekindle.core.git_names import is_branch_name
from rekindle.core.journal.run import COMPLETE, FAILED, PENDING, EarlierChoice, Qa, RecordedBranch, RunState

#: The answers to a resume's questions that change what happens to tasks.
START_OVER = "A"
SKIP = "B"
INSTRUCT = "C"


class TaskProgress(msgspec.Struct):
    """A task as the journal knows it. `merge` is the commit that it was merged with, if that was recorded.

    `told` is the run in which a person gave instructions for it.

    `unchanged`: rekindle itself has recorded that it is complete, and that it changed nothing.

    `error` is why it has failed, if it has.

    `answered` are the strays that a person has decided about; `left_out` those that stay out of its branch.
    """

    epoch: str
    branch: str
    status: str = PENDING
    merged: bool = False
    merge: str | None = None
    has_branch: bool = False
    qa: Qa | None = None
    rounds_before: int = 0
    told: str = ""
    instructions: str = ""
    answered: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()
    unchanged: bool = False
    error: str = ""


def progress(feature: str, plan: Plan, runs: Sequence[RunState]) -> dict[str, TaskProgress]:
    """Fold the runs of a lineage, oldest first."""
    root = runs[0].sid if runs else ""
    own = named_branches(runs)
    found = {task.id: TaskProgress(root, work_branch(feature, task.id)) for task in plan.tasks}
    for run in runs:
        for choice in run.work.choices:
            for name in choice.tasks:
                if name in found:
                    found[name] = _decided(found[name], run.sid, choice)
        for name, task in run.work.tasks.items():
            if name in found and task.status is not None:
                found[name].status = task.status
                found[name].unchanged = run.is_driven and task.status == COMPLETE and task.files_changed == []
                found[name].error = (task.error or "") if task.status == FAILED else ""
        for branch, known in run.work.branches.items():
            if known.task in found and branch not in own and is_branch_name(branch):
                one = found[str(known.task)]
                one.branch, one.has_branch = branch, True
                _book_merge(one, known)
        for name, qa in run.work.qa.items():
            if name in found:
                found[name].qa = qa
    _merged_by_name(found, runs)
    return found


def _decided(before: TaskProgress, sid: str, made: EarlierChoice) -> TaskProgress:
    if made.choice == START_OVER:
        return TaskProgress(sid, before.branch)
    if made.choice in (TAKE, LEAVE):
        left_out = before.left_out | (set(made.commits) if made.choice == LEAVE else set())
        return replace(before, answered=before.answered | set(made.commits), left_out=left_out)
    if made.choice == INSTRUCT:
        rounds = (before.qa.round or 0) if before.qa is not None else 0
        return TaskProgress(
            before.epoch,
            before.branch,
            has_branch=before.has_branch,
            merged=before.merged,
            merge=before.merge,
            rounds_before=max(before.rounds_before, rounds),
            told=sid,
            instructions=made.instructions,
            answered=before.answered,
            left_out=before.left_out,
        )
    return before


def _merged_by_name(found: dict[str, TaskProgress], runs: Sequence[RunState]) -> None:
    """A branch that no event has tied to a task counts for the task that it is named after, in that task's epoch."""
    order = {run.sid: place for place, run in enumerate(runs)}
    by_branch = {one.branch: one for one in found.values()}
    for run in runs:
        for branch, known in run.work.branches.items():
            one = by_branch.get(branch)
            if one is not None and known.task is None and order[run.sid] >= order.get(one.epoch, 0):
                one.has_branch = True
                _book_merge(one, known)


def _book_merge(one: TaskProgress, known: RecordedBranch) -> None:
    if known.merged is not None:
        one.merged, one.merge = known.merged, known.commit
