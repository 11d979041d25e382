"""Real git repositories for the tests of features."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from rekindle.adapters.feature_git.cloned_feature import ClonedFeature
from rekindle.adapters.feature_git.git_feature import GitFeature, Worktrees
from rekindle.adapters.git import repository
from rekindle.core.feature.evidence import GitEvidence
from rekindle.core.feature.naming import work_branch
from rekindle.core.feature.progress import TaskProgress

FEATURE = "shop"


@dataclass(frozen=True)
class Repo:
    """A repository of a user's, with a checkout on `main` that nobody may touch."""

    root: Path

    def git(self, *words: str, cwd: Path | str | None = None) -> str:
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        who = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
        done = subprocess.run(
            ["git", *who, *words], cwd=cwd or self.root, env=env, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def feature(self, *, shared: bool = False) -> GitFeature:
        found = repository.find(str(self.root))
        assert found is not None
        return GitFeature(found, FEATURE, Worktrees(shared=shared))

    def cloned(self) -> ClonedFeature:
        """The same, without worktrees. Each call is another process that opens it."""
        found = repository.find(str(self.root))
        assert found is not None
        return ClonedFeature(found, FEATURE, Worktrees())

    def begun(self, *tasks: str) -> GitFeature:
        """A feature with these tasks prepared."""
        feature = self.feature()
        feature.keep_untracked()
        feature.make_feature("")
        for task in tasks:
            feature.prepare(task, work_branch(FEATURE, task), "s")
        return feature

    def worked(self, feature: GitFeature, task: str, name: str = "", text: str = "x\n") -> str:
        """Work of a task, committed; returns the tip."""
        path = Path(feature.tree_of(task, work_branch(FEATURE, task)), name or f"{task}.txt")
        path.write_text(text)
        feature.commit(task, work_branch(FEATURE, task), f"work on {task}")
        return self.git("rev-parse", work_branch(FEATURE, task))

    def merged(self, feature: GitFeature, task: str) -> str | None:
        branch = work_branch(FEATURE, task)
        return feature.merge(task, branch, self.git("rev-parse", branch), "e1", f"Merge {task}").commit

    def seen(self, feature: GitFeature, *tasks: str) -> GitEvidence:
        return feature.observe({task: TaskProgress("e", work_branch(FEATURE, task)) for task in tasks})

    def checkout(self) -> tuple[str, str, str, str]:
        """Everything of the user's that must stay as it is."""
        index = (self.root / ".git" / "index").read_bytes().hex()
        return (
            self.git("rev-parse", "HEAD"),
            self.git("symbolic-ref", "HEAD"),
            self.git("status", "--porcelain"),
            index,
        )


def make(folder: Path) -> Repo:
    folder.mkdir(exist_ok=True)
    repo = Repo(folder)
    repo.git("init", "-q", "-b", "main")
    (folder / "readme.txt").write_text("hello\n")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "begin")
    (folder / "notes.txt").write_text("the user's own\n")
    return repo


def merges(seen: GitEvidence) -> set[tuple[str, str]]:
    """The task and the epoch of the merges of ours that are in the feature's branch."""
    return {(task, done.epoch) for task, done in seen.done.items() if done.present}
