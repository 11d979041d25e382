"""Finds commits of an agent that are not on its task's branch, and keeps each of them alive by a private ref."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from rekindle.adapters.feature_git import reflog
from rekindle.adapters.feature_git.containing import compare, has_stash
from rekindle.adapters.feature_git.place import FeaturePlace
from rekindle.adapters.git.worktree_files import Registered
from rekindle.core.feature import naming
from rekindle.core.feature import strays as core
from rekindle.core.feature.evidence import WorkTree
from rekindle.core.feature.strays import Kind, Made, Past, Stray

_MOST_COMMITS = 2000


@dataclass(frozen=True)
class StrayFindings:
    """What was found, by task: see `GitEvidence`."""

    strays: dict[str, tuple[Stray, ...]] = field(default_factory=dict)
    away: dict[str, WorkTree] = field(default_factory=dict)
    fallen: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Kept:
    """A commit that we keep as a stray of a task."""

    commit: str
    kind: Kind
    subject: str


@dataclass(frozen=True)
class _Repository:
    """What all tasks of a feature have in common."""

    place: FeaturePlace
    registered: Sequence[Registered]
    known: tuple[str, ...]
    stashes: Sequence[core.Stash]
    kept: Mapping[str, Sequence[_Kept]]
    branches: Mapping[str, str]
    homes: Mapping[str, str]
    put_aside: tuple[str, ...]

    @cached_property
    def by_path(self) -> dict[str, Registered]:
        """The worktrees by where they really are."""
        return {self.place.real(tree.path): tree for tree in reversed(self.registered)}

    def tree_of(self, task: str) -> Registered | None:
        """The worktree of a task, if it is there."""
        found = self.by_path.get(self.homes[task])
        return found if found is not None and os.path.isdir(found.path) and self.place.is_sound(found.path) else None

    def others(self, task: str) -> set[str]:
        """The branches of all other tasks."""
        return {name for other, name in self.branches.items() if other != task}


def observe(
    place: FeaturePlace,
    branches: Mapping[str, str],
    homes: Mapping[str, str],
    registered: Sequence[Registered],
    trees: Mapping[str, WorkTree],
    known: Iterable[str],
) -> StrayFindings:
    """Look for strays of these tasks. `known` are commits that nothing before counts of: feature and bases."""
    private = _private(place)
    aside = _put_aside(place, private)
    listed = reflog.stashes(place) if _STASH in private else []
    kept = _kept(place, branches, private)
    everything = _Repository(place, registered, (*known, *aside), listed, kept, branches, homes, aside)
    seen = StrayFindings()
    for task in branches:
        _look(everything, task, trees, seen)
    return seen


_STASH = "refs/stash"


def _private(place: FeaturePlace) -> dict[str, tuple[str, str]]:
    """The refs of what was put aside, with commit and subject, and the newest stash."""
    word = naming.branch_word(place.feature)
    form = "--format=%(objectname)%00%(refname)%00%(contents:subject)"
    kept = f"refs/rekindle/kept/{word}"
    if not place.refs((kept,), (_STASH,)):
        return {}
    listed = place.git.output("for-each-ref", form, kept, _STASH)
    lines = (line.split("\0") for line in listed.decode("utf-8", "replace").splitlines())
    return {ref: (commit, subject) for commit, ref, subject in lines}


def set_aside(place: FeaturePlace) -> tuple[str, ...]:
    """The commits of work that was started over, or that checks left behind."""
    return _put_aside(place, _private(place))


def _put_aside(place: FeaturePlace, private: Mapping[str, tuple[str, str]]) -> tuple[str, ...]:
    """The commits of work that was started over, or that checks left behind: they are nobody's strays any more."""
    others = (
        f"{naming.strays_refs(place.feature)}/",
        *(naming.kept_ref(place.feature, label, "") for label in ("integration", "review", "left")),
        naming.kept_ref(place.feature, "wave-", "").removesuffix("/"),
    )
    return tuple(commit for ref, (commit, _) in private.items() if ref != _STASH and not ref.startswith(others))


def _kept(
    place: FeaturePlace, branches: Mapping[str, str], private: Mapping[str, tuple[str, str]]
) -> dict[str, list[_Kept]]:
    found: dict[str, list[_Kept]] = {}
    for task in branches:
        start = f"{naming.strays_refs(place.feature, task)}/"
        for ref, (commit, subject) in private.items():
            kind = next((one for one in _KINDS if ref.startswith(f"{start}{one}-")), None)
            if kind is not None:
                found.setdefault(task, []).append(_Kept(commit, kind, subject))
    return found


