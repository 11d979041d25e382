"""The files of spools: where each is, what is in it and, where it was given back, what the vault has of it."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import BufferedRandom, BufferedReader

from rekindle.adapters.session_folder.layout import SPOOLS, SessionFolder, attempt_of
from rekindle.adapters.vault.vault import Source, editions
from rekindle.agents.base.exchange import SpooledMessage
from rekindle.keeper.input_records import InputReader


def spool(folder: SessionFolder, attempt: int, name: str) -> Source:
    """A keeper's spool (`out` or `in`) of one attempt, under the name that the vault has it."""
    return Source(f"{name}-{attempt}", os.path.join(folder.attempt(attempt), name), attempt)


def spools(folder: SessionFolder) -> list[Source]:
    """The spools of all attempts, whether they are still there or not, oldest first."""
    return [spool(folder, number, name) for number in folder.attempts() for name in SPOOLS]


def read_messages(path: str) -> Iterator[SpooledMessage]:
    """The messages in an input spool, as far as they are whole. Raises OSError."""
    with open(path, "rb") as file:
        for record in InputReader(file):
            yield SpooledMessage(record.n, record.prompt, record.payload)


def with_payloads(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """An input spool whose messages say something else; what is torn at its end is not taken."""
    records = InputReader(io.BytesIO(data))
    return b"".join(replace(record, payload=change(record.payload)).encode() for record in records)


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
