"""The port on git's command line. See `rekindle.ports.feature.FeatureGit`."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from rekindle.adapters import worktrees
from rekindle.adapters.feature_git import merging, observing, starting_over, trees
from rekindle.adapters.feature_git.place import Place
from rekindle.adapters.repository import Repository
from rekindle.core.feature import naming
from rekindle.core.feature.evidence import GitEvidence
from rekindle.ports.errors import GitFailed
from rekindle.ports.feature import Cleared, Merged, Prepared, StartedOver


@dataclass(frozen=True)
class Worktrees:
    """The user's settings: the folder of all worktrees, and whether a feature's tasks share one in turn."""

    folder: str | None = None
    shared: bool = False

    def top(self, repo: Repository) -> str:
        """The folder of the worktrees of all features."""
        return repo.folder(self.folder or worktrees.FOLDER, "worktrees_dir")


#: One at a time makes or removes worktrees in a repository: git stumbles over another one's half-made worktree.
_TURNS: defaultdict[str, threading.RLock] = defaultdict(threading.RLock)


class GitFeature:
    """One feature in one repository."""

    def __init__(self, repo: Repository, feature: str, settings: Worktrees) -> None:
        path = os.path.join(settings.top(repo), naming.branch_word(feature))
        self.place = Place(repo.root, repo.common, feature, path, settings.shared)
        self._repository = repo
        self._turn = _TURNS[os.path.realpath(repo.common)]

    def keep_untracked(self) -> None:
        """List the folder of the worktrees in git's `info/exclude`, so that the user's status stays clean."""
        self._repository.exclude(os.path.dirname(self.place.trees))

    @property
    def shared_tree(self) -> bool:
        """Whether all tasks work in one worktree, one after the other."""
        return self.place.shared_tree

    def observe(self, branches: Mapping[str, str]) -> GitEvidence:
        return observing.observe(self.place, branches)

    def choose_base(self, base: str) -> None:
        """Settle where a feature that is begun anew begins. A branch that is there already is built upon."""
        if self.place.tip(self.place.branch) is None:
            trees.choose_base(self.place, base)

    def make_feature(self, base: str) -> str:
        return trees.make_feature(self.place, base)

    def prepare(self, task: str, branch: str, session: str) -> Prepared:
        with self._turn:
            return trees.prepare(self.place, task, branch, session)

    def has_snapshot(self, session: str, branch: str) -> bool:
        """Whether a snapshot has the files of a session's worktree on top of what its branch has."""
        return trees.newest_snapshot(self.place.root, branch, session, self.place.tip(branch)) is not None

    def commit(self, task: str, branch: str, message: str) -> tuple[str, ...]:
        return trees.commit(self.place, self.place.tree(task), message)

    def changed_files(self, task: str, branch: str) -> list[str]:
        began = naming.base_ref(self.place.feature, task)
        told = self.place.git.run("diff", "--name-only", "-z", began, f"refs/heads/{branch}")
        return [name for name in told.stdout.decode("utf-8", "replace").split("\0") if name]

    def remember_checked(self, task: str, tip: str) -> None:
        self.place.put_ref(naming.checked_ref(self.place.feature, task), tip)

    def merge(self, task: str, branch: str, tip: str, epoch: str, message: str) -> Merged:
        with self._turn:
            return merging.merge(self.place, task, branch, tip, epoch, message)

    def tree_of(self, task: str) -> str:
        return self.place.tree(task)

    def integration(self) -> str:
        target = self.place.tip(self.place.branch)
        if target is None:
            raise GitFailed(f"{self.place.branch} is gone", f"make it again: git branch {self.place.branch} COMMIT")
        with self._turn:
            return merging.open_integration(self.place, target)

    def clear(self, task: str, branch: str) -> Cleared:
        with self._turn:
            return trees.clear(self.place, task, branch)

    def clear_integration(self) -> None:
        with self._turn:
            merging.clear_integration(self.place)

    def start_over(self, branches: Mapping[str, str], epoch: str, *, whole: bool) -> StartedOver:
        with self._turn:
            return starting_over.start_over(self.place, branches, epoch, whole=whole)
