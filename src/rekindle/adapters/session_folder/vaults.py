"""Checks every byte that a vault has kept. See `rekindle.ports.vault.VaultCopies`."""

from __future__ import annotations

import os

from rekindle.adapters.session_folder.layout import session_folder
from rekindle.adapters.vault import kept, lengths
from rekindle.adapters.vault.vault import editions
from rekindle.ports.vault import CheckedCopy, CopyDamage


class VaultsOnDisk:
    """The vaults below one folder of sessions."""

    def __init__(self, sessions: str) -> None:
        self._sessions = sessions

    def sessions(self) -> list[str]:
        """The sessions that have a folder, by name."""
        return sorted(os.listdir(self._sessions)) if os.path.isdir(self._sessions) else []

    def check(self, session: str) -> list[CheckedCopy]:
        """Check every byte that was kept of a session, and that all of the copies are there."""
        folder = self._folder(session)
        found: list[CheckedCopy] = []
        if os.path.lexists(folder) and not os.path.isdir(folder):
            found.append(CheckedCopy(folder, 0, ((0, 0, "no folder"),), None))
        listed = _listed(folder, found)
        for one in editions(folder):
            copied = one.read()
            damage: tuple[CopyDamage, ...] = tuple((bad.at, bad.end, bad.why) for bad in copied.scan.damage)
            if not damage and not copied.is_whole and copied.scan.frames:
                damage = ((0, copied.scan.good_upto, "frames that do not follow upon each other"),)
            lacks = lengths.problem(copied, listed.pop(os.path.basename(one.path), None))
            if not damage and lacks is not None:
                damage = (lacks,)
            found.append(CheckedCopy(one.path, len(copied.data), damage, copied.scan.torn))
        for name, length in sorted(listed.items()):
            found.append(CheckedCopy(os.path.join(folder, name), 0, ((0, length.bytes, "it is gone"),), None))
        return found

    def difference(self, session: str) -> str:
        """What the last pre-flight that replaced the agent's record changed in it."""
        return kept.difference(self._folder(session))

    def _folder(self, session: str) -> str:
        return session_folder(self._sessions, session).vault


def _listed(folder: str, found: list[CheckedCopy]) -> dict[str, lengths.Length]:
    """How long the copies have to be. A list that is lost counts as damage: without it nobody can tell."""
    place = lengths.place(folder)
    try:
        listed = lengths.read(folder)
        why = "the list of copies and their lengths is gone" if listed is None and editions(folder) else None
    except lengths.Unlisted as error:
        listed, why = None, f"the list of copies and their lengths cannot be read ({error})"
    if why is not None:
        found.append(CheckedCopy(place, 0, ((0, 0, why),), None))
    return dict(listed or {})
