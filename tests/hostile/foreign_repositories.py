"""Hostile repositories: those of somebody else, and those whose git files lead to another one."""

from __future__ import annotations

import os
import shutil

from tests.hostile.repositories import PROGRESS
from tests.hostile.stage import FEATURE, Scene, Stage, hostile

# --- repositories of somebody else ---

#: Nobody's number on most systems; any but our own will do.
SOMEBODY = 65534


def _give_away(path: str) -> None:
    for folder, _, names in os.walk(path):
        os.chown(folder, SOMEBODY, SOMEBODY)
        for name in names:
            os.chown(os.path.join(folder, name), SOMEBODY, SOMEBODY, follow_symlinks=False)


@hostile
def a_repository_of_somebody_else(stage: Stage) -> Scene:
    stage.put_orders(stage.init() / PROGRESS)
    _give_away(str(stage.repo))
    return Scene(stage.repo)


@hostile
def a_trap_in_a_shared_parent_folder(stage: Stage) -> Scene:
    """Somebody made a repository above the folder that the user works in, with a link to the user's files."""
    git = stage.repo / ".git"
    (git / "info").mkdir(parents=True)
    (git / "HEAD").write_text(f"ref: refs/heads/feature/{FEATURE}\n")
    (git / "info" / "exclude").symlink_to(stage.machine.home / ".bashrc")
    stage.settings(progress_dir=f"a\n{stage.canary('bashrc')} #\nb")
    _give_away(str(stage.repo))
    mine = stage.repo / "mine"
    mine.mkdir()
    return Scene(mine)


@hostile
def a_git_folder_of_somebody_else_in_a_folder_of_ours(stage: Stage) -> Scene:
    stage.put_orders(stage.init() / PROGRESS)
    _give_away(str(stage.repo / ".git"))
    return Scene(stage.repo)


@hostile
def settings_of_somebody_else_in_a_repository_of_ours(stage: Stage) -> Scene:
    stage.init()
    stage.settings(progress_dir="shared")
    os.chown(stage.repo / ".rekindle.toml", SOMEBODY, SOMEBODY)
    stage.put_orders(stage.repo / "shared")
    return Scene(stage.repo)


@hostile
def a_worktree_of_a_repository_of_somebody_else(stage: Stage) -> Scene:
    """The worktree is ours; the main checkout, where settings and journals are, is not."""
    stage.put_orders(stage.init("main") / PROGRESS)
    tree = stage.folder / "tree"
    stage.git("worktree", "add", "-q", "-b", f"feature/{FEATURE}", str(tree))
    stage.settings(progress_dir=".claude/progress")
    _give_away(str(stage.repo))
    return Scene(tree)


@hostile
def a_git_file_that_points_to_somebody_else(stage: Stage) -> Scene:
    stage.put_orders(stage.init() / PROGRESS)
    place = stage.folder / "theirs"
    shutil.move(stage.repo / ".git", place)
    (stage.repo / ".git").write_text(f"gitdir: {place}\n")
    _give_away(str(place))
    return Scene(stage.repo)


@hostile
def a_common_folder_of_somebody_else(stage: Stage) -> Scene:
    theirs = stage.folder / "theirs"
    stage.init()
    stage.put_orders(stage.repo / PROGRESS)
    shutil.move(stage.repo, theirs)
    _give_away(str(theirs))
    own = stage.repo / ".git-own"
    own.mkdir(parents=True)
    (own / "HEAD").write_text(f"ref: refs/heads/feature/{FEATURE}\n")
    (own / "commondir").write_text(f"{theirs}/.git\n")
    (own / "gitdir").write_text(f"{stage.repo}/.git\n")
    (stage.repo / ".git").write_text("gitdir: .git-own\n")
    return Scene(stage.repo)


@hostile
def variables_that_name_a_repository_of_somebody_else(stage: Stage) -> Scene:
    """git itself asks no questions when GIT_DIR is set."""
    stage.put_orders(stage.init() / PROGRESS)
    _give_away(str(stage.repo))
    variables = {"GIT_DIR": str(stage.repo / ".git"), "GIT_WORK_TREE": str(stage.repo)}
    return Scene(stage.outside, env=variables)


# --- git's own layout ---


@hostile
def a_common_folder_that_leads_to_another_repository(stage: Stage) -> Scene:
    """The worktree claims to belong to a repository of the user's: its journals must not be worked for it."""
    mine = stage.outside / "mine"
    mine.mkdir()
    stage.git("init", "-q", "-b", "main", cwd=mine)
    own = stage.repo / "own"
    own.mkdir()
    (own / "HEAD").write_text(f"ref: refs/heads/feature/{FEATURE}\n")
    (own / "commondir").write_text(f"{mine}/.git\n")
    (own / "gitdir").write_text(f"{stage.repo}/.git\n")
    (stage.repo / ".git").write_text("gitdir: own\n")
    stage.put_orders(stage.repo / PROGRESS)
    return Scene(stage.repo)


@hostile
def a_work_tree_setting_that_leads_out(stage: Stage) -> Scene:
    stage.put_orders(stage.init() / PROGRESS)
    stage.git("config", "core.worktree", str(stage.outside))
    return Scene(stage.repo)


@hostile
def a_bare_repository_inside_of_the_files(stage: Stage) -> Scene:
    stage.init()
    inner = stage.repo / "fixture"
    stage.git("init", "-q", "--bare", str(inner))
    stage.put_orders(inner / PROGRESS)
    return Scene(inner)


@hostile
def a_git_folder_that_leads_to_another_repository(stage: Stage) -> Scene:
    """git follows such a link, and so its folder is written to; what lies beside it gives no orders all the same."""
    mine, theirs = stage.repo / "mine", stage.repo / "theirs"
    mine.mkdir()
    theirs.mkdir()
    stage.git("init", "-q", "-b", f"feature/{FEATURE}", cwd=mine)
    (theirs / ".git").symlink_to(mine / ".git")
    stage.put_orders(theirs / PROGRESS)
    return Scene(theirs)
