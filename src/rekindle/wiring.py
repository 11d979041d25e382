"""The composition root: puts settings, repository and adapters together for the commands."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from rekindle import settings as settings_
from rekindle.adapters import exclude, repository, run_owner
from rekindle.adapters.journal_file.journal import FileJournal
from rekindle.adapters.journal_file.scan import EVENTS, FeatureScan
from rekindle.adapters.journal_file.snapshot import SnapshotCache
from rekindle.core.journal.analysis import Analysis, analyse
from rekindle.core.names import why_not
from rekindle.ports.errors import BadName, NoFeature, NoRepository, NoSuchFeature
from rekindle.ports.journal import Sync


class Workspace:
    """A repository with its journals, as the commands use it."""

    def __init__(self, repo: repository.Repository, settings: settings_.Settings) -> None:
        self.repository = repo
        self.settings = settings
        self.progress = repo.progress_folder(settings.progress_dir)
        self._snapshots = SnapshotCache(Path(settings.cache_dir, "journals"))

    def feature(self, given: str | None) -> str:
        """The feature that is meant: the one given, else the one that the branch names."""
        if given is not None:
            return checked_name(given, "feature")
        found = self.repository.feature
        if found is None:
            branch = self.repository.branch
            where = (
                f"the branch {branch} names no feature" if branch else "HEAD is detached, so no branch names a feature"
            )
            raise NoFeature(where, "give one with --feature NAME, or work on feature/NAME or work/NAME/TASK")
        return found

    def folder(self, feature: str) -> Path:
        """The feature's folder, which need not exist."""
        return Path(self.progress, checked_name(feature, "feature"))

    def journal(self, feature: str, sync: Sync | None = None) -> FileJournal:
        """The feature's journal, which need not exist."""
        chosen = sync or (Sync(self.settings.journal_sync) if self.settings.journal_sync else None)
        return FileJournal(self.folder(feature) / EVENTS, feature, sync=chosen, snapshots=self._snapshots)

    def existing(self, feature: str) -> FileJournal:
        """The feature's journal; NoSuchFeature with the nearest names where there is none."""
        journal = self.journal(feature)
        if not journal.path.exists():
            import difflib

            names = [item.name for item in self.scan().features()]
            near = difflib.get_close_matches(feature, names, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else "`rekindle features` lists those that there are"
            raise NoSuchFeature(f"there is no journal of a feature {feature!r} in {self.progress}", hint)
        return journal

    def writable(self, feature: str, sync: Sync | None = None) -> FileJournal:
        """The feature's journal for writing: never one that git tracks."""
        exclude.keep_untracked(self.repository, self.progress)
        return self.journal(feature, sync)

    def owner(self, feature: str) -> run_owner.Owner | None:
        """Who holds the feature's run."""
        return run_owner.owner(str(self.folder(feature)))

    def analysis(self, feature: str) -> tuple[Analysis, run_owner.Owner | None]:
        """The feature's analysis, with what the process table knows."""
        holder = self.owner(feature)
        owned = frozenset({holder.sid}) if holder is not None else frozenset[str]()
        return analyse(self.existing(feature).state(), owned=owned), holder

    def scan(self) -> FeatureScan:
        """All features at a glance."""
        return FeatureScan(self.progress, Path(self.settings.cache_dir, "journals"))


def open_workspace(environment: Mapping[str, str], start: str | None = None) -> Workspace:
    """The workspace around a folder (by default the current one)."""
    where = start or os.getcwd()
    repo = repository.find(where)
    if repo is None:
        raise NoRepository(f"{where} is not in a git repository", "run `git init`, or go to the project's folder")
    return Workspace(repo, settings_.load(environment, repo.root))


def checked_name(name: str, what: str) -> str:
    """The name, if it can be one."""
    problem = why_not(name)
    if problem is not None:
        shown = name if len(name) <= 40 else name[:40] + "…"
        raise BadName(
            f"the {what} name {shown!r} {problem}",
            "use letters, digits, dashes and dots, at most 100 characters, no slashes",
        )
    return name
