"""Git's evidence on a feature, gathered in a few calls. Changes nothing."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterator, Mapping

from rekindle.adapters.feature_git import leftovers, presence, strays
from rekindle.adapters.feature_git.homes import find_homes, obstacle
from rekindle.adapters.feature_git.place import FeaturePlace
from rekindle.adapters.feature_git.under_way import merging
from rekindle.adapters.git import withheld
from rekindle.adapters.git.git import Git
from rekindle.adapters.git.linked_worktrees import UNFINISHED, Registered, registered
from rekindle.core.feature import naming
from rekindle.core.feature.evidence import GitEvidence, WorkBranch, WorkTree
from rekindle.core.feature.progress import TaskProgress
from rekindle.ports.errors import FeatureBlocked

#: So many commits of a branch an agent that takes it over is told of.
_SUBJECTS = 12
_MOST_COMMITS = 2000


def is_unfinished(tree: Registered) -> bool:
    """Whether git was killed while it made this worktree: its files are no statement about anything."""
    return tree.locked == UNFINISHED


def existing(git: Git, branches: Collection[str]) -> dict[str, str]:
    """The commits of those of these branches that git has."""
    listed = _refs(git, *dict.fromkeys(f"refs/heads/{name}" for name in branches)) if branches else {}
    found = {ref.removeprefix("refs/heads/"): commit for ref, commit in listed.items()}
    return {name: commit for name, commit in found.items() if name in set(branches)}


def observe(place: FeaturePlace, tasks: Mapping[str, TaskProgress], recorded: Mapping[str, str]) -> GitEvidence:
    """Git's word on the feature and on its tasks, as the journal knows them; `recorded` are worktrees by branch."""
    git = place.git
    word = naming.branch_word(place.feature)
    branches = {name: one.branch for name, one in tasks.items()}
    patterns = (f"refs/heads/{place.branch}", *(f"refs/heads/{branch}" for branch in branches.values()))
    _refuse_other_names(git, patterns)
    heads = _refs(git, f"refs/heads/work/{word}", *patterns)
    folders = (f"refs/rekindle/{kind}/{word}" for kind in ("base", "done", "left"))
    private = _refs(git, *folders, naming.merged_ref(place.feature))
    trees = registered(git)
    tip = heads.pop(f"refs/heads/{place.branch}", None)
    last = private.get(naming.merged_ref(place.feature))
    base_of = {branch: private.get(naming.base_ref(place.feature, task)) for task, branch in branches.items()}
    there = {ref.removeprefix("refs/heads/") for ref in heads}
    homes = find_homes(place, branches, recorded, trees, there)
    at_home = {*homes.values()}
    ours = [tree for tree in trees[1:] if _is_inside(tree.path, place.trees) or os.path.realpath(tree.path) in at_home]
    elsewhere = {tree.branch: tree.path for tree in trees if tree.branch and tree not in ours}
    left = {branches[task]: commit for task in tasks if (commit := private.get(naming.left_ref(place.feature, task)))}
    seen = dict(_trees(place, ours, left))
    blocked = {
        task: why.message
        for task, branch in branches.items()
        if homes[task] not in seen and (why := obstacle(place, homes[task], branch, trees)) is not None
    }
    merges = presence.merges(place, tip, private.get(naming.base_ref(place.feature))) if tip is not None else {}
    known = filter(None, (tip, last, private.get(naming.base_ref(place.feature)), *base_of.values()))
    found = strays.observe(place, branches, homes, trees, seen, known)
    return GitEvidence(
        tip=tip,
        target=place.branch,
        elsewhere=next((tree.path for tree in trees if tree.branch == place.branch), None),
        branches={
            name: _branch(place, name, commit, tip, base_of.get(name), elsewhere.get(name))
            for ref, commit in heads.items()
            for name in [ref.removeprefix("refs/heads/")]
        },
        trees=seen,
        homes=homes,
        blocked=blocked,
        done=presence.done(place, tasks, private, merges, tip, last),
        copies=dict(_copies(ours, tasks)),
        checking=frozenset(
            task for task, branch in branches.items() if heads.get(f"refs/heads/{branch}") == left.get(branch, "")
        ),
        merging=merging(place, tip),
        last_merge=last,
        rewritten=bool(tip and last and not place.is_ancestor(last, tip)),
        strays=found.strays,
        away=found.away,
        fallen={**_passed(place, tasks, there), **found.fallen},
    )


def _refs(git: Git, *patterns: str) -> dict[str, str]:
    """The commits of refs. One that is only another name of a ref is none: it says nothing, and moves by itself."""
    listed = git.output("for-each-ref", "--format=%(objectname) %(refname) %(symref)", *patterns)
    lines = (line.split(" ") for line in listed.decode("utf-8", "surrogateescape").splitlines())
    return {name: commit for commit, name, other in lines if not other}


def _refuse_other_names(git: Git, refs: Collection[str]) -> None:
    """Commits on a branch that is only another name of a second one would move that: the user's own, perhaps."""
    listed = git.output("for-each-ref", "--format=%(refname) %(symref)", *refs).decode("utf-8", "surrogateescape")
    for ref, _, other in (line.partition(" ") for line in listed.splitlines()):
        if other and ref in refs:
            raise FeatureBlocked(
                f"{ref.removeprefix('refs/heads/')} is only another name of {other}: work on it would change that",
                f"take it away (git symbolic-ref --delete {shlex.quote(ref)}), then resume the feature",
            )


