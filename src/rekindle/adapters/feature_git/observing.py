"""Git's evidence on a feature, gathered in a few calls. Changes nothing."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from rekindle.adapters.feature_git import leftovers, presence, strays
from rekindle.adapters.feature_git.homes import find_homes, is_removed, obstacle
from rekindle.adapters.feature_git.place import FeaturePlace
from rekindle.adapters.feature_git.seen_trees import Changes, TreeLook
from rekindle.adapters.feature_git.under_way import merging
from rekindle.adapters.git import withheld
from rekindle.adapters.git.git import Git
from rekindle.adapters.git.linked_worktrees import UNFINISHED, registered
from rekindle.adapters.git.ref_files import Unsure
from rekindle.adapters.git.worktree_files import Registered, refs_of
from rekindle.core.feature import naming
from rekindle.core.feature.evidence import GitEvidence, WorkBranch, WorkTree
from rekindle.core.feature.progress import TaskProgress
from rekindle.ports.errors import FeatureBlocked

#: The most commits of a branch to tell an agent that takes it over.
_SUBJECTS = 12
_MOST_COMMITS = 2000


def is_unfinished(tree: Registered) -> bool:
    """Whether git was killed while making this worktree: its files then mean nothing.

    git marks it so, and has no commit in its HEAD before it is made. Afterwards every HEAD has a commit or a branch.
    """
    return tree.locked == UNFINISHED or (tree.branch is None and not (tree.head or "").strip("0"))


def existing(place: FeaturePlace, branches: Collection[str]) -> dict[str, str]:
    """The commits of these branches, as far as git has them."""
    wanted = set(branches)
    names = [f"refs/heads/{name}" for name in dict.fromkeys(branches)]
    listed = place.refs((), names) if names else {}
    found = {ref.removeprefix("refs/heads/"): commit for ref, commit in listed.items()}
    return {name: commit for name, commit in found.items() if name in wanted}


def observe(
    place: FeaturePlace, tasks: Mapping[str, TaskProgress], recorded: Mapping[str, str], look: TreeLook
) -> GitEvidence:
    """What git says about the feature and its tasks, as the journal knows them; `recorded` are worktrees by branch."""
    place = place.for_one_look()
    git = place.git
    word = naming.branch_word(place.feature)
    branches = {name: one.branch for name, one in tasks.items()}
    patterns = (f"refs/heads/{place.branch}", *(f"refs/heads/{branch}" for branch in branches.values()))
    heads = _heads(place, f"refs/heads/work/{word}", patterns)
    folders = (f"refs/rekindle/{kind}/{word}" for kind in ("base", "done", "left"))
    private = place.refs(folders, (naming.merged_ref(place.feature),))
    trees = registered(git)
    tip = heads.pop(f"refs/heads/{place.branch}", None)
    last = private.get(naming.merged_ref(place.feature))
    base_of = {branch: private.get(naming.base_ref(place.feature, task)) for task, branch in branches.items()}
    there = {ref.removeprefix("refs/heads/") for ref in heads}
    homes = find_homes(place, branches, recorded, trees, there)
    at_home = {*homes.values()}
    ours = [tree for tree in trees[1:] if _is_inside(place, tree.path) or place.real(tree.path) in at_home]
    elsewhere = {tree.branch: tree.path for tree in trees if tree.branch and tree not in ours}
    left = {branches[task]: commit for task in tasks if (commit := private.get(naming.left_ref(place.feature, task)))}
    shared = Counter(homes.values())  # what is shared is gone through each time: it is about several tasks
    owners = {home: task for task, home in homes.items() if shared[home] == 1}
    seen = dict(_trees(place, ours, left, look, owners))
    blocked = dict(_blocked(place, {task: home for task, home in homes.items() if home not in seen}, branches, trees))
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
        remembered=frozenset(look.remembered),
        removed=frozenset(task for task, path in homes.items() if path not in seen and is_removed(place, path, trees)),
    )


def _blocked(
    place: FeaturePlace, homes: Mapping[str, str], branches: Mapping[str, str], trees: Sequence[Registered]
) -> Iterator[tuple[str, str]]:
    """Why worktrees cannot be made in their places. For most tasks nothing is there yet, which is quick to see."""
    held = {tree.branch for tree in trees}
    at = {place.real(tree.path) for tree in trees}
    folder = place.real(place.trees) if not place.is_linked_away(place.trees) else None
    for task, home in homes.items():
        is_free = branches[task] not in held and home not in at and os.path.dirname(home) == folder
        if is_free and not os.path.lexists(home):
            continue
        if (why := obstacle(place, home, branches[task], trees)) is not None:
            yield task, why.message


def _heads(place: FeaturePlace, folder: str, names: Sequence[str]) -> dict[str, str]:
    """The feature's branch and those of its tasks. Raises FeatureBlocked for one that is only an alias."""
    try:
        return refs_of(place.common).below((folder,), names)  # where it is sure, none of them is
    except Unsure:
        _refuse_other_names(place.git, frozenset(names))
        return place.refs((folder,), names)


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
    """A branch, with how much work is on it. One that never moved from its start has none, merged or not."""
    if tip is None:
        return WorkBranch(name, commit, *_work(place, base, commit), elsewhere=elsewhere)
    goes_on = base is not None and place.is_ancestor(base, commit)
    merged = commit == tip if goes_on and base == tip else place.is_ancestor(commit, tip)
    if goes_on:
        return WorkBranch(name, commit, *_work(place, base, commit), merged, elsewhere)
    if not merged:
        shared = ("merge-base", tip, commit)
        unrelated = place.answers.once(shared, lambda: place.git.line(*shared) is None)
        return WorkBranch(name, commit, *_work(place, tip, commit), elsewhere=elsewhere, unrelated=unrelated)
    words = ("rev-list", "--first-parent", f"--max-count={_MOST_COMMITS}", tip)
    first_parents = place.answers.once(words, lambda: frozenset(place.git.output(*words).split()))
    is_work = commit.encode() not in first_parents
    return WorkBranch(name, commit, int(is_work), (), merged, elsewhere)


