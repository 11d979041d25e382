"""Which files of a folder were written since a moment, where no snapshot can tell: by their times, within bounds."""

from __future__ import annotations

import os
from collections.abc import Iterator

from rekindle.core.session_worktree import listed

MOST_ENTRIES = 20_000
#: Clocks of file systems are coarse.
_MARGIN = 0.05


def recently_written(folder: str, since: float, most: int = MOST_ENTRIES) -> list[str]:
    """Paths inside the folder, sorted. A file that was removed, or whose time was set back, is not among them."""
    found = [path for path, at in _files(os.fsencode(folder), most) if at >= since - _MARGIN]
    root = os.fsencode(folder).rstrip(b"/") + b"/"
    return listed(frozenset(path.removeprefix(root) for path in found))


def _files(folder: bytes, most: int) -> Iterator[tuple[bytes, float]]:
    waiting, left = [folder], most
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        for entry in entries:
            left -= 1
            if left < 0:
                return
            try:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != b".git":
                        waiting.append(entry.path)
                else:
                    yield entry.path, entry.stat(follow_symlinks=False).st_mtime
            except OSError:
                continue
