"""A clone of our own for a feature without worktrees, and how its refs and the repository's are kept in step.

It is a bare repository in git's own folder: the user's repository has no worktree, and the tasks have one folder, in
turn. Work is mirrored to the repository as soon as it is on a branch, so that the clone alone never holds it for long.
`refs/synced/` holds the last state that was the same on both sides, which shows which side has moved.
Objects travel as packs, not through a transport: no hook and no setting of either side is asked.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping

from rekindle import files
from rekindle.adapters.feature_git.place import FeaturePlace, Move
from rekindle.adapters.git.git import Git
from rekindle.adapters.git.linked_worktrees import registered
from rekindle.adapters.git.repository import CLONES
from rekindle.core.feature import naming
from rekindle.ports.errors import FeatureBlocked

_SYNCED = "refs/synced/"
_HEADS = "refs/heads/"
_NEW = ".new"
#: What the clone has in common with the repository: links, so that a change there counts here at once.
_SHARED = ("hooks", "info")
_CONFIG = "[include]\n\tpath = {above}config\n[core]\n\tbare = true\n\trepositoryformatversion = {version}\n"
_SHA256 = "[extensions]\n\tobjectFormat = sha256\n"

Refs = dict[str, str]


def path_of(common: str, feature: str) -> str:
    """Where the clone for a feature is, or would be."""
    return os.path.join(os.path.realpath(common), *CLONES, f"{naming.branch_word(feature)}.git")


def make(home: FeaturePlace, path: str) -> None:
    """Make the clone, completely or not at all. `home` is the feature in the user's repository."""
    if os.path.isdir(path):
        return
    half = path + _NEW
    shutil.rmtree(half, ignore_errors=True)  # left by a process killed while making it: nobody has worked in it
    files.make_own(os.path.dirname(path))
    if home.git.line("config", "--local", "core.worktree") is not None:
        raise FeatureBlocked(
            f"{home.root} has core.worktree set, so that its files are elsewhere: a clone cannot follow that",
            'use feature_worktrees = "each" or "one"',
        )
    home.git.output("clone", "--quiet", "--mirror", "--local", "--no-recurse-submodules", home.common, half)
    git = Git(half)
    is_long = (git.line("rev-parse", "--show-object-format") or "") == "sha256"
    above = os.path.join(*([os.pardir] * (len(CLONES) + 1)), "")
    for name in _SHARED:
        shutil.rmtree(os.path.join(half, name), ignore_errors=True)
        if os.path.isdir(os.path.join(home.common, name)):
            os.symlink(os.path.join(above, name), os.path.join(half, name))
    text = _CONFIG.format(above=above, version=1 if is_long else 0) + (_SHA256 if is_long else "")
    files.replace(os.path.join(half, "config"), text.encode(), mode=0o600)
    _remember(git, _refs(git), {})
    os.rename(half, path)


def take_in(home: FeaturePlace, ours: FeaturePlace) -> None:
    """Bring changes from the repository into the clone. The repository is not changed."""
    theirs, here = _refs(home.git), _refs(ours.git)
    before = _before(here)
    held = {f"refs/heads/{tree.branch}" for tree in registered(ours.git) if tree.branch is not None}
    moves: Refs = {}
    settled: Refs = {}
    for ref in _meant(ours, theirs):
        there, mine, last = theirs[ref], here.get(ref), before.get(ref)
        if there == mine:
            settled[ref] = there
        elif there == last:
            if mine is None and ref.startswith(_HEADS):  # it was deleted there: its work is not given up
                moves[ref] = there
        elif ref in held:
            settled |= _aside(home, ours, ref, there)
        else:
            moves[ref] = there
    if moves or settled:
        _carry(home.git, ours.git, (*moves.values(), *settled.values()), theirs, here)
        for ref, commit in moves.items():
            _give_way(home, ours, ref, here.get(ref), before.get(ref), commit)
        ours.move(*(Move(ref, commit, here.get(ref)) for ref, commit in moves.items()))
        _remember(ours.git, {**moves, **settled}, before)


def give_out(home: FeaturePlace, ours: FeaturePlace) -> None:
    """Bring changes from the clone into the repository. Refs that somebody else moved meanwhile are not touched."""
    theirs, here = _refs(home.git), _refs(ours.git)
    before = _before(here)
    changed = {ref: here[ref] for ref in _meant(ours, here, whole=True) if before.get(ref) != here[ref]}
    changed |= {ref: here[ref] for ref in _meant(ours, here) if ref not in theirs}  # somebody has deleted it there
    due = {ref: commit for ref, commit in changed.items() if theirs.get(ref) in (before.get(ref), None, commit)}
    _carry(ours.git, home.git, due.values(), here, theirs)
    for ref, commit in due.items():
        if theirs.get(ref) != commit:
            home.set_ref(ref, commit, theirs.get(ref))
    _remember(ours.git, due, before)
    gone = [ref for ref in _meant(ours, before, whole=True) if ref not in here and theirs.get(ref) == before[ref]]
    for ref in gone:
        if not ref.startswith(_HEADS) or _is_kept(ours, before[ref]):
            home.drop_ref(ref, before[ref])
            ours.drop_ref(_SYNCED + ref.removeprefix("refs/"))


