"""What a journal says about names: the feature's branch and the worktrees of branches. Other programs differ."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from rekindle.core.feature.naming import branch_word, feature_branch
from rekindle.core.git_names import is_branch_name
from rekindle.core.journal.event import text
from rekindle.core.journal.run import RunState

_BETWEEN_WORDS = re.compile(r"[/._-]+")


def named_branches(runs: Sequence[RunState]) -> tuple[str, ...]:
    """The branches that checkpoints and starts of runs name as the feature's, newest first."""
    found: list[str] = []
    for run in reversed(runs):
        checkpoint = run.work.checkpoint
        if checkpoint is not None:
            found.append(text(checkpoint.branch) or "")
        if run.start is not None:
            found.append(run.start.branch or "")
    return tuple(dict.fromkeys(name for name in found if is_branch_name(name)))


def choose_branch(feature: str, named: Sequence[str], existing: Collection[str], users: str | None = None) -> str:
    """The branch where a feature's work comes together: the newest that exists, else one with a usual name.

    A feature that a person tracks by hand names the branch that they have checked out, wherever the work is to come
    together: `users` is that branch, and counts only if it is named after the feature, by whole words.
    """
    usual = {f"{kind}/{branch_word(feature)}" for kind in ("feature", "hotfix", "refactor")}
    there = next((name for name in named if name in existing and (name != users or _is_after(feature, name))), None)
    return there or next((name for name in named if name in usual), feature_branch(feature))


def _is_after(feature: str, branch: str) -> bool:
    """Whether the words of the feature's name appear in the branch's, in sequence: `main` is not named after `ai`."""
    wanted, words = _words(branch_word(feature)), _words(branch)
    return bool(wanted) and any(words[at : at + len(wanted)] == wanted for at in range(len(words)))


def _words(name: str) -> list[str]:
    return [word for word in _BETWEEN_WORDS.split(name) if word]


def recorded_trees(runs: Sequence[RunState]) -> dict[str, str]:
    """Where the journal says the worktree of a branch was made; the newest statement counts."""
    return {
        tree.branch: path
        for run in runs
        for path, tree in run.work.worktrees.items()
        if tree.branch is not None and not tree.removed
    }
