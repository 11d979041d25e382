"""Which folder a process works in, by its pid, so that a hook needs no search. Light standard library only.

These are shortcuts and may be deleted at any time: what counts stands in the folders' state files.
"""

from __future__ import annotations

import json
import os

from rekindle import files
from rekindle.adapters.machine import process_identity

_LONGEST = 16 << 10


def place(state_dir: str) -> str:
    """Where the shortcuts are."""
    return os.path.join(state_dir, "skill", "by-pid")


def point(state_dir: str, pid: int, folder: str) -> None:
    """Remember that a process works in a folder. Shortcuts of processes that are gone are removed. Raises OSError."""
    home = place(state_dir)
    files.make_private(home)
    for name in os.listdir(home):
        if name.isdigit() and process_identity.start_time(int(name)) is None:
            try:
                os.unlink(os.path.join(home, name))
            except OSError:
                pass
    data = {"started": process_identity.start_time(pid), "folder": folder}
    files.replace(os.path.join(home, str(pid)), json.dumps(data).encode(), mode=0o600)


def pointed(state_dir: str, pid: int) -> str | None:
    """The folder that a process works in, as far as anybody remembers."""
    try:
        found = json.loads(files.read_short(os.path.join(place(state_dir), str(pid)), _LONGEST))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or found.get("started") != process_identity.start_time(pid):
        return None
    folder = found.get("folder")
    return folder if isinstance(folder, str) else None
