"""The merge in progress in the integration worktree, or one that somebody committed there. Changes nothing."""

from __future__ import annotations

import os

from rekindle.adapters.feature_git.place import DURABLE, FeaturePlace
from rekindle.adapters.git import withheld
from rekindle.adapters.git.git import Git
from rekindle.adapters.snapshots.changes import differing
from rekindle.core.feature import naming
from rekindle.core.feature.evidence import Merging

_MARKERS = (b"<<<<<<< ", b">>>>>>> ")


def merging(place: FeaturePlace, target: str | None) -> Merging | None:
    """The merge onto the feature's tip; None also if what is there is onto another commit."""
    if target is None or not os.path.isdir(place.integration) or not place.is_sound(place.integration):
        return None
    git = place.at(place.integration)
    head, other = place.head(place.integration), place.merge_head(place.integration)
    if head is None or (other is None and head == target):
        return None
    if other is None:
        return None if is_ours(place, head) else _committed(git, head, target, place.integration)
    if head != target or _is_only_begun(git):
        return None
    conflicts = tuple(name for name, resolved in unmerged(git) if not resolved)
    return Merging(other, conflicts, path=place.integration)


def is_ours(place: FeaturePlace, commit: str) -> bool:
    """Whether a commit is a merge of ours, or in one, wherever the feature's branch is now: nobody resolved that."""
    word = naming.branch_word(place.feature)
    refs = (naming.merged_ref(place.feature), f"refs/rekindle/done/{word}")
    return bool(place.git.output("for-each-ref", "--count=1", "--contains", commit, *refs))


def _is_only_begun(git: Git) -> bool:
    """Whether a merge failed early: git stopped before its index had anything of it, for example because of a lock.

    Committing that would record a merge that has none of the work.
    """
    if git.output("ls-files", "--unmerged", "-z") or git.output("ls-files", "--resolve-undo", "-z"):
        return False
    return git.run("diff", "--cached", "--quiet", "HEAD").returncode == 0


def _committed(git: Git, head: str, target: str, path: str) -> Merging | None:
    """A merge that was committed, perhaps with more commits behind it. Conflict markers in it are not a resolution."""
    told = git.output("rev-list", "--first-parent", "--parents", head, f"^{target}").decode().splitlines()
    chain = [line.split() for line in reversed(told)]
    if not chain or chain[0][1:2] != [target]:
        return None
    tip = next((parents[1] for _, *parents in chain if len(parents) == 2), None)
    return Merging(tip, _marked(git, head, target, tip), head, path) if tip is not None else None


def _marked(git: Git, head: str, target: str, tip: str) -> tuple[str, ...]:
    """The files of a merge that differ from both sides and have conflict markers that neither side has."""
    both = sorted(os.fsdecode(path) for path in differing(git, target, head) & differing(git, tip, head))
    if not both:
        return ()
    known = _with_markers(git, target, both) | _with_markers(git, tip, both)
    return tuple(sorted(_with_markers(git, head, both) - known))


def _with_markers(git: Git, commit: str, names: list[str]) -> set[str]:
    done = git.run("grep", "-l", "-z", "-I", "-E", "-e", "^(<<<<<<<|>>>>>>>) ", commit, "--", *names)
    told = done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]
    return {name.removeprefix(f"{commit}:") for name in told}


def unmerged(git: Git) -> list[tuple[str, bool]]:
    """The files that a merge left to somebody, and whether that was done although nobody told git.

    A file is done if both sides have it, it has no conflict marker, and it is not simply our side's.
    """
    stages: dict[str, dict[str, str]] = {}
    for entry in git.output("ls-files", "--unmerged", "-z").decode("utf-8", "surrogateescape").split("\0"):
        about, _, name = entry.partition("\t")
        if name:
            _, blob, stage = about.split(" ")
            stages.setdefault(name, {})[stage] = blob
    return [(name, _is_resolved(git, name, blobs)) for name, blobs in stages.items()]


def _is_resolved(git: Git, name: str, blobs: dict[str, str]) -> bool:
    path = os.path.join(git.folder, name)
    if not {"2", "3"} <= blobs.keys() or not os.path.isfile(path):
        return False
    if withheld.held(git, [os.fsencode(name)]):
        return False
    with open(path, "rb") as file:
        marked = any(line.startswith(_MARKERS) for line in file)
    return not marked and git.line("hash-object", "--", name) != blobs["2"]


def settle_index(git: Git) -> None:
    """Stage what somebody resolved or changed for the merge in the files alone.

    What they have staged themselves stays as they staged it, whatever the file says now.
    """
    undone = git.output("ls-files", "--resolve-undo", "-z").decode("utf-8", "surrogateescape").split("\0")
    staged = {entry.partition("\t")[2] for entry in undone}
    changed = git.output("diff-files", "-z", "--name-only").decode("utf-8", "surrogateescape").split("\0")
    names = [os.fsencode(name) for name in dict.fromkeys(changed) if name and name not in staged]
    held = withheld.held(git, names)
    wanted = [name for name in names if name not in held]
    if wanted:
        git.output(*DURABLE, "add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul", stdin=b"\0".join(wanted))
