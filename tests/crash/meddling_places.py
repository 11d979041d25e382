"""Meddling with locks, settings, the journal, the store, the user's own checkout, and the repository's place."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.crash.feature_verdict import Allows
from tests.crash.feature_yard import Yard
from tests.crash.meddling import Act, Meddling, NotNow
from tests.crash.meddling_branches import BRANCH, feature_tip, tree_of, void
from tests.e2e.features import FEATURE

_HOUR = 3600.0


def _git_dir(yard: Yard, task: str) -> Path:
    tree = yard.root if task == "main" else tree_of(yard, task)
    return Path(yard.git("rev-parse", "--absolute-git-dir", cwd=tree))


def _stale(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (time.time() - _HOUR, time.time() - _HOUR))


def _lock(name: str, place: str = "") -> Act:
    """A lock file that a git which died has left."""
    return lambda yard, task: _stale(_git_dir(yard, place or task) / name)


def _unlock(name: str, place: str = "") -> Act:
    def act(yard: Yard, task: str) -> None:
        try:
            (_git_dir(yard, place or task) / name).unlink(missing_ok=True)
        except NotNow:
            pass

    return act


def _lock_branch(yard: Yard, task: str) -> None:
    _stale(_git_dir(yard, "main") / f"refs/heads/{yard.branch(task)}.lock")


def _unlock_branch(yard: Yard, task: str) -> None:
    (_git_dir(yard, "main") / f"refs/heads/{yard.branch(task)}.lock").unlink(missing_ok=True)


def _git(*words: str) -> Act:
    return lambda yard, _: void(yard.git(*words))


def _gc(yard: Yard, _: str) -> None:
    yard.git("reflog", "expire", "--expire=now", "--all")
    yard.git("gc", "--quiet", "--prune=now")


def _settings(**values: str) -> Act:
    def act(yard: Yard, _: str) -> None:
        for name, value in values.items():
            yard.git("config", name.replace("_", "."), value)

    return act


def _no_settings(*names: str) -> Act:
    def act(yard: Yard, _: str) -> None:
        for name in names:
            yard.git("config", "--unset", name.replace("_", "."))

    return act


def _hook(name: str) -> Act:
    def act(yard: Yard, _: str) -> None:
        path = yard.root / ".git" / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\nexit 1\n")
        path.chmod(0o755)

    return act


def _no_hook(name: str) -> Act:
    return lambda yard, _: (yard.root / ".git" / "hooks" / name).unlink()


def _rename(yard: Yard, _: str) -> None:
    yard.move(yard.root.with_name("renamed"))


def _move_back(yard: Yard, _: str) -> None:
    yard.move(yard.first_root)


def _there_and_back(yard: Yard, _: str) -> None:
    yard.move(yard.root.with_name("renamed"))
    yard.move(yard.first_root)


def _edit_plan(yard: Yard, _: str) -> None:
    if not yard.shop.events("plan.created"):
        raise NotNow("what is not begun yet is begun with the plan as it is then")
    (yard.machine.home / f"{FEATURE}.toml").write_text('feature = "other"\n')


def _delete_team(yard: Yard, _: str) -> None:
    (yard.machine.home / ".claude" / "teams" / FEATURE / "config.json").unlink(missing_ok=True)


def _future(yard: Yard, _: str) -> None:
    """As with a clock that was put back."""
    later = time.time() + 24 * _HOUR
    for folder in (yard.root / ".claude", yard.root / ".git", yard.trees, Path(yard.machine.places.state)):
        for path in [folder, *folder.rglob("*")]:
            try:
                os.utime(path, (later, later), follow_symlinks=False)
            except FileNotFoundError:
                pass


def _other_branch(yard: Yard, _: str) -> None:
    yard.git("switch", "-q", "-c", "own")
    (yard.root / "own.txt").write_text("dirty\n")
    yard.git("add", "own.txt")


def _back_to_main(yard: Yard, _: str) -> None:
    yard.git("rm", "-q", "--cached", "own.txt")
    (yard.root / "own.txt").unlink()
    yard.git("switch", "-q", "main")


def _same_file(yard: Yard, task: str) -> None:
    (yard.root / f"{task}.txt").write_text("the user's own\n")


def _no_same_file(yard: Yard, task: str) -> None:
    (yard.root / f"{task}.txt").unlink()


def _stash(yard: Yard, _: str) -> None:
    yard.git("stash", "push", "-q")


def _unstash(yard: Yard, _: str) -> None:
    yard.git("stash", "pop", "-q")


def _commit_on_main(yard: Yard, _: str) -> None:
    feature_tip(yard)  # what is committed before the feature begins is in it
    yard.git("commit", "-q", "-am", "the user goes on")


_LOCKED = (r"\.lock",)
_STALE = Allows(says=_LOCKED, asks=_LOCKED, leaves=True)
PLACES: tuple[Meddling, ...] = (
    Meddling("a stale index lock in a task's worktree", _lock("index.lock"), undo=_unlock("index.lock"), allows=_STALE),
    Meddling(
        "a stale index lock in the integration worktree",
        _lock("index.lock", ".integration"),
        undo=_unlock("index.lock", ".integration"),
        allows=_STALE,
    ),
    Meddling(
        "a stale index lock in the user's checkout", _lock("index.lock", "main"), undo=_unlock("index.lock", "main")
    ),
    Meddling("a stale HEAD lock in a task's worktree", _lock("HEAD.lock"), undo=_unlock("HEAD.lock"), allows=_STALE),
    Meddling(
        "a stale lock of the feature's branch",
        _lock(f"refs/heads/{BRANCH}.lock", "main"),
        undo=_unlock(f"refs/heads/{BRANCH}.lock", "main"),
        allows=_STALE,
    ),
    Meddling("a stale lock of a task's branch", _lock_branch, undo=_unlock_branch, allows=_STALE),
    Meddling(
        "a stale lock of the packed refs",
        _lock("packed-refs.lock", "main"),
        undo=_unlock("packed-refs.lock", "main"),
        allows=_STALE,
    ),
    Meddling(
        "a stale lock of the packed refs while it works",
        _lock("packed-refs.lock", "main"),
        down=False,
        undo=_unlock("packed-refs.lock", "main"),
        allows=_STALE,
    ),
    Meddling("refs are packed while it works", _git("pack-refs", "--all", "--prune"), down=False),
    Meddling("everything unreachable is pruned while it works", _gc, down=False),
    Meddling("everything unreachable is pruned", _gc, "held"),
    Meddling("a repack while it works", _git("repack", "-adq"), "held", down=False),
    Meddling("worktrees are pruned", _git("worktree", "prune", "--expire=now")),
    Meddling("a pre-commit hook that fails", _hook("pre-commit"), undo=_no_hook("pre-commit")),
    Meddling(
        "a post-checkout hook that fails", _hook("post-checkout"), "held", down=False, undo=_no_hook("post-checkout")
    ),
    Meddling(
        "a reference-transaction hook that fails",
        _hook("reference-transaction"),
        "held",
        undo=_no_hook("reference-transaction"),
        allows=Allows(asks=("hook",), leaves=True),
    ),
    Meddling(
        "commits are to be signed",
        _settings(commit_gpgsign="true", gpg_program="/nowhere/gpg"),
        undo=_no_settings("commit_gpgsign", "gpg_program"),
    ),
    Meddling("the repository is renamed", _rename, undo=_move_back, answers=(("--trust",),)),
    Meddling("the repository is renamed and named back", _there_and_back),
    Meddling("the repository is renamed before a merge", _rename, "held", undo=_move_back, answers=(("--trust",),)),
    Meddling("the plan file is edited", _edit_plan),
    Meddling("the team file is deleted", _delete_team),
    Meddling("times in the future", _future),
    Meddling("the user works on another branch", _other_branch, down=False, undo=_back_to_main),
    Meddling("the user commits on the base", _commit_on_main, "held", down=False),
    Meddling("the user has a file that a task adds", _same_file, "held", down=False, undo=_no_same_file),
    Meddling("the user stashes", _stash, undo=_unstash),
    Meddling(
        "odd settings of merges",
        _settings(merge_ff="only", merge_conflictStyle="zdiff3", branch_autoSetupMerge="always", core_autocrlf="input"),
        "held",
        undo=_no_settings("merge_ff", "merge_conflictStyle", "branch_autoSetupMerge", "core_autocrlf"),
    ),
)
