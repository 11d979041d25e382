"""An edition as a file: the same bytes for the same content, without owners; times and modes are kept."""

from __future__ import annotations

import gzip
import io
import os
import sqlite3
import tarfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

#: Made anew where they are missing, or left by git's own templates.
_LEFT_OUT = ("daemon.log", "daemon.lock", "hooks", "description", "search.db")


def pack(root: Path, folders: Sequence[Path], target: Path) -> None:
    """Write the folders below `root` into one archive, a store as one file: what lies in its log is put into it."""
    for store in root.rglob("store.db"):
        with closing(sqlite3.connect(store)) as connection:
            assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
        for suffix in ("-wal", "-shm"):
            store.with_name(store.name + suffix).unlink(missing_ok=True)
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(one for folder in folders for one in (folder, *folder.rglob("*"))):
            if not set(path.relative_to(root).parts) & set(_LEFT_OUT):
                _add(tar, path, path.relative_to(root).as_posix())
    target.write_bytes(gzip.compress(raw.getvalue(), 9, mtime=0))


def _add(tar: tarfile.TarFile, path: Path, name: str) -> None:
    info = tar.gettarinfo(path, name)
    if info is None or not (info.isfile() or info.isdir()):
        return  # a socket, or a link
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = int(info.mtime)
    with path.open("rb") if info.isfile() else io.BytesIO() as content:
        tar.addfile(info, content if info.isfile() else None)


def unpack(source: Path, root: Path) -> None:
    """Put an archive's folders back below `root`."""
    with tarfile.open(source) as tar:
        for one in tar:
            path = root / one.name
            if one.isdir():
                path.mkdir(mode=one.mode, exist_ok=True)
            else:
                path.write_bytes(tar.extractfile(one).read())  # type: ignore[union-attr]
                path.chmod(one.mode)
                os.utime(path, (one.mtime, one.mtime))
