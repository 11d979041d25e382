"""Which skill sessions have asked something, so that the inbox finds them without a search of the disk.

These are shortcuts: what is asked, and whether it still is, stands in the folders' state files.
"""

from __future__ import annotations

import contextlib
import hashlib
import os

from rekindle import files

_LONGEST = 8 << 10
_MOST = 1_000


def remember(state_dir: str, folder: str) -> None:
    """Remember that a folder has asked something. Raises OSError."""
    home = _home(state_dir)
    path = os.path.join(home, _name(folder))
    if not os.path.exists(path):
        files.make_private(home)
        files.replace(path, os.fsencode(folder), mode=0o600)


class AskingFoldersHere:
    """The folders that are remembered below one state folder."""

    def __init__(self, state_dir: str) -> None:
        self._state_dir = state_dir

    def folders(self) -> list[str]:
        """All of them."""
        home = _home(self._state_dir)
        try:
            names = sorted(os.listdir(home))[:_MOST]
        except OSError:
            return []
        found = []
        for name in names:
            with contextlib.suppress(OSError):
                folder = os.fsdecode(files.read_short(os.path.join(home, name), _LONGEST))
                found += [folder] if os.path.isabs(folder) and _name(folder) == name else []
        return found

    def forget(self, folder: str) -> None:
        """A folder that asks nothing any more."""
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(_home(self._state_dir), _name(folder)))


def _home(state_dir: str) -> str:
    return os.path.join(state_dir, "skill", "asking")


def _name(folder: str) -> str:
    return hashlib.sha256(os.fsencode(folder)).hexdigest()[:32]
