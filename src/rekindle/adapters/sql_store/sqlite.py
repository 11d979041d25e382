"""All that is SQLite's own: pragmas, transactions, what its errors mean. Everything else here is portable SQL."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import QueuePool

from rekindle.ports.store import DamagedStore, StoreError

BUSY_SECONDS = 5.0
#: Put into the execution options of a connection whose transaction will write.
WRITES = "rekindle_writes"
#: Files of one database, beside the database itself.
COMPANIONS = ("-wal", "-shm")

_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    f"PRAGMA busy_timeout={int(BUSY_SECONDS * 1000)}",
)


def make_engine(url: sa.URL) -> sa.Engine:
    """One connection, kept open; any thread may use it, one at a time."""
    engine = sa.create_engine(
        url,
        poolclass=QueuePool,
        pool_size=1,
        max_overflow=0,
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
    )
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver begins nothing by itself: `_begin` does
    connection.text_factory = _text
    for pragma in _PRAGMAS:
        connection.execute(pragma).close()


def _text(raw: bytes) -> str:
    """Bytes that are no longer text become text that is not JSON, so that one bad row does not hide the others."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return "\0" + raw.decode("latin-1")


def _begin(connection: sa.Connection) -> None:
    """A writer takes the lock at once: upgrading from reading to writing could fail in the middle."""
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def explain(error: sa.exc.DBAPIError, place: str) -> StoreError:
    """What a failure means to a person."""
    cause = error.orig
    number = cause.sqlite_errorcode & 0xFF if isinstance(cause, sqlite3.Error) and _has_code(cause) else 0
    if number in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return DamagedStore(f"{place} is damaged: {cause}", "Start again: it will be set aside and rebuilt.")
    if number == sqlite3.SQLITE_BUSY:
        hint = "Find out which process holds it (fuser), or try again."
        return StoreError(f"{place} is held by another process for more than {BUSY_SECONDS:g} s", hint, code="busy")
    if number == sqlite3.SQLITE_FULL:
        return StoreError(f"{place} cannot grow: the disk is full", "Free some room.", code="disk_full")
    return StoreError(f"{place}: {cause}", "See whether the file, its folder and the disk can be written.")


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file's content is at fault, and not its place, its rights or somebody who holds it.

    The plain SQLITE_ERROR is an unknown file format, or a table that is not where it must be.
    """
    damage = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT)
    return _has_code(error) and error.sqlite_errorcode & 0xFF in damage


def roll_back(path: str) -> None:
    """Have SQLite undo what a killed process had begun to write: until then nobody can read the file."""
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as connection:
        connection.execute("SELECT 1 FROM sqlite_master").fetchall()


def is_half_written(error: sqlite3.Error) -> bool:
    """Whether the file can be read only after `roll_back`."""
    return _has_code(error) and error.sqlite_errorcode == sqlite3.SQLITE_READONLY_ROLLBACK


def connect_to_read(path: str) -> sqlite3.Connection:
    """A connection that changes nothing, not even by closing."""
    place = quote(os.fsencode(os.path.abspath(path)))
    return sqlite3.connect(f"file:{place}?mode=ro", uri=True, timeout=BUSY_SECONDS)


def _has_code(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", None) is not None
