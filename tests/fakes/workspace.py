"""A repository with its journals in memory; `tests.conformance.test_workspace` holds it to what it has of the port."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import cast

from rekindle.core.journal.analysis import Analysis, analyse
from rekindle.core.journal.fold import JournalState
from rekindle.ports.errors import NoSuchFeature
from rekindle.ports.feature import ResumableGit
from rekindle.ports.journal import Sync
from rekindle.ports.workspace import FeatureTail, HeldRun, checked_name
from tests.fakes.feature_git import FakeFeatureGit
from tests.fakes.git_repository import FakeRepository
from tests.fakes.journal import FakeJournal, Log


@dataclass(frozen=True)
class FakeCheckout:
    """See `rekindle.ports.workspace.Checkout`."""

    root: str
    branch: str | None = "main"
    feature: str | None = None

    @property
    def common(self) -> str:
        return f"{self.root}/.git"

    @property
    def top(self) -> str | None:
        return self.root


@dataclass(frozen=True)
class FakeOwner:
    """See `rekindle.ports.workspace.RunOwner`."""

    sid: str
    pid: int | None
    verdict: str = "alive"


@dataclass
class Held:
    """A feature that a process holds. `sid` is empty until it claims a run."""

    shelf: Shelf
    feature: str
    pid: int
    planned: str
    sid: str = ""

    def claim(self) -> None:
        self.sid = self.planned

    def release(self) -> None:
        if self.shelf.held.get(self.feature) is self:
            del self.shelf.held[self.feature]


@dataclass
class Shelf:
    """What outlives every process, and who of them holds what. The locks of a dead process are nobody's."""

    repo: FakeRepository = field(default_factory=FakeRepository)
    logs: dict[str, Log] = field(default_factory=dict)
    held: dict[str, Held] = field(default_factory=dict)

    def end(self, pid: int) -> None:
        """A process is gone, with its locks."""
        self.held = {name: one for name, one in self.held.items() if one.pid != pid}


class _JournalPath(PurePosixPath):
    """Where a journal would be."""

    is_there = False

    def exists(self) -> bool:
        return self.is_there


class FakeFeatureJournal(FakeJournal):
    """A feature's journal in its place. What is read again unchanged is not folded again."""

    def __init__(self, feature: str, log: Log, path: str) -> None:
        super().__init__(feature, log)
        self._path = path

    @property
    def path(self) -> Path:
        found = _JournalPath(self._path)
        found.is_there = bool(self.log.lines)
        return cast(Path, found)


class FakeWorkspace:
    """See `rekindle.ports.workspace.Workspace`. `pid` is the process that looks at it."""

    def __init__(self, shelf: Shelf, pid: int = 1) -> None:
        self.shelf = shelf
        self.pid = pid
        self.repository = FakeCheckout(shelf.repo.root)

    @property
    def progress(self) -> str:
        return f"{self.repository.root}/.claude/progress"

    @property
    def state_dir(self) -> str:
        return "/state"

    @property
    def worktrees_top(self) -> str:
        return f"{self.repository.root}/.worktrees"

    def git(self, feature: str, named: Sequence[str] = ()) -> ResumableGit:
        return FakeFeatureGit(self.shelf.repo, feature, named)

    def feature(self, given: str | None) -> str:
        return checked_name(given or "", "feature")

    def features(self) -> list[FeatureTail]:
        raise NotImplementedError

    def folder(self, feature: str) -> Path:
        return Path(self.progress, checked_name(feature, "feature"))

    def journal(self, feature: str, sync: Sync | None = None) -> FakeFeatureJournal:
        path = self.folder(feature) / "events.jsonl"
        log = self.shelf.logs.setdefault(feature, Log())
        return FakeFeatureJournal(feature, log, str(path))

    def existing(self, feature: str) -> FakeFeatureJournal:
        found = self.journal(feature)
        if not found.path.exists():
            near = ", ".join(name for name, log in self.shelf.logs.items() if log.lines)
            raise NoSuchFeature(f"there is no journal of a feature {feature!r}", f"there are: {near}")
        return found

    def writable(self, feature: str, sync: Sync | None = None) -> FakeFeatureJournal:
        return self.journal(feature, sync)

    def unapproved(self, feature: str, lineage: Collection[str]) -> str | None:
        return None

    def approve(self, feature: str, fingerprint: str) -> None:
        raise NotImplementedError

    def admit(self, feature: str, yes: str) -> bool:
        return False

    def owner(self, feature: str) -> FakeOwner | None:
        found = self.shelf.held.get(feature)
        return FakeOwner(found.sid, found.pid) if found is not None and found.sid else None

    def held(self) -> list[HeldRun]:
        found = {name: owner for name in sorted(self.shelf.held) if (owner := self.owner(name)) is not None}
        return [HeldRun(name, owner, f"{self.progress}/{name}/owner") for name, owner in found.items()]

    def hold(self, feature: str, sid: str) -> Held | None:
        if feature in self.shelf.held:
            return None
        made = self.shelf.held[feature] = Held(self.shelf, feature, self.pid, sid)
        return made

    def disown(self, feature: str, sid: str) -> None:
        found = self.shelf.held.get(feature)
        if found is not None and found.sid == sid:
            found.sid = ""

    def analysis(self, feature: str, *, lock_is_ours: bool = False) -> tuple[Analysis, FakeOwner | None]:
        state: JournalState = self.existing(feature).proven()
        holder = None if lock_is_ours else self.owner(feature)
        if holder is not None and (holder.sid not in state.sids or state.sids[holder.sid].ended):
            holder = None
        return analyse(state, owned=frozenset({holder.sid} if holder is not None else ())), holder
