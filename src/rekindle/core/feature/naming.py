"""Names that are derived and never random, so that the next run finds what an interrupted one has made."""

from __future__ import annotations

import functools
import hashlib
import re

#: Folders next to those of the tasks; no task can have these names, because no name begins with a dot.
INTEGRATION = ".integration"
SHARED = ".work"
#: Under the kept refs: what was in the integration worktree.
INTEGRATION_WORD = "integration"
COPY = ".review-"
#: The names of a plan are asked for at every look at a run; so many are remembered, which is more than a plan has.
_REMEMBERED = 1 << 15
_UNFIT = re.compile(r"[^A-Za-z0-9._+=-]+|\.\.+|\.lock\Z|\.\Z")


@functools.lru_cache(_REMEMBERED)
def branch_word(name: str) -> str:
    """A name as part of a branch name; one that git would refuse is changed, and marked so that it stays unique."""
    word = _UNFIT.sub("-", name)
    return word if word == name else f"{word.strip('-') or 'x'}-{_digest(name)[:6]}"


def feature_branch(feature: str) -> str:
    """The branch where a feature's work comes together."""
    return f"feature/{branch_word(feature)}"


def work_branch(feature: str, task: str) -> str:
    """The branch of one task."""
    return f"work/{branch_word(feature)}/{branch_word(task)}"


@functools.lru_cache(_REMEMBERED)
def session_id(repository: str, feature: str, epoch: str, task: str, role: str) -> str:
    """The id of a task's session in a `role`. A task that is started over (a new epoch) gets a new session.

    `repository` is its id, which stays the same under any path.
    """
    return _digest("\0".join((repository, feature, epoch, task, role)))[:10]


def base_ref(feature: str, task: str = "") -> str:
    """Where git remembers the commit at which a task's branch, or the feature's own, began."""
    return f"refs/rekindle/base/{branch_word(feature)}/{branch_word(task) if task else '@feature'}"


def wave_ref(feature: str, wave: str) -> str:
    """Where git remembers the commit where the branches of a wave's tasks begin; `wave` belongs to one plan's run."""
    return f"refs/rekindle/base/{branch_word(feature)}/@wave-{branch_word(wave)}"


def left_ref(feature: str, task: str) -> str:
    """Where git remembers a task's worktree as its checks left it."""
    return f"refs/rekindle/left/{branch_word(feature)}/{branch_word(task)}"


def copy_folder(task: str) -> str:
    """The folder of the copy that a task's reviewer works in."""
    return f"{COPY}{branch_word(task)}"


def merged_ref(feature: str) -> str:
    """Where git remembers the feature branch as our last merge left it."""
    return f"refs/rekindle/merged/{branch_word(feature)}"


def done_ref(feature: str, task: str) -> str:
    """Where git remembers our merge commit of a task. It counts only while the feature's branch contains it."""
    return f"refs/rekindle/done/{branch_word(feature)}/{branch_word(task)}"


def kept_ref(feature: str, epoch: str, branch: str) -> str:
    """Where the old tip of a recreated branch is kept."""
    return f"refs/rekindle/kept/{branch_word(feature)}/{epoch}/{branch}"


def strays_refs(feature: str, task: str = "") -> str:
    """Where commits are kept that are not on their task's branch."""
    whose = f"/{branch_word(task)}" if task else ""
    return f"refs/rekindle/kept/{branch_word(feature)}/strays{whose}"


def stray_ref(feature: str, task: str, kind: str, commit: str) -> str:
    """Where one of them is kept."""
    return f"{strays_refs(feature, task)}/{kind}-{commit[:16]}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
