"""Meddling with the feature's branch, the branches of tasks, and their worktrees."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from tests.crash.feature_verdict import Allows
from tests.crash.feature_yard import Yard
from tests.crash.meddling import Act, Meddling, NotNow
from tests.e2e.features import FEATURE

BRANCH = f"feature/{FEATURE}"
HAND = {"hand.txt": "by hand"}


def tree_of(yard: Yard, task: str) -> Path:
    """A task's worktree."""
    if not (yard.trees / task / ".git").exists():
        raise NotNow(f"{task} has no worktree")
    return yard.trees / task


def work_tip(yard: Yard, task: str) -> str:
    """The newest commit of a task's branch."""
    if not (found := yard.tip(f"refs/heads/{yard.branch(task)}")):
        raise NotNow(f"{task} has no branch")
    return found


def feature_tip(yard: Yard) -> str:
    """The newest commit of the feature."""
    if not (found := yard.tip(f"refs/heads/{BRANCH}")):
        raise NotNow("there is no feature branch")
    return found


def apart(yard: Yard, commit: str, work: Callable[[Path], None]) -> str:
    """What somebody does in a worktree of their own, with nothing checked out by name; the commit that it leads to."""
    place = yard.machine.home / "apart"
    yard.git("worktree", "add", "-q", "--detach", str(place), commit)
    try:
        work(place)
        return yard.git("rev-parse", "HEAD", cwd=place)
    finally:
        yard.git("worktree", "remove", "--force", str(place))


def _commit_file(yard: Yard, name: str = "hand.txt", text: str = "by hand\n") -> Callable[[Path], None]:
    def work(place: Path) -> None:
        (place / name).write_text(text)
        yard.git("add", "-A", cwd=place)
        yard.git("commit", "-q", "-m", f"{name}, by hand", cwd=place)

    return work


def _set_feature(yard: Yard, new: str) -> None:
    yard.git("update-ref", "-m", "by hand", f"refs/heads/{BRANCH}", new)


def _commit_on_feature(yard: Yard, _: str) -> None:
    tip = feature_tip(yard)
    yard.git("update-ref", f"refs/heads/{BRANCH}", apart(yard, tip, _commit_file(yard)), tip)


def _push_work(yard: Yard, task: str) -> None:
    if not yard.git("rev-list", f"{feature_tip(yard)}..{work_tip(yard, task)}"):
        raise NotNow("nothing to push")
    yard.git("push", "-q", ".", f"{work_tip(yard, task)}:refs/heads/{BRANCH}")


def _reset_by_one(yard: Yard, _: str) -> None:
    if feature_tip(yard) == yard.tip("main"):
        raise NotNow("nothing is merged")
    _set_feature(yard, yard.tip(f"{BRANCH}^1"))


def _reset_to_base(yard: Yard, _: str) -> None:
    feature_tip(yard)
    _set_feature(yard, yard.tip("main"))


def _rebase(yard: Yard, _: str) -> None:
    onto = apart(yard, "main", _commit_file(yard, "upstream.txt", "new\n"))
    tip = feature_tip(yard)
    _set_feature(
        yard, apart(yard, tip, lambda at: void(yard.git("rebase", "-q", "-r", "--onto", onto, "main", cwd=at)))
    )


def _squash(yard: Yard, _: str) -> None:
    feature_tip(yard)
    _set_feature(yard, yard.git("commit-tree", "-m", "squashed", "-p", "main", f"{BRANCH}^{{tree}}"))


def _delete_feature(yard: Yard, _: str) -> None:
    feature_tip(yard)
    yard.git("update-ref", "-d", f"refs/heads/{BRANCH}")


def _rename_feature(yard: Yard, _: str) -> None:
    feature_tip(yard)
    yard.git("branch", "-m", BRANCH, "feature/renamed")


def _name_feature_back(yard: Yard, _: str) -> None:
    if not yard.tip(f"refs/heads/{BRANCH}"):
        yard.git("branch", "-m", "feature/renamed", BRANCH)


def _check_out_feature(yard: Yard, _: str) -> None:
    feature_tip(yard)
    yard.git("worktree", "add", "-q", str(yard.machine.home / "mine"), BRANCH)


def _let_feature_go(yard: Yard, _: str) -> None:
    yard.git("switch", "-q", "--detach", cwd=yard.machine.home / "mine")
    yard.git("worktree", "remove", "--force", str(yard.machine.home / "mine"))


def _commit_in_worktree(yard: Yard, task: str) -> None:
    _commit_file(yard)(tree_of(yard, task))


def _delete_work(yard: Yard, task: str) -> None:
    work_tip(yard, task)
    yard.git("update-ref", "-d", f"refs/heads/{yard.branch(task)}")


def _rename_work(yard: Yard, task: str) -> None:
    work_tip(yard, task)
    yard.git("branch", "-m", yard.branch(task), f"mine/{task}")


