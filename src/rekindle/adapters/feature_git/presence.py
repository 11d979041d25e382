"""Whether our merges are still in the feature's branch: under their own names, or rebased or squashed under others."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from rekindle.adapters.feature_git.place import FeaturePlace
from rekindle.adapters.snapshots.changes import differing
from rekindle.core.feature import naming
from rekindle.core.feature.evidence import Done
from rekindle.core.feature.progress import TaskProgress

TASK, EPOCH = "Rekindle-Task", "Rekindle-Epoch"
_MOST_COMMITS = 2000
#: Only a NUL cannot be in a message.
_FORM = f"--format=%H%x00%(trailers:key={TASK},valueonly)%x00%(trailers:key={EPOCH},valueonly)%x00"


def merges(place: FeaturePlace, tip: str, base: str | None) -> dict[str, tuple[str, str]]:
    """The commits with our trailers in the feature's branch: the task and the epoch of each. Anybody may write such."""
    since = [f"^{base}"] if base is not None and place.is_ancestor(base, tip) else []
    words = ("log", f"--max-count={_MOST_COMMITS}", f"--grep=^{TASK}: ", _FORM, tip, *since)
    return dict(_parsed(place, place.answers.once(words, lambda: place.git.output(*words))))


def _parsed(place: FeaturePlace, told: bytes) -> list[tuple[str, tuple[str, str]]]:
    found = []
    words = told.decode("utf-8", "replace").split("\0")
    for commit, tasks, epoch in zip(words[::3], words[1::3], words[2::3], strict=False):
        for value in tasks.split("\n"):
            feature, _, task = value.strip().partition("/")
            if feature == place.feature:
                found.append((commit.strip(), (task, epoch.strip())))
    return found


def done(
    place: FeaturePlace,
    tasks: Mapping[str, TaskProgress],
    refs: Mapping[str, str],
    there: Mapping[str, tuple[str, str]],
    tip: str | None,
    last: str | None,
) -> dict[str, Done]:
    """What happened to each merge that we know, by its ref or by the journal. `there` are those in the branch.

    A commit with our trailers that neither of them knows is somebody else's, whatever it says. So is one without them
    that only a ref names: refs come along with a repository.
    """
    found = {}
    for task, one in tasks.items():
        for commit in filter(None, (refs.get(naming.done_ref(place.feature, task)), one.merge)):
            if there.get(commit, ("", ""))[0] == task:
                found[task] = Done(commit, there[commit][1])
                break
            said = one.epoch if commit == one.merge else ""
            known = _look_for(place, task, said, commit, tip or last, last)
            if known.epoch:
                found[task] = known
                break
    return found


@functools.lru_cache(maxsize=4096)
def _look_for(place: FeaturePlace, task: str, epoch: str, commit: str, tip: str | None, last: str | None) -> Done:
    """A merge that is not among those in the branch. One that git no longer has proves nothing either way."""
    told = place.git.run("log", "--no-walk", _FORM, commit, "--")
    if told.returncode != 0:
        return Done(commit, epoch, None, present=False)
    epochs = [found for _, (name, found) in _parsed(place, told.stdout) if name == task]
    work = place.git.line("rev-parse", "--quiet", "--verify", f"{commit}^2") or commit
    return Done(commit, epochs[0] if epochs else epoch, work, _is_present(place, commit, work, tip, last))


def _is_present(place: FeaturePlace, commit: str, work: str, tip: str | None, last: str | None) -> bool:
    if tip is None or place.is_ancestor(commit, tip):
        return True
    before = place.git.line("rev-parse", "--quiet", "--verify", f"{commit}^1")
    if before is None:
        return False
    if last is not None and place.is_ancestor(commit, last) and _has_all(place, tip, _begun(place, last, tip), last):
        return True  # all that we ever merged is there under other names: it was squashed, or rebased as a whole
    told = place.git.run("cherry", tip, work, before)
    marks = told.stdout.split(b"\n")[:-1]
    if told.returncode == 0 and marks and all(mark.startswith(b"- ") for mark in marks):
        return True
    return _has_all(place, tip, before, commit)


def _begun(place: FeaturePlace, last: str, tip: str) -> str | None:
    began = place.ref(naming.base_ref(place.feature))
    return began or place.git.line("merge-base", last, tip)


def _has_all(place: FeaturePlace, tip: str, before: str | None, after: str) -> bool:
    """Whether every file that changed between two commits is in `tip` as it was after."""
    if before is None:
        return False
    changed = differing(place.git, before, after)
    return bool(changed) and changed.isdisjoint(differing(place.git, after, tip))


def restore(place: FeaturePlace, task: str, branch: str, tip: str) -> None:
    """Make a task's branch again at the commit that was merged."""
    ref = naming.base_ref(place.feature, task)
    target = place.tip(place.branch)
    if place.ref(ref) is None and target is not None:
        began = place.git.line("merge-base", tip, target)
        if began == tip:  # it is in the feature already: it began before our merge, or where the feature did
            before = f"{naming.done_ref(place.feature, task)}^1"
            began = place.git.line("merge-base", tip, before)
        if began in (None, tip):
            began = place.git.line("merge-base", tip, naming.base_ref(place.feature))
        if began is not None:
            place.put_ref(ref, began)
    if place.tip(branch) is None:
        place.set_ref(f"refs/heads/{branch}", tip, None)
