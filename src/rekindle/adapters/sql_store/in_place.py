"""Whether a store's files are still where they were opened, and how they are put back if not.

SQLite keeps writing to a file that was deleted or moved: every commit succeeds, and is gone with the process. It can
be read through the open connection for as long as that lives, so it is copied to its place again.
Anything in that place by then is moved aside, never deleted.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from rekindle import files
from rekindle.adapters.sql_store import sqlite

Inodes = tuple[int | None, ...]
_SUFFIXES = ("", *sqlite.COMPANIONS)


def inodes(path: Path) -> Inodes:
    """Which files are at the place of a store: the database and its log."""
    return tuple(_inode(f"{path}{suffix}") for suffix in ("", "-wal"))


def copy_back(source: sqlite3.Connection, path: Path) -> None:
    """Put what an open connection sees at its place again; on disk when this returns. Raises OSError, sqlite3.Error.

    The connection still writes to the lost file afterwards: open a new one.
    """
    fresh = Path(f"{path}.putting-back")
    for suffix in _SUFFIXES:
        Path(f"{fresh}{suffix}").unlink(missing_ok=True)
    os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    with closing(sqlite3.connect(fresh)) as target:
        source.backup(target)
        target.execute("PRAGMA journal_mode=DELETE")  # so that it is one file; who opens it turns the log on again
    aside = _aside(path)  # one for all: a database without its log lacks what was committed last
    for suffix in _SUFFIXES:
        if os.path.lexists(f"{path}{suffix}"):
            os.rename(f"{path}{suffix}", f"{aside}{suffix}")
    files.sync_file(fresh)
    os.rename(fresh, path)
    files.sync_folder(str(path.parent))


def _aside(path: Path) -> Path:
    number = 1
    while any(os.path.lexists(f"{path}.replaced-{number}{suffix}") for suffix in _SUFFIXES):
        number += 1
    return Path(f"{path}.replaced-{number}")


def _inode(path: str) -> int | None:
    try:
        return os.stat(path).st_ino
    except OSError:
        return None
