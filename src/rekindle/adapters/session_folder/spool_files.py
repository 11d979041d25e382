"""A spool for reading: the keeper's own file or, where that was given back, what the vault has of it."""

from __future__ import annotations

import os
import tempfile
from io import BufferedRandom, BufferedReader

from rekindle.adapters.vault.vault import FOLDER, editions, spool


def open_spool(folder: str, name: str) -> BufferedReader | BufferedRandom:
    """Open `out` or `in` of an attempt's folder. Raises FileNotFoundError where neither is there."""
    try:
        return open(os.path.join(folder, name), "rb")
    except FileNotFoundError:
        copy = kept_spool(folder, name)
        if copy is None:
            raise
    file = tempfile.TemporaryFile()  # noqa: SIM115
    file.write(copy)
    file.seek(0)
    return file


def kept_spool(folder: str, name: str) -> bytes | None:
    """What the vault has of a spool: its newest whole copy or, where all are damaged, the most that can be read."""
    session, attempt = os.path.split(folder)
    most: bytes | None = None
    for one in reversed(editions(os.path.join(session, FOLDER), spool(session, int(attempt), name).name)):
        copied = one.read()
        if copied.is_whole:
            return copied.data
        if most is None or len(copied.data) > len(most):
            most = copied.data
    return most
