"""Reads reflogs and the stash. Changes nothing."""

from __future__ import annotations

import os
import re

from rekindle import files
from rekindle.adapters.feature_git.place import FeaturePlace
from rekindle.core.feature.strays import ReflogEntry, Stash

_LINE = re.compile(
    rb"(?P<old>[0-9a-f]{40,64}) (?P<new>[0-9a-f]{40,64}) .*?(?P<at>\d{1,18}) [+-]\d{4}(?:\t(?P<action>.*))?\Z",
    re.DOTALL,
)


def of_tree(place: FeaturePlace, tree: str, branch: str) -> list[ReflogEntry]:
    """Everything that happened in a worktree, oldest first.

    A recreated worktree has lost history that the branch still has: that comes first.
    """
    found = place.worktree(tree)
    here = _read(os.path.join(found.git_dir, "logs", "HEAD")) if found is not None else []
    if not here and found is not None:
        here = _listed(place, tree)
    seen = {entry.new for entry in here}
    earlier = [entry for entry in of_branch(place, branch) if entry.new not in seen]
    return [*earlier, *here]


def of_branch(place: FeaturePlace, branch: str) -> list[ReflogEntry]:
    """Everything that happened to a branch, oldest first."""
    return _read(os.path.join(place.common, "logs", "refs", "heads", branch))


def stashes(place: FeaturePlace) -> list[Stash]:
    """The entries of the stash, which all worktrees share; newest first."""
    form = "--format=%gd%x00%H%x00%P%x00%ct%x00%gs%x1e"
    done = place.git.run("log", "-g", "--no-show-signature", form, "refs/stash", "--")
    if done.returncode != 0:
        return []
    entries = (entry.strip("\n").split("\0") for entry in done.stdout.decode("utf-8", "replace").split("\x1e"))
    return [
        Stash(name, commit, tuple(parents.split()), int(at), message)
        for name, commit, parents, at, message in (entry for entry in entries if len(entry) == 5)
        if parents
    ]


def _read(path: str) -> list[ReflogEntry]:
    try:
        with os.fdopen(files.open_to_read(path), "rb") as file:
            lines = file.read().split(b"\n")
    except OSError:
        return []
    found = (_LINE.match(line) for line in lines)
    return [
        ReflogEntry(
            line["old"].decode(),
            line["new"].decode(),
            (line["action"] or b"").decode("utf-8", "replace"),
            int(line["at"]),
        )
        for line in found
        if line is not None
    ]


def _listed(place: FeaturePlace, tree: str) -> list[ReflogEntry]:
    """The same where refs are kept in tables: git does not tell where each line began, only the one before does."""
    done = place.at(tree).run("log", "-g", "--no-show-signature", "--format=%H%x00%gs%x1e", "HEAD", "--")
    if done.returncode != 0:
        return []
    told = done.stdout.decode("utf-8", "replace").split("\x1e")
    entries = [entry.strip("\n").split("\0") for entry in told if "\0" in entry][::-1]
    befores = ["0" * 40, *(entry[0] for entry in entries)]
    return [ReflogEntry(before, new, action) for before, (new, action) in zip(befores, entries, strict=False)]