_KINDS: tuple[Kind, ...] = ("branch", "detached", "reset", "stash", "uncommitted")


def _look(all_: _Repository, task: str, trees: Mapping[str, WorkTree], seen: StrayFindings) -> None:
    place, branch, kept = all_.place, all_.branches[task], all_.kept.get(task, ())
    tree = all_.tree_of(task)
    if tree is None and not kept and not all_.stashes:
        return
    now = tree.branch if tree is not None else branch
    entries = reflog.of_tree(place, tree.path, branch) if tree is not None else reflog.of_branch(place, branch)
    if place.shared_tree and tree is not None:
        everybody = entries
        entries, now = core.belongs_to(everybody, now, branch, all_.others(task))
        tree = tree if entries and entries[-1] is everybody[-1] else None  # else it is another one's by now
    tip = place.tip(branch)
    if tip is None:
        tip = _fallen(place, core.last_tip(entries, now, branch), all_.put_aside)
        if tip is not None:
            seen.fallen[task] = tip
    there = trees.get(tree.path) if tree is not None and tree.branch != branch else None
    if there is not None:
        seen.away[task] = there
    tip = tip or place.tip(place.branch)  # a merged task has no branch any more
    if tip is None:
        return
    past = Past(entries, now, {})
    found = [*_commits(all_, task, tip, tree, past), *_stashed(all_, task, tip, past)]
    if tree is not None and there is not None and there.uncommitted:
        is_kept = any(one.kind == "uncommitted" and one.commit == tree.head for one in kept)
        where = f"in {there.path}, which has {there.branch or 'a detached HEAD'} checked out"
        found.append(Stray("", "uncommitted changes", where, "uncommitted", is_kept))
    if found:
        seen.strays[task] = tuple(found)


def _fallen(place: FeaturePlace, tip: str | None, put_aside: Iterable[str]) -> str | None:
    """The tip of a deleted branch, if it is there, and was not deleted because its task was started over."""
    there = tip is not None and place.git.line("rev-parse", "--quiet", "--verify", f"{tip}^{{commit}}") is not None
    return tip if there and tip and not any(place.is_ancestor(tip, one) for one in put_aside) else None


def _commits(all_: _Repository, task: str, tip: str, tree: Registered | None, past: Past) -> list[Stray]:
    place, branch = all_.place, all_.branches[task]
    head = tree.head if tree is not None and tree.branch is None else None
    kept = {one.commit: one for one in all_.kept.get(task, ()) if one.kind not in ("stash", "uncommitted")}
    made = core.made(past.entries)
    wanted = dict.fromkeys((*made, *kept, *([head] if head is not None else [])))
    outside = _outside(place, wanted, (tip, *all_.known)) if wanted else {}
    if not outside:
        return []
    refs = _Refs(place)
    loose = head if head in outside and refs.containing(head) is None else None
    past = replace(past, outside=outside, loose=loose)
    suspected = core.suspects(past)
    suspected += tuple(core.Suspect(one, ("",)) for one in kept if one in outside and one not in made and one != loose)
    found = []
    for commit in core.lost(past, suspected, lambda commit, rival: compare(place.root, commit, rival or tip)):
        kind, where = refs.where(commit, past, branch, tree)
        if commit in kept and commit not in made and commit != loose:
            kind = kept[commit].kind
        found.append(Stray(commit, outside[commit].subject, where, kind, commit in kept))
    return found


class _Refs:
    """Says which branch, tag or remote has a commit."""

    def __init__(self, place: FeaturePlace) -> None:
        self._place = place

    def containing(self, commit: str) -> str | None:
        """The first ref of the user's that has it."""
        words = ("for-each-ref", "--count=1", "--format=%(refname)", f"--contains={commit}")
        for kinds in (("refs/heads",), ("refs/tags", "refs/remotes")):
            name = self._place.git.output(*words, *kinds).decode("utf-8", "replace").strip()
            if name:
                return name.removeprefix("refs/heads/").removeprefix("refs/")
        return None

    def where(self, commit: str, past: Past, branch: str, tree: Registered | None) -> tuple[Kind, str]:
        """Where a commit is, in words."""
        here = tree is not None and tree.head is not None and self._place.is_ancestor(commit, tree.head)
        if here and past.now not in (None, branch):
            return "branch", f"on {past.now}"
        if (name := self.containing(commit)) is not None:
            return "branch", f"on {name}"
        if here and tree is not None and past.now is None:
            return "detached", f"on the detached HEAD of {tree.path}"
        return core.kind_of(commit, past, branch)


