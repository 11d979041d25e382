"""The port on git's command line. See `rekindle.ports.feature.FeatureGit`."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ParamSpec, TypeVar

from rekindle.adapters.feature_git import (
    copies,
    integration,
    leftovers,
    merging,
    observing,
    presence,
    snapshotted,
    starting_over,
    strays,
    taking,
    task_worktrees,
)
from rekindle.adapters.feature_git.authorship import authorship
from rekindle.adapters.feature_git.homes import find_homes
from rekindle.adapters.feature_git.observing import existing
from rekindle.adapters.feature_git.place import FeaturePlace
from rekindle.adapters.feature_git.seen_trees import SeenTrees
from rekindle.adapters.git import linked_worktrees, worktree_turns
from rekindle.adapters.git import locks as git_locks
from rekindle.adapters.git.linked_worktrees import registered
from rekindle.adapters.git.repository import Repository
from rekindle.core.feature import naming
from rekindle.core.feature.evidence import GitEvidence
from rekindle.core.feature.progress import TaskProgress
from rekindle.core.feature.records import choose_branch
from rekindle.core.feature.strays import Stray, unanswered
from rekindle.core.git_locks import Lock
from rekindle.ports.errors import GitFailed, GitKilled
from rekindle.ports.feature import Cleared, Merged, Prepared, StartedOver


@dataclass(frozen=True)
class Worktrees:
    """The user's settings: the folder of all worktrees, and whether a feature's tasks share one in turn."""

    folder: str | None = None
    shared: bool = False

    def top(self, repo: Repository) -> str:
        """The folder of the worktrees of all features."""
        return repo.folder(self.folder or linked_worktrees.FOLDER, "worktrees_dir")


_TRIES = 4
_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


def _again(step: Callable[_Given, _Found]) -> Callable[_Given, _Found]:
    """Repeat a step whose git was killed: every step may be repeated safely."""

    @functools.wraps(step)
    def tried(*args: _Given.args, **named: _Given.kwargs) -> _Found:
        for _ in range(_TRIES - 1):
            with contextlib.suppress(GitKilled):
                return step(*args, **named)
        return step(*args, **named)

    return tried


class GitFeature:
    """One feature in one repository."""

    def __init__(self, repo: Repository, feature: str, settings: Worktrees, named: Sequence[str] = ()) -> None:
        """`named` are the branches that a journal calls the feature's, newest first."""
        path = os.path.join(settings.top(repo), naming.branch_word(feature))
        place = FeaturePlace(repo.root, repo.common, feature, path, settings.shared)
        branch = choose_branch(feature, named, existing(place, named), repo.branch)
        self.place = replace(place, target_name=branch)
        self._tasks: dict[str, str] = {}
        self._recorded: dict[str, str] = {}
        self._seen_trees = SeenTrees()
        self._repository = repo
        self._turn = worktree_turns.steps(repo.common)

    def commit_as(self, environment: Mapping[str, str]) -> None:
        """From now on, commit in the name of this environment's user."""
        self.place = replace(self.place, author=authorship(self.place.root, environment))

    def keep_untracked(self) -> None:
        """List the folder of the worktrees in git's `info/exclude`, so that the user's status stays clean."""
        self._repository.exclude(os.path.dirname(self.place.trees))

    @property
    def shared_tree(self) -> bool:
        """Whether all tasks work in one worktree, one after another."""
        return self.place.shared_tree

    @property
    def branch(self) -> str:
        """The feature's branch."""
        return self.place.branch

    @_again
    def observe(
        self,
        tasks: Mapping[str, TaskProgress],
        recorded: Mapping[str, str] | None = None,
        anew: Collection[str] | None = None,
    ) -> GitEvidence:
        self._tasks = {name: one.branch for name, one in tasks.items()}
        self._recorded = dict(recorded or {})
        look = self._seen_trees.look(self._tasks if anew is None else anew)
        return observing.observe(self.place, tasks, self._recorded, look)

    @_again
    def check_base(self, base: str) -> None:
        """Raise FeatureBlocked if a new feature could not start; changes nothing."""
        if self.place.tip(self.place.branch) is None:
            task_worktrees.find_base(self.place, base)

    @_again
    def choose_base(self, base: str) -> None:
        """Decide where a new feature starts. An existing branch is built on."""
        if self.place.tip(self.place.branch) is None:
            task_worktrees.choose_base(self.place, base)

    @_again
    def make_feature(self, base: str) -> str:
        return task_worktrees.make_feature(self.place, base)

    @_again
    def prepare(self, task: str, branch: str, session: str, wave: str = "") -> Prepared:
        with self._turn:
            return task_worktrees.prepare(self.place, task, branch, self.tree_of(task, branch), session, wave)

    @_again
    def restore(self, task: str, branch: str, tip: str) -> None:
        presence.restore(self.place, task, branch, tip)

    @_again
    def with_snapshots(self, branches: Mapping[str, str]) -> frozenset[str]:
        return snapshotted.sessions(self.place, branches)

    @_again
    def fallen_in_snapshots(self, branches: Mapping[str, str]) -> dict[str, str]:
        return snapshotted.fallen(self.place, branches)

    @_again
    def snapshot_reasons(self, sessions: Collection[str]) -> dict[str, frozenset[str]]:
        return snapshotted.reasons(self.place, sessions)

    @_again
    def commit(self, task: str, branch: str, message: str) -> tuple[str, ...]:
        tree = self.tree_of(task, branch)
        return task_worktrees.commit(self.place, tree, message, leftovers.of(self.place, task, tree))

    @_again
    def begin_checks(self, task: str, branch: str, tip: str) -> None:
        leftovers.begin(self.place, task, self.tree_of(task, branch), tip)

    @_again
    def put_back(self, task: str, branch: str) -> tuple[str, ...]:
        return leftovers.put_back(self.place, task, self.tree_of(task, branch))

    @_again
    def end_checks(self, task: str, branch: str) -> tuple[str, ...]:
        return leftovers.end(self.place, task, self.tree_of(task, branch))

    @_again
    def make_copy(self, task: str, tip: str) -> str | None:
        with self._turn:
            return copies.make(self.place, task, tip)

    def copy_of(self, task: str) -> str:
        return copies.path_of(self.place, task)

    @_again
    def drop_copy(self, task: str) -> str | None:
        with self._turn:
            return copies.drop(self.place, task)

    @_again
    def changed_files(self, task: str, branch: str) -> list[str]:
        began = naming.base_ref(self.place.feature, task)
        told = self.place.git.run("diff", "--name-only", "-z", began, f"refs/heads/{branch}")
        return [name for name in told.stdout.decode("utf-8", "replace").split("\0") if name]

    @_again
    def merge(self, task: str, branch: str, tip: str, epoch: str, message: str) -> Merged:
        with self._turn:
            return merging.merge(self.place, task, branch, tip, epoch, message)

    def tree_of(self, task: str, branch: str) -> str:
        place = self.place.for_one_look()
        tasks = {**self._tasks, task: branch}
        there = existing(place, tasks.values())
        return find_homes(place, tasks, self._recorded, registered(place.git), there)[task]

    @_again
    def integration(self, tip: str = "") -> str:
        target = self.place.tip(self.place.branch)
        if target is None:
            raise GitFailed(f"{self.place.branch} is gone", f"make it again: git branch {self.place.branch} COMMIT")
        with self._turn:
            return integration.open_integration(self.place, target, tip)

    @_again
    def keep_left(self, wave: int) -> None:
        with self._turn:
            integration.keep_left(self.place, wave)

    def locks(self) -> list[Lock]:
        """Locks of others that block the feature and its tasks, after watching them."""
        return self.place.locks.left([self.place.branch, *self._tasks.values()])

    def remove_lock(self, lock: Lock) -> bool:
        """Remove a watched lock, unless it is gone or replaced by now."""
        return git_locks.remove(lock)

    def notices(self) -> tuple[str, ...]:
        return self.place.told()

    def keep_strays(self, task: str, branch: str, found: Sequence[Stray]) -> None:
        with self._turn:
            strays.keep(self.place, task, found, self.tree_of(task, branch))

    def take_strays(self, task: str, tasks: Mapping[str, TaskProgress], session: str = "") -> tuple[Stray, ...]:
        with self._turn:
            path = self._commit_elsewhere(task, tasks, on_its_branch=True)
            task_worktrees.prepare(self.place, task, tasks[task].branch, path, session)
            found = self._strays(task, tasks)
            taking.take(self.place, task, tasks[task].branch, path, found)
            return found

    def leave_strays(self, task: str, tasks: Mapping[str, TaskProgress], session: str = "") -> tuple[Stray, ...]:
        with self._turn:
            path = self._commit_elsewhere(task, tasks, on_its_branch=False)
            found = self._strays(task, tasks)
            strays.keep(self.place, task, found, path)
            task_worktrees.prepare(self.place, task, tasks[task].branch, path, session)
            return found

    def _strays(self, task: str, tasks: Mapping[str, TaskProgress]) -> tuple[Stray, ...]:
        return unanswered(self.observe(tasks, self._recorded).strays.get(task, ()), tasks[task].answered)

    def _commit_elsewhere(self, task: str, tasks: Mapping[str, TaskProgress], *, on_its_branch: bool) -> str:
        """Commit the contents of a worktree that has something else checked out; returns where it is."""
        path = self.tree_of(task, tasks[task].branch)
        if any(one.kind == "uncommitted" for one in self._strays(task, tasks)):
            taking.commit_there(self.place, task, path, on_its_branch=on_its_branch)
        return path

    @_again
    def clear(self, task: str, branch: str, *, unchanged: bool = False) -> Cleared:
        with self._turn:
            tree = self.tree_of(task, branch)
            return task_worktrees.clear(self.place, task, branch, tree, unchanged=unchanged)

    @_again
    def clear_integration(self) -> None:
        with self._turn:
            integration.clear_integration(self.place)

    @_again
    def start_over(self, branches: Mapping[str, str], epoch: str, *, whole: bool) -> StartedOver:
        with self._turn:
            homes = {task: self.tree_of(task, branch) for task, branch in branches.items()}
            tasks = {name: TaskProgress(epoch, branch) for name, branch in {**self._tasks, **branches}.items()}
            seen = self.observe(tasks, self._recorded)
            aside = [strays.put_aside(self.place, task, epoch, seen.strays.get(task, ())) for task in branches]
            for task, branch in branches.items():
                if task in seen.fallen:
                    self.place.put_ref(naming.kept_ref(self.place.feature, epoch, branch), seen.fallen[task])
            done = starting_over.start_over(self.place, branches, homes, epoch, whole=whole)
            return StartedOver({name: ref for refs in (*aside, done.kept) for name, ref in refs.items()})
