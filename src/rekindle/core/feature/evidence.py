"""What was observed, as data: git's side of a feature, its sessions, and what this run has found out itself."""

from __future__ import annotations

from typing import Literal

import msgspec

from rekindle.core.feature.strays import Stray

#: The state of a session's work on one prompt.
Phase = Literal["absent", "unsaid", "working", "asking", "cut", "failed", "stopped", "done"]


class WorkTree(msgspec.Struct, frozen=True):
    """A worktree of ours. `uncommitted`: it has changes, other than what checks left behind in it.

    `conflicts` are files of a merge that nobody has resolved. `withheld`: it has changes that cannot be committed here,
    or contains a repository that nobody looks into.
    """

    path: str
    branch: str | None = None
    uncommitted: bool = False
    locked: bool = False
    conflicts: tuple[str, ...] = ()
    withheld: bool = False


class WorkBranch(msgspec.Struct, frozen=True):
    """A branch `work/F/…`. `merged`: the feature's branch contains it, whoever merged it.

    `subjects` are its newest commits, for an agent that takes it over. `elsewhere` is a checkout that is not ours.
    `unrelated`: it has no commit in common with the feature's branch, so nothing can merge it.
    """

    name: str
    tip: str
    commits: int = 0
    subjects: tuple[str, ...] = ()
    merged: bool = False
    elsewhere: str | None = None
    unrelated: bool = False


class Done(msgspec.Struct, frozen=True):
    """A merge of ours, of one task in one epoch.

    `present`: the feature's branch has it, or the same changes under other names (it was rebased or squashed).
    `tip` is the task's commit that it merged. It is looked up if the branch does not have the merge itself; a merge
    that is not present and has no `tip` is one that git knows nothing about.
    """

    commit: str
    epoch: str
    tip: str | None = None
    present: bool = True


class Merging(msgspec.Struct, frozen=True):
    """A merge that is under way in the integration worktree, `path`. `commit`: somebody has committed it there."""

    branch_tip: str
    conflicts: tuple[str, ...] = ()
    commit: str | None = None
    path: str = ""


class GitEvidence(msgspec.Struct, frozen=True):
    """What git says about a feature.

    `done` is the last merge of each task that we know we made, wherever it is now. `copies` are the commits that
    reviewers are looking at, by task.
    `checking`: tasks whose checks have begun on the commit that their branch is at, and have not ended.

    `target` is the name of the feature's branch; `homes` are the paths of the tasks' worktrees, whether they exist or
    not; `blocked` says by task why its worktree cannot be made. Also by task: its `strays`; `away`, its worktree if
    that has something else checked out; `fallen`, where its branch was before somebody deleted it. `removed`: tasks
    whose worktrees do not exist, or have lost every file.

    `clone` is the clone of our own that has the worktrees, if the user's repository gets none.

    `remembered`: tasks whose uncommitted changes were not looked up this time, but are as last seen.
    """

    target: str = ""
    tip: str | None = None
    elsewhere: str | None = None
    branches: dict[str, WorkBranch] = {}
    trees: dict[str, WorkTree] = {}
    homes: dict[str, str] = {}
    blocked: dict[str, str] = {}
    done: dict[str, Done] = {}
    copies: dict[str, str] = {}
    checking: frozenset[str] = frozenset()
    merging: Merging | None = None
    last_merge: str | None = None
    rewritten: bool = False
    strays: dict[str, tuple[Stray, ...]] = {}
    away: dict[str, WorkTree] = {}
    fallen: dict[str, str] = {}
    remembered: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    clone: str | None = None


class TalkState(msgspec.Struct, frozen=True):
    """A session with respect to one of its prompts. `up`: its agent has a process. `question`: what it asks."""

    session: str
    phase: Phase = "absent"
    up: bool = False
    message: str = ""
    retry_at: float | None = None
    tries: int = 0
    rounds: int = 0
    fresh: bool = False
    question: str = ""


class RunMemory(msgspec.Struct):
    """What this run has found out and nobody else has to remember: losing it only means repeating a check."""

    problems: dict[str, str] = {}
    revived: dict[str, int] = {}
    checks: dict[tuple[str, int, str], tuple[str, ...]] = {}
    verdicts: dict[tuple[str, int, str], tuple[str, ...]] = {}
    waves: dict[tuple[int, str], tuple[str, ...]] = {}
    settled: set[str] = set()
    committed: dict[tuple[str, int], tuple[str, ...]] = {}
    asked: set[tuple[str, str]] = set()
    noticed: set[str] = set()
    checking: set[str] = set()
    restored: set[str] = set()
