"""The kept copies of conversations, as their checkers see them."""

from __future__ import annotations

from typing import Protocol

import msgspec

CopyDamage = tuple[int, int, str]
"""From which byte to which, and what is wrong."""


class CheckedCopy(msgspec.Struct, frozen=True):
    """A kept copy. `torn` says what it ends with, if a writer was cut off or is still writing."""

    path: str
    bytes: int
    damage: tuple[CopyDamage, ...]
    torn: str | None


class VaultCopies(Protocol):
    """The vaults of a store's sessions. Reads only."""

    def sessions(self) -> list[str]:
        """The sessions that have a folder, by name."""
        ...

    def check(self, session: str) -> list[CheckedCopy]:
        """Check every byte that was kept of a session."""
        ...

    def difference(self, session: str) -> str:
        """What the last pre-flight that replaced the agent's record changed in it; empty if none did."""
        ...
