"""A task's branch that is left when nobody works on it any more: what is only in it, and the command that deletes it.

Pure. The command has to work as it is printed: `git branch -d` refuses a branch that is not merged into whatever is
checked out, and `git worktree remove` refuses one with changes. So what would be lost is said in words, next to it.
"""

from __future__ import annotations

from rekindle.core.feature.evidence import GitEvidence, WorkBranch, WorkTree
from rekindle.core.terminal_text import quoted


def only_there(seen: GitEvidence, branch: WorkBranch) -> tuple[str, ...]:
    """What is in a branch or its worktree, and not in the feature's branch."""
    tree = tree_of(seen, branch)
    found: list[str] = []
    if branch.commits and not branch.merged:
        count = "1 commit that is" if branch.commits == 1 else f"{branch.commits} commits that are"
        found.append(f"{count} not merged into {seen.target}")
    if tree is not None and (tree.uncommitted or tree.conflicts or tree.withheld):
        found.append("changes that are not committed")
    return tuple(found)


def removal(seen: GitEvidence, branch: WorkBranch) -> str:
    """The command that deletes a branch and its worktree, in the user's repository."""
    tree = tree_of(seen, branch)
    steps = [f"git branch -D {quoted(branch.name)}"]
    if tree is not None and seen.clone is not None:
        steps.insert(0, f"rm -rf {quoted(seen.clone)} {quoted(tree.path)}")
    elif tree is not None:
        forced = "--force " if tree.uncommitted or tree.conflicts or tree.withheld else ""
        steps.insert(0, f"git worktree remove {forced}{quoted(tree.path)}")
        if tree.locked:
            steps.insert(0, f"git worktree unlock {quoted(tree.path)}")
    elif branch.elsewhere is not None:
        steps.insert(0, f"git -C {quoted(branch.elsewhere)} switch --detach")
    return " && ".join(steps)


def tree_of(seen: GitEvidence, branch: WorkBranch) -> WorkTree | None:
    """The worktree of ours that has a branch checked out."""
    return next((tree for tree in seen.trees.values() if tree.branch == branch.name), None)
