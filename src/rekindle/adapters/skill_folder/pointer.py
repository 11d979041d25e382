"""Which folder a process works in, by its pid, so that a hook needs no search. Light standard library only.

These are shortcuts and may be deleted at any time: what counts stands in the folders' state files.
"""

from __future__ import annotations

import os

from rekindle import files
from rekindle.adapters.machine import process_identity
from rekindle.core import lean_json
from rekindle.core.names import why_not

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
    files.replace(os.path.join(home, str(pid)), lean_json.compact(data).encode(), mode=0o600)


def point_conversation(state_dir: str, conversation: str, folder: str) -> None:
    """Remember which folder the agent of a supervised session works in. Raises OSError."""
    home = os.path.join(state_dir, "skill", "by-conversation")
    files.make_private(home)
    files.replace(os.path.join(home, conversation), os.fsencode(folder), mode=0o600)


def of_conversation(state_dir: str, conversation: str) -> str | None:
    """The folder that the agent of a supervised session works in, as far as anybody remembers."""
    if why_not(conversation) is not None:
        return None
    try:
        path = os.path.join(state_dir, "skill", "by-conversation", conversation)
        folder = os.fsdecode(files.read_short(path, _LONGEST))
    except OSError:
        return None
    return folder if os.path.isabs(folder) else None


def pointed(state_dir: str, pid: int) -> str | None:
    """The folder that a process works in, as far as anybody remembers."""
    try:
        found = lean_json.loads(files.read_short(os.path.join(place(state_dir), str(pid)), _LONGEST))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or found.get("started") != process_identity.start_time(pid):
        return None
    folder = found.get("folder")
    return folder if isinstance(folder, str) else None
