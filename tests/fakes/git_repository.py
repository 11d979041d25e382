"""A git repository in memory: commits, refs and worktrees, and merges file by file. For `tests.fakes.feature_git`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

#: What a file looks like that two sides have changed. A file that begins so is not resolved.
MARKER = "<<<<<<< "
Files = dict[str, str]


@dataclass(frozen=True)
class Commit:
    """A commit. `task` and `epoch` are the trailers of a merge of ours."""

    id: str
    parents: tuple[str, ...]
    files: Mapping[str, str]
    subject: str
    task: str = ""
    epoch: str = ""


@dataclass
class Worktree:
    """A folder. `branch`: None with a detached HEAD. `merge`: the other side of a merge that is under way in it."""

    path: str
    branch: str | None
    head: str
    files: Files = field(default_factory=dict)
    merge: str | None = None


class FakeRepository:
    """What outlives every process. `refs` are by their full names."""

    def __init__(self, root: str = "/repo") -> None:
        self.root = root
        self.commits: dict[str, Commit] = {}
        self.refs: dict[str, str] = {}
        self.trees: dict[str, Worktree] = {}
        self.user = self.commit((), {"readme.txt": "one\n"}, "begin")
        self.refs["refs/heads/main"] = self.user
        self._ancestors: dict[str, frozenset[str]] = {}

    def commit(
        self, parents: tuple[str, ...], files: Mapping[str, str], subject: str, task: str = "", epoch: str = ""
    ) -> str:
        """Make a commit; it is on no branch yet."""
        name = hashlib.sha1(f"{len(self.commits)}".encode()).hexdigest()
        self.commits[name] = Commit(name, parents, dict(files), subject, task, epoch)
        return name

    def tip(self, branch: str) -> str | None:
        """Where a branch is."""
        return self.refs.get(f"refs/heads/{branch}")

    def set_tip(self, branch: str, commit: str) -> None:
        """Move a branch, or make it."""
        self.refs[f"refs/heads/{branch}"] = commit

    def head(self, tree: Worktree) -> str:
        """The commit that a worktree has checked out."""
        return (self.tip(tree.branch) if tree.branch is not None else None) or tree.head

    def is_dirty(self, tree: Worktree) -> bool:
        """Whether a worktree has anything that is in no commit."""
        return tree.merge is not None or tree.files != self.commits[self.head(tree)].files

    def ancestors(self, commit: str) -> frozenset[str]:
        """A commit with all that came before it."""
        found = self._ancestors.get(commit)
        if found is None:
            before = (self.ancestors(one) for one in self.commits[commit].parents)
            found = self._ancestors[commit] = frozenset({commit}).union(*before)
        return found

    def is_ancestor(self, commit: str, of: str) -> bool:
        """Whether the history of a commit has another one."""
        return commit in self.ancestors(of)

    def first_parents(self, commit: str | None) -> Iterator[Commit]:
        """The history of a branch as it moved, newest first."""
        while commit is not None:
            found = self.commits[commit]
            yield found
            commit = found.parents[0] if found.parents else None

    def since(self, start: str | None, end: str) -> list[Commit]:
        """The commits of `end` that `start` lacks, newest first."""
        known = self.ancestors(start) if start is not None else frozenset()
        order = list(self.commits)
        return [self.commits[one] for one in sorted(self.ancestors(end) - known, key=order.index, reverse=True)]

    def merge_base(self, one: str, other: str) -> str | None:
        """The newest commit that both have."""
        both = self.ancestors(one) & self.ancestors(other)
        return max(both, key=list(self.commits).index, default=None)

    def changed(self, before: str, after: str) -> list[str]:
        """The files that are different in two commits."""
        old, new = self.commits[before].files, self.commits[after].files
        return sorted(name for name in {*old, *new} if old.get(name) != new.get(name))

    def merged_files(self, ours: str, theirs: str) -> tuple[Files, tuple[str, ...]]:
        """The files of a merge, and which of them both sides have changed."""
        found = self.merge_base(ours, theirs)
        base = self.commits[found].files if found is not None else {}
        left, right = self.commits[ours].files, self.commits[theirs].files
        files: Files = {}
        conflicts = []
        for name in sorted({*base, *left, *right}):
            before, mine, yours = base.get(name), left.get(name), right.get(name)
            if mine in (before, yours):
                chosen = yours
            elif yours == before:
                chosen = mine
            else:
                chosen = f"{MARKER}{mine}{yours}"
                conflicts.append(name)
            if chosen is not None:
                files[name] = chosen
        return files, tuple(conflicts)
