"""A repository at a glance, by its files. See `rekindle.ports.glance.Glance`. Light standard library only."""

from __future__ import annotations

import os

from rekindle import files
from rekindle.adapters.git import repository
from rekindle.adapters.journal_file import run_owner
from rekindle.adapters.journal_file.summaries import analysed, summaries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rekindle.settings import Settings


class RepositoryGlance:
    """The features of one repository."""

    def __init__(self, repo: repository.Repository, settings: Settings) -> None:
        self.repository = repo
        self.progress = repo.progress_folder(settings.progress_dir)
        self._cache_dir = settings.cache_dir
        self._state_dir = settings.state_dir

    def summaries(self) -> dict[str, dict[str, Any]]:
        """The summary of every feature, by name."""
        return summaries(self.progress, self._cache_dir)

    def owner(self, feature: str) -> run_owner.Owner | None:
        """Who holds the feature's run."""
        return run_owner.owner(os.path.join(self.progress, feature))

    def analysed(self, feature: str, owned: str) -> dict[str, Any]:
        """The summary of one feature, read now, whose run `owned` somebody holds."""
        return analysed(self._journal(feature), self._cache_dir, owned)

    def is_foreign(self, feature: str) -> bool:
        """Whether this user's rekindle has written nothing into the feature's journal."""
        from rekindle.adapters.journal_file.ledger import Ledger

        return Ledger(self._state_dir, self._journal(feature)).is_empty

    def _journal(self, feature: str) -> str:
        return os.path.join(self.progress, feature, files.EVENTS)
