"""A repository with its journals, by its files and the user's settings."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from rekindle import settings as settings_
from rekindle.adapters.feature_git import own_clone
from rekindle.adapters.feature_git.cloned_feature import ClonedFeature, has_worktrees
from rekindle.adapters.feature_git.git_feature import GitFeature, Worktrees
from rekindle.adapters.git import exclude, repository
from rekindle.adapters.journal_file import run_owner
from rekindle.adapters.journal_file.journal import FileJournal
from rekindle.adapters.journal_file.ledger import Ledger
from rekindle.adapters.journal_file.scan import FeatureScan
from rekindle.adapters.journal_file.snapshot import SnapshotCache
from rekindle.core.journal.analysis import Analysis, analyse
from rekindle.files import EVENTS
from rekindle.ports.errors import ForeignRepository, NoFeature, NoRepository, NoSuchFeature
from rekindle.ports.journal import Sync
from rekindle.ports.workspace import FeatureTail, HeldRun, checked_name


class GitWorkspace:
    """See `rekindle.ports.workspace.Workspace`."""

    def __init__(
        self, repo: repository.Repository, settings: settings_.Settings, environment: Mapping[str, str]
    ) -> None:
        self.repository = repo
        self._environment = environment
        self.settings = settings
        self.progress = repo.progress_folder(settings.progress_dir)
        self._snapshots = SnapshotCache(Path(settings.cache_dir, "journals"))

    @property
    def worktrees(self) -> Worktrees:
        """Where and how the tasks of features have their worktrees."""
        return Worktrees(self.settings.worktrees_dir, self.settings.feature_worktrees == "one")

    @property
    def state_dir(self) -> str:
        """The user's own state folder."""
        return self.settings.state_dir

    @property
    def worktrees_top(self) -> str:
        """The folder of the worktrees of all features."""
        return self.worktrees.top(self.repository)

    def git(self, feature: str, named: Sequence[str] = ()) -> GitFeature:
        """git for one feature."""
        found = GitFeature(self.repository, feature, self.worktrees, named)
        has_clone = os.path.isdir(own_clone.path_of(self.repository.common, feature))
        wants_clone = self.settings.feature_worktrees == "none" and not has_worktrees(found.place)
        if has_clone or wants_clone:  # work continues where it started, whatever is set now
            return ClonedFeature(self.repository, feature, self.worktrees, named)
        return found

    def feature(self, given: str | None) -> str:
        """The feature that is meant: the one given, else the one that the branch names."""
        given = given if given is not None else self._environment.get("REKINDLE_FEATURE") or None
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
        found = Path(self.progress, checked_name(feature, "feature"))
        if found.is_symlink():
            raise ForeignRepository(f"{found} is a symbolic link, and may lead anywhere", "make it a plain folder")
        return found

    def journal(self, feature: str, sync: Sync | None = None) -> FileJournal:
        """The feature's journal, which need not exist."""
        chosen = sync or (Sync(self.settings.journal_sync) if self.settings.journal_sync else None)
        root, path = Path(self.repository.root), self.folder(feature) / EVENTS
        ledger = Ledger(self.settings.state_dir, str(path))
        return FileJournal(path, feature, sync=chosen, snapshots=self._snapshots, root=root, ledger=ledger)

    def existing(self, feature: str) -> FileJournal:
        """The feature's journal; NoSuchFeature with the nearest names where there is none."""
        journal = self.journal(feature)
        if not journal.path.exists():
            import difflib

            names = [item.name for item in self.features()]
            near = difflib.get_close_matches(feature, names, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else "`rekindle features` lists those that there are"
            raise NoSuchFeature(f"there is no journal of a feature {feature!r} in {self.progress}", hint)
        return journal

    def writable(self, feature: str, sync: Sync | None = None) -> FileJournal:
        """The feature's journal for writing: never one that git tracks."""
        exclude.keep_untracked(self.repository, self.progress)
        return self.journal(feature, sync)

    def unapproved(self, feature: str, lineage: Collection[str]) -> str | None:
        """A fingerprint of what decides about a resume of these runs and that nobody here has ordered, or None."""
        return self.existing(feature).unapproved(lineage)

    def approve(self, feature: str, fingerprint: str) -> None:
        """Remember the user's approval of it."""
        self.existing(feature).approve(fingerprint)

    def admit(self, feature: str, yes: str) -> bool:
        """Accept a run of the feature that nobody here started, after the user's approval; False if it matches none."""
        return self.existing(feature).admit(yes)

    def owner(self, feature: str) -> run_owner.Owner | None:
        """Who holds the feature's run."""
        return run_owner.owner(str(self.folder(feature)))

    def held(self) -> list[HeldRun]:
        """All runs here that somebody holds, by feature."""
        found = []
        for name in sorted(os.listdir(self.progress)) if os.path.isdir(self.progress) else []:
            folder = os.path.join(self.progress, name)
            if (owner := run_owner.owner(folder)) is not None:
                found.append(HeldRun(name, owner, os.path.join(folder, run_owner.RECORD_NAME)))
        return found

    def hold(self, feature: str, sid: str) -> run_owner.Held | None:
        """Keep everybody else away from a feature; its folder is made."""
        folder = os.fspath(self.folder(feature))
        os.makedirs(folder, exist_ok=True)
        return run_owner.hold(folder, sid)

    def disown(self, feature: str, sid: str) -> None:
        """Nobody holds the run any more: it has ended."""
        run_owner.forget(str(self.folder(feature)), sid)

    def analysis(self, feature: str, *, lock_is_ours: bool = False) -> tuple[Analysis, run_owner.Owner | None]:
        """The feature's analysis, with what the process table knows."""
        state = self.existing(feature).proven()
        holder = run_owner.owner(str(self.folder(feature)), lock_is_ours=lock_is_ours)
        if holder is not None and (holder.sid not in state.sids or state.sids[holder.sid].ended):
            holder = None  # a record that its run has outlived
        return analyse(state, owned=frozenset({holder.sid} if holder is not None else ())), holder

    def features(self) -> list[FeatureTail]:
        """All features at a glance."""
        return FeatureScan(self.progress, Path(self.settings.cache_dir, "journals")).features()


def open_workspace(environment: Mapping[str, str], start: str | None = None) -> GitWorkspace:
    """The workspace around a folder (by default the current one)."""
    where = start or os.getcwd()
    repo = repository.find(where)
    if repo is None:
        raise NoRepository(f"{where} is not in a git repository", "run `git init`, or cd to the project's folder")
    return GitWorkspace(repo, settings_.load(environment, repo.root), environment)