def remove(home: FeaturePlace, ours: FeaturePlace) -> str | None:
    """Remove the clone if the repository has all of it; else says what is left in it."""
    left = [tree.path for tree in registered(ours.git)[1:]]
    if left:
        return f"{left[0]} is still there"
    theirs, here = _refs(home.git), _refs(ours.git)
    lacking = [ref for ref, commit in here.items() if not ref.startswith(_SYNCED) and theirs.get(ref) != commit]
    alone = [ref for ref in lacking if home.git.run("cat-file", "-e", f"{here[ref]}^{{object}}").returncode]
    if alone or "refs/stash" in here:
        return f"it alone has {', '.join(alone or ['refs/stash'])}"
    shutil.rmtree(ours.root)
    return None


def _refs(git: Git) -> Refs:
    """All refs with their commits, except those that are only aliases."""
    listed = git.output("for-each-ref", "--format=%(objectname) %(refname) %(symref)").decode(
        "utf-8", "surrogateescape"
    )
    return {ref: commit for commit, ref, other in (line.split(" ") for line in listed.splitlines()) if not other}


def _before(here: Mapping[str, str]) -> Refs:
    return {f"refs/{ref.removeprefix(_SYNCED)}": commit for ref, commit in here.items() if ref.startswith(_SYNCED)}


def _meant(place: FeaturePlace, refs: Iterable[str], *, whole: bool = False) -> list[str]:
    """The refs that both sides share: the feature's branches and our private ones; `whole`: of sessions, too."""
    word = naming.branch_word(place.feature)
    own = (f"refs/heads/work/{word}/", *(f"refs/rekindle/{kind}/{word}/" for kind in ("base", "left", "done", "kept")))
    exact = (f"refs/heads/{place.branch}", naming.merged_ref(place.feature))
    return [ref for ref in refs if ref in exact or ref.startswith(own) or (whole and ref.startswith("refs/rekindle/"))]


def _carry(source: Git, target: Git, wanted: Iterable[str], theirs: Refs, known: Refs) -> None:
    """Copy what the wanted commits need and the target lacks."""
    have = set(known.values())
    lacking = [one for one in dict.fromkeys(wanted) if one not in have]
    if not lacking:
        return
    common = have & set(theirs.values())
    told = "".join(f"{one}\n" for one in lacking) + "".join(f"^{one}\n" for one in sorted(common))
    pack = source.output("pack-objects", "--revs", "--stdout", "--thin", "--quiet", stdin=told.encode())
    target.output("index-pack", "--stdin", "--fix-thin", stdin=pack)


def _give_way(
    home: FeaturePlace, ours: FeaturePlace, ref: str, mine: str | None, last: str | None, theirs: str
) -> None:
    """A ref has moved on both sides: the repository's wins, and the clone's is kept."""
    if mine is None or mine == last or ours.is_ancestor(mine, theirs):
        return
    kept = naming.kept_ref(ours.feature, "moved", f"{ref.removeprefix('refs/')}-{mine[:12]}")
    ours.put_ref(kept, mine)
    ours.tell(f"{ref.removeprefix('refs/heads/')} was moved in {home.root} meanwhile; what it was is kept as {kept}")


def _aside(home: FeaturePlace, ours: FeaturePlace, ref: str, theirs: str) -> Refs:
    """Keep what somebody put on a branch that an agent is working on; from then on the clone's is the newer one."""
    kept = naming.kept_ref(ours.feature, "moved", f"{ref.removeprefix('refs/')}-{theirs[:12]}")
    if home.git.line("rev-parse", "--quiet", "--verify", kept) is None:
        home.put_ref(kept, theirs)
        name = ref.removeprefix("refs/heads/")
        ours.tell(f"{name} was moved in {home.root}, but it is being worked on; what was put there is kept as {kept}")
    return {ref: theirs}


def _remember(git: Git, now: Mapping[str, str], before: Mapping[str, str]) -> None:
    new = {ref: commit for ref, commit in now.items() if before.get(ref) != commit and not ref.startswith(_SYNCED)}
    orders = "".join(f"update {_SYNCED}{ref.removeprefix('refs/')} {commit}\n" for ref, commit in new.items())
    if orders:
        git.output("update-ref", "--no-deref", "--stdin", stdin=orders.encode("utf-8", "surrogateescape"))


def _is_kept(ours: FeaturePlace, commit: str) -> bool:
    """Whether a commit is in the feature's branch, or a private ref keeps it."""
    places = (f"refs/heads/{ours.branch}", "refs/rekindle/")
    return bool(ours.git.line("for-each-ref", "--contains", commit, "--count=1", *places))
