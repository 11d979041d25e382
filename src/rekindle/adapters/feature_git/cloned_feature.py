"""A feature without worktrees (`feature_worktrees = "none"`): its tasks are worked on in turn, in a clone of our own.

See `own_clone` for how the clone and the user's repository are kept in step. Everything else works as with one shared
worktree: work is made and merged in the clone, and the repository gets it at once.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from rekindle.adapters.feature_git import own_clone, task_worktrees
from rekindle.adapters.feature_git.authorship import authorship
from rekindle.adapters.feature_git.git_feature import GitFeature, Worktrees
from rekindle.adapters.feature_git.integration import checked_out
from rekindle.adapters.feature_git.place import FeaturePlace
from rekindle.adapters.git.linked_worktrees import registered
from rekindle.adapters.git.repository import Repository
from rekindle.core.feature.evidence import GitEvidence
from rekindle.core.feature.progress import TaskProgress
from rekindle.core.feature.strays import Stray
from rekindle.ports.feature import Cleared, Merged, Prepared, StartedOver


class ClonedFeature(GitFeature):
    """One feature, worked in its clone. `_home` is the same feature in the user's repository."""

    def __init__(self, repo: Repository, feature: str, settings: Worktrees, named: Sequence[str] = ()) -> None:
        super().__init__(repo, feature, replace(settings, shared=True), named)
        self._home = self.place
        self._path = own_clone.path_of(repo.common, feature)
        if os.path.isdir(self._path):
            self._enter()

    def _enter(self) -> None:
        own_clone.make(self._home, self._path)
        self.place = replace(self._home, root=self._path, common=self._path)

    @contextlib.contextmanager
    def _both(self) -> Iterator[None]:
        """Bring the clone up to date with the repository first, and the repository with the clone afterwards."""
        with self._turn:
            self._enter()
            own_clone.take_in(self._home, self.place)
            yield
            own_clone.give_out(self._home, self.place)

    def _refuse_checked_out(self) -> None:
        holder = self._holder()
        if holder is not None:
            raise checked_out(self._home, holder)

    def _holder(self) -> str | None:
        """Where somebody has the feature's branch checked out."""
        trees = registered(self._home.git)
        return next((tree.path for tree in trees if tree.branch == self.place.branch), None)

    def commit_as(self, environment: Mapping[str, str]) -> None:
        author = authorship(self._home.root, environment)
        self._home = replace(self._home, author=author)
        self.place = replace(self.place, author=author)

    def observe(
        self,
        tasks: Mapping[str, TaskProgress],
        recorded: Mapping[str, str] | None = None,
        anew: Collection[str] | None = None,
    ) -> GitEvidence:
        with self._turn:
            if self._has_clone:
                own_clone.take_in(self._home, self.place)
            seen = super().observe(tasks, {}, anew)
        return structs.replace(seen, elsewhere=self._holder(), clone=self._path) if self._has_clone else seen

    @property
    def _has_clone(self) -> bool:
        return self.place.root == self._path and os.path.isdir(self._path)

    def check_base(self, base: str) -> None:
        if self._home.tip(self._home.branch) is None:
            task_worktrees.find_base(self._home, base)

    def choose_base(self, base: str) -> None:
        if self._home.tip(self._home.branch) is None:
            task_worktrees.choose_base(self._home, base)

    def make_feature(self, base: str) -> str:
        made = task_worktrees.make_feature(self._home, base)
        with self._both():
            return made

    def prepare(self, task: str, branch: str, session: str, wave: str = "") -> Prepared:
        with self._both():
            return super().prepare(task, branch, session, wave)

    def restore(self, task: str, branch: str, tip: str) -> None:
        with self._both():
            super().restore(task, branch, tip)

    def commit(self, task: str, branch: str, message: str) -> tuple[str, ...]:
        with self._both():
            return super().commit(task, branch, message)

    def begin_checks(self, task: str, branch: str, tip: str) -> None:
        with self._both():
            super().begin_checks(task, branch, tip)

    def put_back(self, task: str, branch: str) -> tuple[str, ...]:
        with self._both():
            return super().put_back(task, branch)

    def end_checks(self, task: str, branch: str) -> tuple[str, ...]:
        with self._both():
            return super().end_checks(task, branch)

    def make_copy(self, task: str, tip: str) -> str | None:
        with self._both():
            return super().make_copy(task, tip)

    def drop_copy(self, task: str) -> str | None:
        with self._both():
            return super().drop_copy(task)

    def merge(self, task: str, branch: str, tip: str, epoch: str, message: str) -> Merged:
        self._refuse_checked_out()
        with self._both():
            return super().merge(task, branch, tip, epoch, message)

    def integration(self, tip: str = "") -> str:
        with self._both():
            return super().integration(tip)

    def keep_left(self, wave: int) -> None:
        with self._both():
            super().keep_left(wave)

    def keep_strays(self, task: str, branch: str, found: Sequence[Stray]) -> None:
        with self._both():
            super().keep_strays(task, branch, found)

    def take_strays(self, task: str, tasks: Mapping[str, TaskProgress], session: str = "") -> tuple[Stray, ...]:
        with self._both():
            return super().take_strays(task, tasks, session)

    def leave_strays(self, task: str, tasks: Mapping[str, TaskProgress], session: str = "") -> tuple[Stray, ...]:
        with self._both():
            return super().leave_strays(task, tasks, session)

    def clear(self, task: str, branch: str, *, unchanged: bool = False) -> Cleared:
        with self._both():
            return super().clear(task, branch, unchanged=unchanged)

    def clear_integration(self) -> None:
        with self._both():
            super().clear_integration()
        left = own_clone.remove(self._home, self.place)
        if left is not None:
            self.place.tell(f"the clone {self._path} is kept: {left}")

    def start_over(self, branches: Mapping[str, str], epoch: str, *, whole: bool) -> StartedOver:
        with self._both():
            return super().start_over(branches, epoch, whole=whole)


def has_worktrees(home: FeaturePlace) -> bool:
    """Whether the user's repository has worktrees of the feature: they may hold work, so they are continued."""
    folder = os.path.realpath(home.trees) + os.sep
    return any(os.path.realpath(tree.path).startswith(folder) for tree in registered(home.git)[1:])