def _outside(place: FeaturePlace, commits: Iterable[str], known: Iterable[str]) -> dict[str, Made]:
    """Those of the commits, and of what came before them, that are not in what is known. Missing ones are left out."""
    sure = frozenset(known)
    wanted = [commit for commit in commits if commit not in sure]
    if not wanted:
        return {}
    given = "".join(f"{commit}\n" for commit in (*wanted, *(f"^{one}" for one in sorted(sure)))).encode()
    form = "--format=%H%x00%P%x00%s%x1e"
    words = ("log", "--ignore-missing", "--no-show-signature", f"--max-count={_MOST_COMMITS}", form, "--stdin")
    told = place.answers.once((*words, given), lambda: place.git.output(*words, stdin=given))
    entries = (entry.strip("\n").split("\0") for entry in told.decode("utf-8", "replace").split("\x1e"))
    return {one[0]: Made(one[0], tuple(one[1].split()), one[2]) for one in entries if len(one) == 3}


def _stashed(all_: _Repository, task: str, tip: str, past: Past) -> list[Stray]:
    """The entries of the stash that are this task's, and those that we keep of it and somebody has taken out."""
    place, branch = all_.place, all_.branches[task]
    here = all_.tree_of(task)
    elsewhere = {one.branch for one in all_.registered if one.branch and one != here}
    kept = {one.commit: one for one in all_.kept.get(task, ()) if one.kind == "stash"}
    listed = {one.commit: one for one in all_.stashes}
    mine = [one for one in listed.values() if one.commit in kept or one.is_of(branch, past, elsewhere)]
    put_aside = set(all_.known)
    found = [
        Stray(one.commit, one.message, f"in {one.name}", "stash", one.commit in kept)
        for one in reversed(mine)
        if one.commit not in put_aside and not has_stash(place.root, one.commit, one.parents, tip)
    ]
    for commit, one in kept.items():
        parents = (place.git.line("rev-list", "--parents", "--max-count=1", commit) or "").split()[1:]
        if commit not in listed and parents and not has_stash(place.root, commit, tuple(parents), tip):
            where = f"kept as {naming.stray_ref(place.feature, task, 'stash', commit)}"
            found.append(Stray(commit, one.subject, where, "stash", kept=True))
    return found


def keep(place: FeaturePlace, task: str, strays: Iterable[Stray], path: str) -> None:
    """Keep each commit by a ref. Changes that nobody has committed are safe in their worktree: a ref notes that."""
    lines = []
    for one in strays:
        commit = one.commit or place.head(path)
        if commit is not None:
            lines.append(f"update {naming.stray_ref(place.feature, task, one.kind, commit)} {commit}\n")
    place.git.output("update-ref", "--no-deref", "--stdin", stdin="".join(lines).encode())


def forget(place: FeaturePlace, task: str, taken: Collection[str], tip: str) -> None:
    """Drop the refs of strays that were taken, or that the branch has by now."""
    for one in _kept(place, {task: ""}, _private(place)).get(task, ()):
        if one.commit in taken or one.kind == "uncommitted" or (tip and place.is_ancestor(one.commit, tip)):
            place.drop_ref(naming.stray_ref(place.feature, task, one.kind, one.commit), one.commit)


def fallen_tip(place: FeaturePlace, tree: str, now: str | None, branch: str) -> str | None:
    """Where a branch that is gone was, as far as the worktree of its task knows."""
    tip = core.last_tip(reflog.of_tree(place, tree, branch), now, branch)
    return _fallen(place, tip, set_aside(place))


def put_aside(place: FeaturePlace, task: str, epoch: str, strays: Sequence[Stray]) -> dict[str, str]:
    """Keep the strays of a task that is started over with its old branch; returns the refs by what they are."""
    found = {}
    for one in (one for one in strays if one.commit):
        ref = naming.kept_ref(place.feature, epoch, f"strays/{naming.branch_word(task)}/{one.commit[:16]}")
        place.put_ref(ref, one.commit)
        found[core.told(one)] = ref
    forget(place, task, [one.commit for one in strays], "")
    return found
