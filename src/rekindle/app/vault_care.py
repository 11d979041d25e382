"""The kept copies of conversations: whether they are intact, and what a pre-flight changed. Needs no daemon."""

from __future__ import annotations

import msgspec

from rekindle.app.session_list import SessionList
from rekindle.ports.vault import CheckedCopy, VaultCopies


class VaultReport(msgspec.Struct, frozen=True):
    """The copies of each session that has some."""

    sessions: dict[str, list[CheckedCopy]]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is damaged."""
        return not any(one.damage for copies in self.sessions.values() for one in copies)


class RecordDifference(msgspec.Struct, frozen=True):
    """What was changed in the agent's own record of a session, as a unified diff."""

    session: str
    diff: str


class VaultCare:
    """Inspects vaults. A session may be named by the beginning of its id."""

    def __init__(self, sessions: SessionList, copies: VaultCopies) -> None:
        self._sessions = sessions
        self._copies = copies

    def verify(self, session: str | None) -> VaultReport:
        """Check every byte that was kept, of one session or of all."""
        if session is not None:
            name = self._sessions.meant(session)
            return VaultReport({name: self._copies.check(name)})
        found = {name: self._copies.check(name) for name in self._copies.sessions()}
        return VaultReport({name: copies for name, copies in found.items() if copies})

    def difference(self, session: str) -> RecordDifference:
        """What the last pre-flight that replaced the agent's record changed in it; empty if none did."""
        name = self._sessions.meant(session)
        return RecordDifference(name, self._copies.difference(name))
