"""A repository with the journals of its features, as use cases see it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from rekindle.core.journal.analysis import Analysis
from rekindle.core.journal.tail import Tail
from rekindle.core.names import why_not
from rekindle.ports.errors import BadName
from rekindle.ports.feature import ResumableGit
from rekindle.ports.journal import Journal, Sync


class Checkout(Protocol):
    """A repository as seen from one of its worktrees. Read from files: no git is started."""

    @property
    def common(self) -> str:
        """git's common folder, shared by all worktrees."""
        ...

    @property
    def root(self) -> str:
        """The main checkout; in a bare repository, the git folder itself."""
        ...

    @property
    def top(self) -> str | None:
        """The top of the worktree that we are in; None in a bare repository."""
        ...

    @property
    def branch(self) -> str | None:
        """The branch that is checked out here; None with a detached HEAD."""
        ...

    @property
    def feature(self) -> str | None:
        """The feature that the branch names."""
        ...


class RunOwner(Protocol):
    """The process that holds a run. `verdict` is `alive` or, for one on another host, `unknown`."""

    @property
    def sid(self) -> str: ...

    @property
    def pid(self) -> int | None: ...

    @property
    def verdict(self) -> str: ...


class HeldFeature(Protocol):
    """A feature that we hold: nobody else begins or resumes a run of it. It is released when the process ends."""

    def claim(self) -> None:
        """Record that this process drives the run: from now on its journal may mention it."""
        ...

    def release(self) -> None:
        """Release the feature."""
        ...


class HeldRun(msgspec.Struct, frozen=True):
    """A run that somebody holds, or may hold. `record` is the file that says so."""

    feature: str
    owner: RunOwner
    record: str


class FeatureTail(msgspec.Struct, frozen=True, gc=False):  # thousands of them, in no cycle
    """A feature folder at a glance. `tail` is None if no run has written anything yet."""

    name: str
    size: int
    mtime_ns: int
    inode: int
    tail: Tail | None
    error: str | None = None


class FeatureJournal(Journal, Protocol):
    """A feature's journal in its place."""

    @property
    def path(self) -> Path: ...


class Workspace(Protocol):
    """Opened around a folder. Names are checked: an invalid feature name raises BadName."""

    @property
    def repository(self) -> Checkout: ...

    @property
    def progress(self) -> str:
        """The folder of the journals."""
        ...

    @property
    def state_dir(self) -> str:
        """The user's own state folder."""
        ...

    @property
    def worktrees_top(self) -> str:
        """The folder of the worktrees of all features."""
        ...

    def git(self, feature: str, named: Sequence[str] = ()) -> ResumableGit:
        """git for one feature; `named` are the branches that its journal calls its own, newest first."""
        ...

    def feature(self, given: str | None) -> str:
        """The feature that is meant: the given one, else the one that the branch names. Raises NoFeature."""
        ...

    def features(self) -> list[FeatureTail]:
        """All features at a glance, by name."""
        ...

    def folder(self, feature: str) -> Path:
        """The feature's folder, which need not exist."""
        ...

    def journal(self, feature: str, sync: Sync | None = None) -> FeatureJournal:
        """The feature's journal, which need not exist."""
        ...

    def existing(self, feature: str) -> FeatureJournal:
        """The feature's journal; raises NoSuchFeature with the nearest names if there is none."""
        ...

    def writable(self, feature: str, sync: Sync | None = None) -> FeatureJournal:
        """The feature's journal for writing: never one that git tracks."""
        ...

    def unapproved(self, feature: str, lineage: Collection[str]) -> str | None:
        """A fingerprint of what decides about a resume of these runs and was not ordered by anybody here, or None."""
        ...

    def approve(self, feature: str, fingerprint: str) -> None:
        """Remember the user's yes to it."""
        ...

    def admit(self, feature: str, yes: str) -> bool:
        """Let a run of the feature count that nobody here began, after the user's yes; False if it matches none."""
        ...

    def owner(self, feature: str) -> RunOwner | None:
        """Who holds the feature's run."""
        ...

    def held(self) -> list[HeldRun]:
        """All runs here that somebody holds, by feature."""
        ...

    def hold(self, feature: str, sid: str) -> HeldFeature | None:
        """Keep everybody else away from a feature, before its run `sid` begins; None if somebody holds it."""
        ...

    def disown(self, feature: str, sid: str) -> None:
        """Nobody holds the run any more: it has ended."""
        ...

    def analysis(self, feature: str, *, lock_is_ours: bool = False) -> tuple[Analysis, RunOwner | None]:
        """The feature's analysis, with what the process table knows."""
        ...


def checked_name(name: str, what: str) -> str:
    """The name, if it is valid."""
    problem = why_not(name)
    if problem is not None:
        shown = name if len(name) <= 40 else name[:40] + "…"
        raise BadName(
            f"the {what} name {shown!r} {problem}",
            "use letters, digits, dashes and dots, at most 100 characters, no slashes",
        )
    return name
