"""The filters of one repository. See `rekindle.ports.git_filters.GitFilters`."""

from __future__ import annotations

from rekindle.adapters.git import approvals
from rekindle.adapters.git.git import Git
from rekindle.ports.git_filters import DefinedFilters


class RepositoryFilters:
    """Those of the repository that a folder is in."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def look(self) -> DefinedFilters:
        """What is defined now, and which of it is approved."""
        found = Git(self._folder).policy()
        return DefinedFilters(found.common, found.defined, found.withheld)

    def approve(self, found: DefinedFilters) -> None:
        """Remember the approval of exactly these definitions."""
        if found.common is not None:
            approvals.approve(found.common, list(found.defined))

    def forget(self, found: DefinedFilters) -> None:
        """Withdraw an approval."""
        if found.common is not None:
            approvals.forget(found.common)