def _work(place: FeaturePlace, start: str | None, end: str) -> tuple[int, tuple[str, ...]]:
    """How many commits there are, and what the newest of them are about."""
    if start == end:
        return 0, ()
    since = [f"^{start}"] if start is not None else []
    words = ("log", f"--max-count={_MOST_COMMITS}", "--format=%h %s", end, *since)
    told = place.answers.once(words, lambda: place.git.output(*words).decode("utf-8", "replace"))
    lines = told.splitlines()
    return len(lines), tuple(lines[:_SUBJECTS])


def _passed(place: FeaturePlace, tasks: Mapping[str, TaskProgress], there: Collection[str]) -> dict[str, str]:
    """The passed commits of tasks whose branches are gone, as far as git has them."""
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
    """The commits under review."""
    heads = {os.path.basename(tree.path): tree.head for tree in ours if not is_unfinished(tree)}
    for task in tasks:
        head = heads.get(naming.copy_folder(task))
        if head is not None:
            yield task, head


def _trees(
    place: FeaturePlace,
    ours: list[Registered],
    left: Mapping[str, str],
    look: TreeLook,
    owners: Mapping[str, str],
) -> Iterator[tuple[str, WorkTree]]:
    for tree in ours:
        name = os.path.basename(tree.path)
        if is_unfinished(tree) or name == naming.INTEGRATION or name.startswith(naming.COPY):
            continue
        if os.path.isdir(tree.path) and place.is_sound(tree.path):
            behind = left.get(tree.branch or "")

            def ask(tree: Registered = tree, behind: str | None = behind) -> Changes:
                is_behind = behind is not None and behind != tree.head
                theirs = leftovers.untouched(place, tree.path, behind or "") if is_behind else frozenset()
                return _changes(place.at(tree.path), theirs)

            task = owners.get(place.real(tree.path))
            changes, conflicts, withheld_ = look.changes(task, (tree, behind), ask)
            yield tree.path, WorkTree(tree.path, tree.branch, changes, tree.locked is not None, conflicts, withheld_)


_UNMERGED = ("DD", "AU", "UD", "UA", "DU", "AA", "UU")


def _changes(tree: Git, left: frozenset[bytes]) -> Changes:
    """Whether there is something to commit, the files of a merge that are not resolved, and what cannot be committed.

    What was changed inside a submodule cannot be committed here, nor a file without the filter that it needs. What
    checks have `left` does not count as work.
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


def _is_inside(place: FeaturePlace, path: str) -> bool:
    return place.real(path).startswith(place.real(place.trees) + os.sep)
