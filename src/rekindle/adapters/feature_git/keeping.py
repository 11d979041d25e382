"""Saves the state of our worktrees as commits under private refs, before anything is undone or cleaned."""

from __future__ import annotations

import hashlib
import os

from rekindle.adapters.feature_git.place import FeaturePlace
from rekindle.adapters.feature_git.under_way import is_ours
from rekindle.adapters.git import written_tree
from rekindle.adapters.git.git import Git
from rekindle.adapters.git.new_objects import make_durable, named_since
from rekindle.adapters.snapshots.changes import differing
from rekindle.core.feature import naming
from rekindle.core.session_worktree import listed
from rekindle.ports.errors import FeatureBlocked, GitFailed

_NO_LIMIT = 1 << 62
_SHOWN = 5
#: What `git clean` does not remove either.
_STAYS = "a repository without a commit"


def keep(place: FeaturePlace, path: str, target: str, label: str, why: str) -> str | None:
    """Keep what a worktree has and the commit `target` lacks, including conflict markers; report it once.

    Returns the ref, None if there is nothing to keep. Ignored files do not count. Raises FeatureBlocked for a file
    that git cannot add: it must not be cleaned away.
    """
    git = place.at(path)
    head = git.line("rev-parse", "HEAD") or target
    other = git.line("rev-parse", "--quiet", "--verify", "MERGE_HEAD")
    tree = _written(git, path, whole=True)
    staged = _staged(place, git, head, tree)
    if tree == git.line("rev-parse", f"{head}^{{tree}}") and staged is None:
        if place.is_ancestor(head, target) or is_ours(place, head):
            return None
        ref, kept = naming.kept_ref(place.feature, label, head[:12]), head
    else:
        beside = [one for one in (other, staged) if one is not None]
        kept = place.commit_tree(tree, (head, *beside), f"What was in {path}\n\n{why}\n")
        ref = naming.kept_ref(place.feature, label, _word_of(place, tree, (head, *beside)))
        _make_durable(place, git, head, tree, kept)
    known = place.git.output("for-each-ref", "--format=%(refname)", f"refs/rekindle/kept/{_word(place)}")
    if not any(name.endswith(f"/{ref.rpartition('/')[2]}") for name in known.decode().splitlines()):
        place.put_ref(ref, kept)
        place.tell(f"{why}: {_files(git, target, kept)} is kept as {ref}")
    return ref


def saved(place: FeaturePlace, path: str, message: str, *, whole: bool = False) -> str | None:
    """A commit of a worktree as it is, on top of its HEAD; None if nothing is in it that HEAD has not. Moves no ref.

    It may lack files that git cannot take in; to be `whole`, it raises FeatureBlocked for them.
    """
    git = place.at(path)
    head = git.line("rev-parse", "HEAD")
    if head is None:
        raise GitFailed(f"{path} has no commit checked out", "see what `git status` says there")
    tree = _written(git, path, whole=whole)
    if tree == git.line("rev-parse", f"{head}^{{tree}}"):
        return None
    commit = place.commit_tree(tree, (head,), message)
    _make_durable(place, git, head, tree, commit)
    return commit


def _make_durable(place: FeaturePlace, git: Git, head: str, tree: str, commit: str) -> None:
    make_durable(os.path.join(place.common, "objects"), [*named_since(git, head, tree), commit])


def _word_of(place: FeaturePlace, tree: str, parents: tuple[str, ...]) -> str:
    """The same state gets the same name, so it is kept and reported once: its tree and its parent."""
    trees = [place.git.line("rev-parse", f"{one}^{{tree}}") or one for one in parents[2:]]
    return hashlib.sha256("\0".join((tree, *parents[:2], *trees)).encode()).hexdigest()[:12]


def _word(place: FeaturePlace) -> str:
    return naming.branch_word(place.feature)


def _written(git: Git, path: str, *, whole: bool) -> str:
    """The worktree as a tree; to be `whole`, it must lack nothing that the worktree has."""
    found = written_tree.find(path)
    if found is None:
        raise GitFailed(f"git does not find the worktree {path}", "see what `git status` says there")
    tree = written_tree.write(found, "kept", _NO_LIMIT, None)
    lost = [one for one in tree.left_out if whole and one.why != _STAYS and not _is_unchanged(git, one.path)]
    if lost:
        names = "; ".join(f"{os.fsdecode(one.path)}: {one.why}" for one in lost[:_SHOWN])
        raise FeatureBlocked(f"{path} has files that cannot be kept ({names})", "move them away, then resume")
    return tree.id


def _is_unchanged(git: Git, path: bytes) -> bool:
    return git.run("diff", "--quiet", "HEAD", "--", os.fsdecode(path)).returncode == 0 and (
        git.run("ls-files", "--error-unmatch", "--", os.fsdecode(path)).returncode == 0
    )


def _staged(place: FeaturePlace, git: Git, head: str, tree: str) -> str | None:
    """A commit of the index, if it differs from both the files and the last commit."""
    staged = git.line("write-tree")
    if staged is None or staged in (tree, git.line("rev-parse", f"{head}^{{tree}}")):
        return None
    return place.commit_tree(staged, (head,), f"What was staged in {git.folder}\n")


def _files(git: Git, target: str, kept: str) -> str:
    told = listed(differing(git, target, kept), _SHOWN)
    return f"its state ({', '.join(told)})" if told else "it"
