"""Inspects a repository that has features. See `rekindle.ports.repository_care.RepositoryCare`."""

from __future__ import annotations

from collections.abc import Collection

from rekindle.adapters.feature_git.orphans import orphans
from rekindle.adapters.git import exclude, withheld
from rekindle.adapters.git.git import Git
from rekindle.ports.repository_care import Orphan


class CheckoutCare:
    """`root` is the main checkout, `top` the folder of all worktrees."""

    def __init__(self, root: str, top: str) -> None:
        self._root = root
        self._top = top

    def is_tracked(self, relative: str) -> bool | None:
        """Whether git tracks anything below this folder."""
        return exclude.is_tracked(self._root, relative)

    def withheld(self) -> str | None:
        """What a person should know about filters that are not run here."""
        return withheld.notice(Git(self._root))

    def orphans(self, branches: Collection[str], features: Collection[str]) -> list[Orphan]:
        """What looks like a feature's but no journal mentions."""
        return list(orphans(self._root, self._top, branches, features))
