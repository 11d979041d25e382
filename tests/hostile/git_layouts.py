"""Hostile repositories that git reads in another way than one would think: which configuration counts, and where."""

from __future__ import annotations

from tests.hostile.git_repositories import FILTER, baited, configure
from tests.hostile.stage import Scene, Stage, hostile


def _append(stage: Stage, text: str, file: str = ".git/config") -> None:
    with (stage.repo / file).open("a") as config:
        config.write(text)


@hostile
def a_filter_for_worktrees_alone(stage: Stage) -> Scene:
    """The checkout does not see the definition; a worktree that is made there does."""
    baited(stage)
    configure(stage, FILTER, "config-of-the-team")
    _append(stage, '[includeIf "gitdir:**/worktrees/**"]\n\tpath = ../config-of-the-team\n')
    return Scene(stage.repo)


@hostile
def a_filter_for_one_branch_alone(stage: Stage) -> Scene:
    baited(stage)
    configure(stage, FILTER, "config-of-the-team")
    _append(stage, '[includeIf "onbranch:rekindle/**"]\n\tpath = ../config-of-the-team\n')
    return Scene(stage.repo)


@hostile
def a_git_file_of_two_lines(stage: Stage) -> Scene:
    """To git the line break belongs to the path."""
    baited(stage)
    configure(stage, FILTER)
    (stage.repo / ".git").rename(stage.repo / "a\nb")
    stage.git("init", "-q", "--bare", "a")
    (stage.repo / ".git").write_text("gitdir: a\nb\n")
    return Scene(stage.repo)


@hostile
def a_bare_repository_whose_head_is_a_dangling_link(stage: Stage) -> Scene:
    baited(stage)
    sub = stage.repo / "sub"
    stage.git("init", "-q", "--bare", str(sub))
    (sub / "HEAD").unlink()
    (sub / "HEAD").symlink_to("refs/heads/none")
    (sub / ".gitattributes").write_text("* filter=bait\n")
    configure(stage, {"core.bare": "false", "core.worktree": ".", **FILTER}, "sub/config")
    (sub / "a.txt").write_text("a\n")
    return Scene(sub)


@hostile
def a_work_tree_elsewhere_behind_a_tab(stage: Stage) -> Scene:
    baited(stage, "")
    _append(stage, f"[core]\n\tworktree\t= {stage.outside}\n")
    return Scene(stage.repo)


@hostile
def a_work_tree_elsewhere_in_the_configuration_of_a_worktree(stage: Stage) -> Scene:
    baited(stage, "")
    configure(stage, {"extensions.worktreeConfig": "true"})
    (stage.repo / ".git" / "config.worktree").write_text(f"[core]\n\tworktree = {stage.outside}\n")
    return Scene(stage.repo)


@hostile
def a_work_tree_elsewhere_behind_a_long_comment(stage: Stage) -> Scene:
    baited(stage, "")
    _append(stage, f"# {'x' * (1 << 20)}\n[core]\n\tworktree = {stage.outside}\n")
    return Scene(stage.repo)


@hostile
def a_folder_of_rekindles_in_git_that_leads_out(stage: Stage) -> Scene:
    baited(stage, "")
    (stage.repo / ".git" / "rekindle").symlink_to(stage.outside)
    return Scene(stage.repo)


@hostile
def zero_bytes_in_what_leads_to_git(stage: Stage) -> Scene:
    baited(stage, "")
    (stage.repo / ".git" / "commondir").write_bytes(b".\0x\n")
    return Scene(stage.repo)


@hostile
def a_zero_byte_in_a_git_file(stage: Stage) -> Scene:
    baited(stage, "")
    (stage.repo / ".git").rename(stage.repo / "a")
    (stage.repo / ".git").write_bytes(b"gitdir: a\0b\n")
    return Scene(stage.repo)
