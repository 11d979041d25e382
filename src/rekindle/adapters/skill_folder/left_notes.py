"""Which dehydrated contexts were left on this machine, so that one that came with a repository is told from them.

A copy of each is kept in rekindle's own folder until it is acknowledged. Light standard library only: a hook asks.
"""

from __future__ import annotations

import os

from rekindle import files
from rekindle.core.skill import injection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST = 4 << 20


def remember(state_dir: str, folder: str, context: Mapping[str, object]) -> None:
    """Remember that this context was left in this folder, here. Raises OSError."""
    path = _place(state_dir, folder)
    files.make_private(os.path.dirname(path))
    files.replace(path, _content(folder, context), mode=0o600)


def forget(state_dir: str, folder: str) -> None:
    """The context of this folder was acknowledged. Raises OSError."""
    try:
        os.unlink(_place(state_dir, folder))
    except FileNotFoundError:
        pass


def is_known(state_dir: str, folder: str, context: object) -> bool:
    """Whether exactly this context was left in this folder, here."""
    if not isinstance(context, dict):
        return False
    try:
        return files.read_short(_place(state_dir, folder), _LONGEST) == _content(folder, context)
    except OSError:
        return False


def _place(state_dir: str, folder: str) -> str:
    about = os.stat(folder)
    return os.path.join(state_dir, "skill", "left", f"{about.st_dev:x}-{about.st_ino:x}")


def _content(folder: str, context: Mapping[str, object]) -> bytes:
    return os.fsencode(folder) + b"\n" + injection.fingerprint(context).encode("utf-8", "surrogatepass")
