"""What a repository may have run, after a person has seen it and said yes."""

from __future__ import annotations

from collections.abc import Callable

from rekindle.ports.git_filters import DefinedFilters, GitFilters


class FilterTrust:
    """The filters and merge drivers of the repository here. An approval covers exactly what was shown."""

    def __init__(self, open_filters: Callable[[], GitFilters]) -> None:
        self._open = open_filters

    def look(self) -> DefinedFilters:
        """What the repository defines, and which of it is approved."""
        return self._open().look()

    def forget(self) -> DefinedFilters:
        """Withdraw an earlier approval."""
        filters = self._open()
        filters.forget(filters.look())
        return filters.look()

    def settle(self, is_approved: Callable[[DefinedFilters], bool]) -> DefinedFilters:
        """Ask about what is not approved yet, if anything; a yes is remembered."""
        filters = self._open()
        found = filters.look()
        if found.common is None or not found.withheld or not is_approved(found):
            return found
        filters.approve(found)
        return filters.look()