def _name_work_back(yard: Yard, task: str) -> None:
    if yard.tip(f"refs/heads/mine/{task}") and not yard.tip(f"refs/heads/{yard.branch(task)}"):
        yard.git("branch", "-m", f"mine/{task}", yard.branch(task))


def _reset_work(yard: Yard, task: str) -> None:
    yard.git("reset", "-q", "--hard", "main", cwd=tree_of(yard, task))


def _delete_tree(yard: Yard, task: str) -> None:
    shutil.rmtree(tree_of(yard, task))


def _move_away(yard: Yard, task: str) -> None:
    """What is left where a worktree was."""
    shutil.move(yard.trees / task, yard.machine.home / f"away-{task}")


def _delete_git_file(yard: Yard, task: str) -> None:
    (tree_of(yard, task) / ".git").unlink()


def _delete_integration(yard: Yard, _: str) -> None:
    shutil.rmtree(tree_of(yard, ".integration"))


def _dirty_integration(yard: Yard, _: str) -> None:
    (tree_of(yard, ".integration") / "readme.txt").write_text("somebody wrote here\n")


def _lock(yard: Yard, task: str) -> None:
    yard.git("worktree", "lock", "--reason", "mine", str(tree_of(yard, task)))


def _unlock(yard: Yard, task: str) -> None:
    yard.git("worktree", "unlock", str(tree_of(yard, task)))


def _move_tree(yard: Yard, task: str) -> None:
    yard.git("worktree", "move", str(tree_of(yard, task)), str(yard.machine.home / f"moved-{task}"))


def _move_tree_back(yard: Yard, task: str) -> None:
    if (yard.machine.home / f"moved-{task}").exists() and not (yard.trees / task).exists():
        yard.git("worktree", "move", str(yard.machine.home / f"moved-{task}"), str(yard.trees / task))


def _foreign_branch(yard: Yard, _: str) -> None:
    feature_tip(yard)  # before the feature begins, such a branch is earlier work, and a run refuses to begin
    yard.git("branch", f"work/{FEATURE}/x", "main")


def _delete_foreign_branch(yard: Yard, _: str) -> None:
    yard.git("branch", "-D", f"work/{FEATURE}/x")


def _foreign_tree(yard: Yard, _: str) -> None:
    yard.git("worktree", "add", "-q", "--detach", str(yard.trees / "other"), "main")


def _remove_foreign_tree(yard: Yard, _: str) -> None:
    yard.git("worktree", "remove", "--force", str(yard.trees / "other"))


def _in_the_way(yard: Yard, task: str) -> None:
    place = yard.trees / ("c" if task == "b" else task)
    if place.exists():
        raise NotNow("it is there already")
    place.mkdir(parents=True)
    (place / "mine.txt").write_text("the user's own\n")


def _out_of_the_way(yard: Yard, task: str) -> None:
    shutil.rmtree(yard.trees / ("c" if task == "b" else task))


def _merge(*how: str, delete: bool = False) -> Act:
    def act(yard: Yard, task: str) -> None:
        tip = work_tip(yard, task)
        if not yard.git("rev-list", f"{feature_tip(yard)}..{tip}"):
            raise NotNow("nothing to merge")

        def work(place: Path) -> None:
            yard.git("merge", "-q", *how, tip, cwd=place)
            if "--squash" in how:
                yard.git("commit", "-q", "-m", f"{task}, squashed by hand", cwd=place)

        _set_feature(yard, apart(yard, feature_tip(yard), work))
        if delete:
            yard.git("worktree", "remove", "--force", str(tree_of(yard, task)))
            yard.git("branch", "-D", yard.branch(task))

    return act


def void(_: str) -> None:
    """For a callback whose answer nobody needs."""


_REWRITTEN = (r"rewritten|reset|no longer|not in .* any more|is missing",)
_RESET = Allows(history="more", says=_REWRITTEN, again=True)
_STRAY = Allows(asks=(r"mine/\w+|renamed|not on|other branch|elsewhere|--take|its branch",), leaves=True, again=True)
_BY_HAND = Allows(history="other", merged_by_hand=True, says=(r"by hand|not ours|another hand|merged by|somebody",))
_LOST = Allows(again=True)

