"""The port on git's command line. See `rekindle.ports.feature.FeatureGit`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from rekindle.adapters.feature_git import merging, observing, trees
from rekindle.adapters.feature_git.place import Place
from rekindle.adapters.git import GitFailed
from rekindle.adapters.repository import Repository
from rekindle.core.feature import naming
from rekindle.core.feature.evidence import GitEvidence
from rekindle.ports.feature import Cleared, Merged, Prepared, StartedOver

TREES = ".worktrees"
#: The setting that asks for no worktree per task.
NONE = "none"


class GitFeature:
    """One feature in one repository."""

    def __init__(self, repo: Repository, feature: str, folder: str | None = None) -> None:
        shared = folder == NONE
        top = os.path.join(repo.root, TREES if shared or folder is None else folder)
        path = os.path.join(os.path.normpath(top), naming.branch_word(feature))
        self.place = Place(repo.root, repo.common, feature, path, shared)
        repo.exclude(os.path.normpath(top))

    @property
    def shared_tree(self) -> bool:
        """Whether all tasks work in one worktree, one after the other."""
        return self.place.shared_tree

    def observe(self, branches: Mapping[str, str]) -> GitEvidence:
        return observing.observe(self.place, branches)

    def make_feature(self, base: str) -> str:
        return trees.make_feature(self.place, base)

    def prepare(self, task: str, branch: str, session: str) -> Prepared:
        return trees.prepare(self.place, task, branch, session)

    def commit(self, task: str, branch: str, message: str) -> None:
        trees.commit(self.place, self.place.tree(task), message)

    def changed_files(self, branch: str) -> list[str]:
        told = self.place.git.run("diff", "--name-only", "-z", f"{self.place.branch}...{branch}")
        return [name for name in told.stdout.decode("utf-8", "replace").split("\0") if name]

    def remember_checked(self, task: str, tip: str) -> None:
        self.place.put_ref(naming.checked_ref(self.place.feature, task), tip)

    def merge(self, task: str, branch: str, tip: str, epoch: str, message: str) -> Merged:
        return merging.merge(self.place, task, branch, tip, epoch, message)

    def tree_of(self, task: str) -> str:
        return self.place.tree(task)

    def integration(self) -> str:
        target = self.place.tip(self.place.branch)
        if target is None:
            raise GitFailed(f"{self.place.branch} is gone", f"make it again: git branch {self.place.branch} COMMIT")
        return merging.open_integration(self.place, target)

    def clear(self, task: str, branch: str) -> Cleared:
        return trees.clear(self.place, task, branch)

    def clear_integration(self) -> None:
        merging.clear_integration(self.place)

    def start_over(self, branches: Mapping[str, str], epoch: str, *, whole: bool) -> StartedOver:
        return trees.start_over(self.place, branches, epoch, whole=whole)

    def orphans(self, known: Sequence[str]) -> list[tuple[str, str, str]]:
        seen = self.observe({})
        kept = set(known)
        found = [
            ("worktree", tree.path, f"git worktree remove {tree.path}")
            for tree in seen.trees.values()
            if tree.branch not in kept and os.path.basename(tree.path) != naming.SHARED
        ]
        found += [("branch", name, f"git branch -D {name}") for name in seen.branches if name not in kept]
        return found
