"""What may be wrong with a repository that has features. It is inspected, never changed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

import msgspec


class Orphan(msgspec.Struct, frozen=True):
    """A branch or worktree that no journal knows of, and the command that would remove it."""

    what: str
    remove: str


class RepositoryCare(Protocol):
    """One repository. Raises RekindleError."""

    def is_tracked(self, relative: str) -> bool | None:
        """Whether git tracks anything below this folder. None if git cannot say: that is not a no."""
        ...

    def withheld(self) -> str | None:
        """What a person should know about filters that do not run here; None if there is nothing."""
        ...

    def orphans(self, branches: Collection[str], features: Collection[str]) -> list[Orphan]:
        """What looks like a feature's; `branches` and `features` are those that journals know."""
        ...