BRANCHES: tuple[Meddling, ...] = (
    Meddling("commit on the feature", _commit_on_feature, allows=Allows(HAND, history="more")),
    Meddling(
        "commit on the feature while it works", _commit_on_feature, down=False, allows=Allows(HAND, history="more")
    ),
    Meddling("commit on the feature before a merge", _commit_on_feature, "held", allows=Allows(HAND, history="more")),
    Meddling(
        "an agent's first commit is pushed to the feature while it works",
        _push_work,
        down=False,
        allows=Allows(history="more", says=(r"task c.*(by|not)|by somebody else",)),
    ),
    Meddling(
        "an agent's first commit is pushed to the feature",
        _push_work,
        allows=Allows(history="more", says=(r"task c.*(by|not)|by somebody else",)),
    ),
    Meddling("the feature is reset by one merge", _reset_by_one, allows=_RESET),
    Meddling("the feature is reset to its base", _reset_to_base, allows=_RESET),
    Meddling(
        "the feature is reset while it works",
        _reset_by_one,
        down=False,
        allows=_RESET,
    ),
    Meddling(
        "the feature is rebased onto new work",
        _rebase,
        # git does not call the old commits merged any more, so a branch that still has them is kept
        allows=Allows({"upstream.txt": "new"}, history="more", says=_REWRITTEN, merged_by_hand=True, leaves=True),
    ),
    Meddling(
        "the feature is squashed",
        _squash,
        allows=Allows(history="other", merged_by_hand=True, says=_REWRITTEN, asks=_REWRITTEN, again=True),
    ),
    Meddling("the feature's branch is deleted", _delete_feature),
    Meddling("the feature's branch is deleted while it works", _delete_feature, down=False),
    Meddling("the feature's branch is renamed", _rename_feature, undo=_name_feature_back),
    Meddling(
        "the feature's branch is checked out",
        _check_out_feature,
        undo=_let_feature_go,
        allows=Allows(asks=(r"is checked out in .*/mine",), must_ask=True, leaves=True),
    ),
    Meddling(
        "the feature's branch is checked out while it works",
        _check_out_feature,
        "held",
        down=False,
        undo=_let_feature_go,
        allows=Allows(asks=(r"is checked out in .*/mine",), must_ask=True, leaves=True),
    ),
    Meddling("a commit on a branch that has passed", _commit_in_worktree, "held", allows=Allows(HAND)),
    Meddling(
        "a commit on a branch that has passed, while it waits",
        _commit_in_worktree,
        "held",
        down=False,
        allows=Allows(HAND),
    ),
    Meddling("a commit on a branch under an agent", _commit_in_worktree, down=False, allows=Allows(HAND)),
    Meddling("a task's branch is deleted", _delete_work, allows=_LOST),
    Meddling("a task's branch is deleted while it works", _delete_work, down=False, allows=_LOST),
    Meddling("a passed task's branch is deleted", _delete_work, "held", allows=_LOST),
    Meddling("a task's branch is renamed", _rename_work, undo=_name_work_back, allows=_STRAY),
    Meddling(
        "a task's branch is renamed while it works", _rename_work, down=False, undo=_name_work_back, allows=_STRAY
    ),
    Meddling(
        "a task's branch is reset",
        _reset_work,
        allows=Allows(asks=("reset|gone|lost",), again=True, loses_commits=True),
    ),
    Meddling("a worktree is deleted", _delete_tree, allows=_LOST),
    Meddling(
        "a worktree is deleted while it works",
        _delete_tree,
        down=False,
        undo=_move_away,
        allows=Allows(asks=("somebody has removed the files of .*move it away",), again=True, leaves=True),
        undone=Allows(again=True, says=("what else the agent did there is in no commit and in no snapshot",)),
        answers=(("--choose", "A"),),
    ),
    Meddling("a worktree loses its .git", _delete_git_file),
    Meddling("a worktree loses its .git while it works", _delete_git_file, down=False),
    Meddling("the integration worktree is deleted", _delete_integration),
    Meddling("the integration worktree is written to", _dirty_integration),
    Meddling("a worktree is locked", _lock, undo=_unlock, allows=Allows(leaves=True, asks=(r"is locked",))),
    Meddling("a worktree is moved", _move_tree, undo=_move_tree_back, allows=Allows(asks=(r"moved-\w+",), leaves=True)),
    Meddling(
        "a branch of somebody else's",
        _foreign_branch,
        down=False,
        undo=_delete_foreign_branch,
        allows=Allows(leaves=True),
    ),
    Meddling("a worktree of somebody else's", _foreign_tree, undo=_remove_foreign_tree, allows=Allows(leaves=True)),
    Meddling(
        "a folder in the way of a worktree",
        _in_the_way,
        "held",
        undo=_out_of_the_way,
        allows=Allows(asks=(r"in the way",), leaves=True),
    ),
    Meddling("a passed branch is merged by hand", _merge("--no-ff"), "held", allows=_BY_HAND),
    Meddling("a passed branch is squashed by hand", _merge("--squash"), "held", allows=Allows(history="more")),
    Meddling("a passed branch is merged by hand and deleted", _merge("--no-ff", delete=True), "held", allows=_BY_HAND),
    Meddling(
        "half a task is merged by hand while it works",
        _merge("--no-ff"),
        down=False,
        allows=Allows(history="more", says=(r"task c",)),
    ),
)
