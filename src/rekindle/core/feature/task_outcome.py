"""Where a task stands between the journal and git: who merged it, which commit passed, finished or not. Pure.

It proves nothing that the feature's branch contains a task's branch: anybody can bring that about, even an agent in
the middle of its turn.
"""

from __future__ import annotations

from typing import Literal

from rekindle.core.feature.evidence import GitEvidence
from rekindle.core.feature.progress import TaskProgress
from rekindle.core.journal.run import COMPLETE

#: `ours`: the feature's branch has a merge of ours. `said`: a journal that counts calls it merged, and git does not
#: deny it. `gone`: we merged it, and somebody removed the merge. `nothing`: it passed without a change, and its
#: branch has nothing to merge.
Merge = Literal["ours", "said", "nothing", "gone", "no"]


def merge_of(name: str, one: TaskProgress, git: GitEvidence) -> Merge:
    """How a task's work came into the feature's branch."""
    done = git.done.get(name)
    if done is not None and done.epoch == one.epoch and (done.present or done.tip is not None):
        if done.present or one.merged:
            return "ours" if done.present else "gone"
        return "no"  # a merge that was interrupted before it reached the branch
    branch = git.branches.get(one.branch)
    has_work = branch is not None and branch.commits > 0
    if one.merged:
        return "no" if has_work and branch is not None and not branch.merged else "said"
    return "nothing" if one.unchanged and not has_work else "no"


def is_merged(name: str, one: TaskProgress, git: GitEvidence) -> bool:
    """Whether a task's work is in the feature's branch, merged by us or according to a journal that counts.

    The same goes for a task that was right to change nothing.
    """
    return merge_of(name, one, git) in ("ours", "said", "nothing")


def is_contained(name: str, one: TaskProgress, git: GitEvidence) -> bool:
    """Whether somebody other than us brought the work of a task into the feature's branch."""
    branch = git.branches.get(one.branch)
    return branch is not None and branch.merged and branch.commits > 0 and not is_merged(name, one, git)


def has_passed(one: TaskProgress, git: GitEvidence) -> bool:
    """Whether a task's work passed quality assurance at the commit that its branch is at now."""
    branch = git.branches.get(one.branch)
    if branch is None or one.qa is None:
        return False
    return one.qa.result == "passed" and one.qa.commit == branch.tip


def is_said_finished(one: TaskProgress) -> bool:
    """Whether a journal says that a task's agent finished, although no session of ours knows about it.

    A task that is checked was finished before; and only another orchestrator calls a task complete before its merge.
    """
    passed = one.qa is not None and one.qa.result == "passed"
    return passed or one.status == COMPLETE


def is_complete_by_word(one: TaskProgress, git: GitEvidence) -> bool:
    """Whether a journal calls a task complete that never had a branch: somebody did it elsewhere, or only said so."""
    return one.status == COMPLETE and not one.has_branch and one.branch not in git.branches
