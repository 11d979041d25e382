"""What a repository's own git configuration would have git run, and what its user has said yes to."""

from __future__ import annotations

from typing import Protocol

import msgspec

from rekindle.core.git_trust import Definition


class DefinedFilters(msgspec.Struct, frozen=True):
    """`withheld` does not run here; `defined` is all that the repository with this common git folder defines."""

    common: str | None
    defined: tuple[Definition, ...] = ()
    withheld: tuple[Definition, ...] = ()


class GitFilters(Protocol):
    """The filters and merge drivers of one repository. Raises GitFailed, and OSError if a yes cannot be stored."""

    def look(self) -> DefinedFilters:
        """What is defined now, and what of it is approved."""
        ...

    def approve(self, found: DefinedFilters) -> None:
        """Remember a yes to exactly these definitions."""
        ...

    def forget(self, found: DefinedFilters) -> None:
        """Take a yes back."""
        ...
