"""A spool for reading: the keeper's own file or, where that was given back, what the vault has of it."""

from __future__ import annotations

import os
import tempfile
from io import BufferedRandom, BufferedReader

from rekindle.adapters.session_folder.layout import SPOOLS, SessionFolder, attempt_of
from rekindle.adapters.vault.vault import Source, editions


def spool(folder: SessionFolder, attempt: int, name: str) -> Source:
    """A keeper's spool (`out` or `in`) of one attempt, under the name that the vault has it."""
    return Source(f"{name}-{attempt}", os.path.join(folder.attempt(attempt), name), attempt)


def spools(folder: SessionFolder) -> list[Source]:
    """The spools of all attempts, whether they are still there or not, oldest first."""
    return [spool(folder, number, name) for number in folder.attempts() for name in SPOOLS]


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
    session, attempt = attempt_of(folder)
    most: bytes | None = None
    for one in reversed(editions(session.vault, spool(session, attempt, name).name)):
        copied = one.read()
        if copied.is_whole:
            return copied.data
        if most is None or len(copied.data) > len(most):
            most = copied.data
    return most
