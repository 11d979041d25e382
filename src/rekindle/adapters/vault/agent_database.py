"""Reads one conversation out of an agent's own database. It is never written to: its agent may be using it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from urllib.parse import quote

from rekindle.agents.base.kind import DatabaseDialect
from rekindle.agents.base.transcript import Record
from rekindle.ports.records import RecordsError

_PATIENCE = 2.0


def read(dialect: DatabaseDialect, path: str, token: str) -> Record:
    """What the database has of a conversation. Raises RecordsError."""
    if not os.path.isfile(path):
        raise RecordsError(f"{path}: the agent's database is not there", "start the agent once")
    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=_PATIENCE)) as database:
            return dialect.read(database.execute(dialect.query, [token]))
    except sqlite3.Error as error:
        raise RecordsError(f"{path}: the agent's database cannot be read ({error})", "see `rekindle doctor`") from error