def _branch(
    place: FeaturePlace, name: str, commit: str, tip: str | None, base: str | None, elsewhere: str | None
) -> WorkBranch:
    """A branch, with how much work is on it. One that never left where it began has none, merged or not."""
    if tip is None:
        return WorkBranch(name, commit, *_work(place.git, base, commit), elsewhere=elsewhere)
    merged = place.is_ancestor(commit, tip)
    if base is not None and place.is_ancestor(base, commit):
        return WorkBranch(name, commit, *_work(place.git, base, commit), merged, elsewhere)
    if not merged:
        return WorkBranch(name, commit, *_work(place.git, tip, commit), elsewhere=elsewhere)
    first_parents = place.git.output("rev-list", "--first-parent", f"--max-count={_MOST_COMMITS}", tip).split()
    is_work = commit.encode() not in first_parents
    return WorkBranch(name, commit, int(is_work), (), merged, elsewhere)


def _work(git: Git, start: str | None, end: str) -> tuple[int, tuple[str, ...]]:
    """How many commits there are, and what the newest of them are about."""
    since = [f"^{start}"] if start is not None else []
    told = git.output("log", f"--max-count={_MOST_COMMITS}", "--format=%h %s", end, *since).decode("utf-8", "replace")
    lines = told.splitlines()
    return len(lines), tuple(lines[:_SUBJECTS])


def _passed(place: FeaturePlace, tasks: Mapping[str, TaskProgress], there: Collection[str]) -> dict[str, str]:
    """The commits that had passed of tasks whose branches are gone, as far as git has them."""
    wanted = {
        task: one.qa.commit
        for task, one in tasks.items()
        if one.branch not in there and not (one.merged or one.unchanged)
        if one.qa is not None and one.qa.result == "passed"
    }
    return {
        task: commit
        for task, commit in wanted.items()
        if commit is not None and place.git.run("cat-file", "-e", f"{commit}^{{commit}}").returncode == 0
    }


def _copies(ours: list[Registered], tasks: Mapping[str, TaskProgress]) -> Iterator[tuple[str, str]]:
    """The commits that reviewers have before them."""
    heads = {os.path.basename(tree.path): tree.head for tree in ours if not is_unfinished(tree)}
    for task in tasks:
        head = heads.get(naming.copy_folder(task))
        if head is not None:
            yield task, head


def _trees(place: FeaturePlace, ours: list[Registered], left: Mapping[str, str]) -> Iterator[tuple[str, WorkTree]]:
    for tree in ours:
        name = os.path.basename(tree.path)
        if is_unfinished(tree) or name == naming.INTEGRATION or name.startswith(naming.COPY):
            continue
        if os.path.isdir(tree.path) and place.is_sound(tree.path):
            behind = left.get(tree.branch or "")
            theirs = leftovers.untouched(place, tree.path, behind) if behind and behind != tree.head else frozenset()
            changes, conflicts, withheld_ = _changes(place.at(tree.path), theirs)
            yield tree.path, WorkTree(tree.path, tree.branch, changes, tree.locked is not None, conflicts, withheld_)


_UNMERGED = ("DD", "AU", "UD", "UA", "DU", "AA", "UU")


def _changes(tree: Git, left: frozenset[bytes]) -> tuple[bool, tuple[str, ...], bool]:
    """Whether there is something to commit, the files of a merge that are not resolved, and what cannot be committed.

    What was changed inside a submodule cannot be committed here, nor a file without the filter that it needs. What
    checks have `left` is nobody's work.
    """
    each = bool(tree.policy().filters) or bool(left)
    words = ("status", "--porcelain", "-z", "--no-renames", f"--untracked-files={'all' if each else 'normal'}")
    entries = [entry for entry in tree.output(*words).split(b"\0") if entry]
    held = withheld.held(tree, [entry[3:] for entry in entries])
    unmerged = (entry[3:].decode("utf-8", "replace") for entry in entries if entry[:2].decode() in _UNMERGED)
    is_changed = any(entry[3:] not in held and entry[3:] not in left for entry in entries)
    return is_changed, tuple(unmerged), bool(held.keys() - left) or _has_filled_submodule(tree)


def _has_filled_submodule(tree: Git) -> bool:
    """Whether somebody has filled a submodule: what is changed in it, and not committed there, shows nowhere else."""
    if not os.path.lexists(os.path.join(tree.folder, ".gitmodules")):
        return False
    listed = os.fsdecode(tree.output("ls-files", "--stage", "-z")).split("\0")
    inner = (os.path.join(tree.folder, entry.partition("\t")[2]) for entry in listed if entry.startswith("160000 "))
    return any(os.path.isdir(one) and os.listdir(one) for one in inner)


def is_dirty(tree: Git) -> bool:
    """Whether something in a worktree is in no commit (what git ignores does not count)."""
    return bool(tree.output("status", "--porcelain", "-z", "--untracked-files=normal"))


def _is_inside(path: str, folder: str) -> bool:
    return os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep)
