"""The files of a feature in a simulated world: what agents, reviewers and checks do to them, and what truly happened.

The git is that of `tests.fakes.feature_git`, on a disk that may be full.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rekindle.ports.errors import GitFailed
from rekindle.ports.feature import CommandDone, Merged, ResumableGit
from tests.fakes.feature_git import FakeFeatureGit
from tests.fakes.git_repository import MARKER, FakeRepository
from tests.fakes.workspace import FakeWorkspace, Shelf
from tests.simulate.plans import WRITES, check_passes, verdict

_SECONDS = {"slow": 60.0}
#: What needs room on the disk.
_WRITING = ("make_feature", "prepare", "restore", "commit", "make_copy", "merge", "start_over", "choose_base")


@dataclass(frozen=True)
class Looked:
    """Somebody has finished with some files: an agent its turn, a check, or a reviewer. `who`: task or command."""

    who: str
    session: str
    files: Mapping[str, str]
    is_good: bool = True


class Worktrees:
    """The repository of a story."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.shelf = Shelf()
        self.tell = tell
        self.is_full = False
        self.finished: list[Looked] = []
        self.checked: list[Looked] = []
        self.reviewed: list[Looked] = []
        #: what is done about each task, in order: work, check, review, merge, resolve
        self.trace: list[tuple[str, str]] = []

    @property
    def repo(self) -> FakeRepository:
        """What git has."""
        return self.shelf.repo

    def set_full(self, is_full: bool) -> None:
        """Whether the disk has no room."""
        self.is_full = is_full
        for log in self.shelf.logs.values():
            log.is_full = is_full

    def prompted(self, folder: str) -> None:
        """An agent has got a prompt in its folder."""
        name = folder.rpartition("/")[2]
        if "/.worktrees/" not in folder or name == ".integration":
            return
        self.trace.append(("review", name.removeprefix(".review-")) if name.startswith(".") else ("work", name))

    def do(self, piece: str, folder: str, session: str) -> str:
        """An agent does one piece of a turn to the files of its folder; what it says about it."""
        tree = self.repo.trees.get(folder)
        if tree is None:
            return "my folder is gone. "
        task = folder.rpartition("/")[2]
        if piece in WRITES:
            name = WRITES[piece] or f"{task}.txt"
            number = int(tree.files.get(name, ".0").strip().rpartition(".")[2] or 0)
            tree.files[name] = f"{task} {session[:4]}.{number + 1}\n"
            self.tell(f"the agent of {task} writes {name}")
            return f"I have written {name}. "
        if piece == "resolve":
            found = [name for name, text in tree.files.items() if text.startswith(MARKER)]
            tree.files.update(dict.fromkeys(found, f"both {session[:4]}.2\n"))
            return f"I have resolved {len(found)} conflicts. "
        files, task = dict(tree.files), task.removeprefix(".review-")
        words = verdict(piece, task, files)
        self.reviewed.append(Looked(task, session, files, "PASS" in words))
        self.tell(f"the reviewer of {task} says {words.splitlines()[0]}")
        return words

    def ended(self, folder: str, session: str) -> None:
        """An agent has ended a turn well."""
        tree = self.repo.trees.get(folder)
        task = folder.rpartition("/")[2]
        if tree is not None and not task.startswith("."):
            self.finished.append(Looked(task, session, dict(tree.files)))

    async def run(self, words: Sequence[str], cwd: str, env: Mapping[str, str], seconds: float) -> CommandDone:
        """See `rekindle.ports.feature.CheckCommands`."""
        tree = self.repo.trees.get(cwd)
        if tree is None:
            return CommandDone(False, "the folder is gone")
        files = dict(tree.files)
        self.trace.append(("check", words[2]))
        await asyncio.sleep(_SECONDS.get(words[1], 0.4))
        passed = check_passes(words, files)
        self.checked.append(Looked(" ".join(words), "", files, passed))
        self.tell(f"the check {' '.join(words[1:])} {'passes' if passed else 'fails'}")
        if words[1] == "leaves" and (there := self.repo.trees.get(cwd)) is not None:
            there.files["report.txt"] = "left by a check\n"
        return CommandDone(passed, "" if passed else "it is wrong")

    # what a user may do to it

    def meddle(self, how: str, number: int) -> None:
        """Somebody who does not know better uses git."""
        branches = [ref.removeprefix("refs/heads/") for ref in self.repo.refs if ref.startswith("refs/heads/work/")]
        trees = [path for path in self.repo.trees if not path.rpartition("/")[2].startswith(".")]
        feature = next((ref for ref in self.repo.refs if ref.startswith("refs/heads/feature/")), None)
        held = {tree.branch for tree in self.repo.trees.values()}
        free = [name for name in branches if name not in held]
        if how == "removes a worktree" and trees:
            del self.repo.trees[trees[number % len(trees)]]
        elif how == "deletes a branch" and free:
            del self.repo.refs[f"refs/heads/{free[number % len(free)]}"]
        elif how == "resets the feature" and feature is not None:
            parents = self.repo.commits[self.repo.refs[feature]].parents
            if parents:
                self.repo.refs[feature] = parents[0]
        elif how == "deletes the feature" and feature is not None:
            del self.repo.refs[feature]
        elif how == "commits to the feature" and feature is not None:
            tip = self.repo.refs[feature]
            files = {**self.repo.commits[tip].files, "user.txt": f"{len(self.repo.commits)}\n"}
            self.repo.refs[feature] = self.repo.commit((tip,), files, "by the user")
        elif how == "writes to a worktree" and trees:
            self.repo.trees[trees[number % len(trees)]].files["user.txt"] = "mine\n"


class SimulatedGit(FakeFeatureGit):
    """A feature's git on the machine's disk."""

    def __init__(self, worktrees: Worktrees, feature: str, named: Sequence[str]) -> None:
        super().__init__(worktrees.repo, feature, named)
        self._worktrees = worktrees

    def merge(self, task: str, branch: str, tip: str, epoch: str, message: str) -> Merged:
        found = super().merge(task, branch, tip, epoch, message)
        self._worktrees.trace.append(("resolve" if found.commit is None else "merge", task))
        return found

    def __getattribute__(self, name: str) -> Any:
        if name in _WRITING and object.__getattribute__(self, "_worktrees").is_full:
            return _no_room
        return super().__getattribute__(name)


def _no_room(*_args: object, **_named: object) -> None:
    raise GitFailed("git: no space left on device", "make room, then resume the feature")


class SimulatedWorkspace(FakeWorkspace):
    """A workspace as one daemon opens it."""

    def __init__(self, worktrees: Worktrees, pid: int) -> None:
        super().__init__(worktrees.shelf, pid)
        self._worktrees = worktrees

    def git(self, feature: str, named: Sequence[str] = ()) -> ResumableGit:
        return SimulatedGit(self._worktrees, feature, named)
