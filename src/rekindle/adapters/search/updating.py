"""Brings the index up to date with the sessions' folders.

An attempt that has ended is read once. One that lives is read again when its spools have grown, and only what is new
is put in. Text is masked before it is stored, so that the index never holds a secret.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby

from rekindle.adapters.search.documents import Document, digest, documents
from rekindle.adapters.session_folder.conversation import Extent, extent, open_conversation
from rekindle.adapters.session_folder.layout import session_folder
from rekindle.core.masking import Masker
from rekindle.core.search import searchable

VERSION = 1
SCHEMA = (
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, look INTEGER NOT NULL)",
    "CREATE TABLE attempts (key INTEGER PRIMARY KEY, session TEXT NOT NULL, number INTEGER NOT NULL,"
    " sizes TEXT NOT NULL, at REAL NOT NULL, count INTEGER NOT NULL, digest BLOB NOT NULL, ended INTEGER NOT NULL,"
    " UNIQUE (session, number))",
    "CREATE VIRTUAL TABLE documents USING fts5(text, kind UNINDEXED, tokenize = 'unicode61 remove_diacritics 2')",
    f"PRAGMA user_version = {VERSION}",
)
#: A document's row: its attempt's key, then its place in the attempt.
_PLACE_BITS = 24
#: A folder may change twice within one tick of the file system's clock.
_TICK = 1_000_000_000
_LOOK_AGAIN = -1


@dataclass(frozen=True)
class _Known:
    """What is indexed of an attempt. `digest` is of all documents but the last one, which may still grow."""

    key: int
    sizes: str
    count: int
    digest: bytes
    ended: bool


class Update:
    """One update; the caller holds the index's lock. Every session is taken in whole or not at all."""

    def __init__(
        self, connection: sqlite3.Connection, sessions: str, masker: Callable[[str], Masker], now: int
    ) -> None:
        self._connection = connection
        self._sessions = sessions
        self._masker = masker
        self._now = now

    def run(self) -> None:
        """Go through all sessions."""
        known: dict[str, int] = dict(self._connection.execute("SELECT id, look FROM sessions"))
        try:
            with os.scandir(self._sessions) as entries:
                looks = {entry.name: entry.stat().st_mtime_ns for entry in entries if entry.is_dir()}
        except FileNotFoundError:
            looks = {}
        for name, look in looks.items():
            if known.get(name) != look:
                self._session(name, look, known.get(name))
        for name in known.keys() - looks.keys():
            with self._transaction():
                self._forget(name)

    def _session(self, name: str, look: int, before: int | None) -> None:
        """`look` is remembered once every attempt has ended: nothing has to be looked at until the folder changes."""
        own = session_folder(self._sessions, name)
        known = self._known(name)
        extents = {number: extent(own.path, number) for number in own.attempts()}
        changed = {
            number: now
            for number, now in extents.items()
            if number not in known or (not known[number].ended and known[number].sizes != _shown(now))
        }
        ended = {number for number in known if known[number].ended}
        if changed:
            conversation = open_conversation(own.path, changed.keys())
            entries = conversation.poll()
            ended |= conversation.ended
        after = look if extents.keys() <= ended and look < self._now - _TICK else _LOOK_AGAIN
        if not changed and after == before:
            return
        with self._transaction():
            if changed:
                masker = self._masker(name)
                spoken = {number: list(of) for number, of in groupby(entries, key=lambda entry: entry.attempt)}
                for number, size in changed.items():
                    found = documents(spoken.get(number, []), masker)
                    self._put(name, number, size, known.get(number), found, ended=number in ended)
            self._connection.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?)", (name, after))

    def _known(self, session: str) -> dict[int, _Known]:
        rows = self._connection.execute(
            "SELECT number, key, sizes, count, digest, ended FROM attempts WHERE session = ?", (session,)
        )
        return {row[0]: _Known(*row[1:]) for row in rows}

    def _put(
        self, session: str, number: int, size: Extent, known: _Known | None, found: Sequence[Document], *, ended: bool
    ) -> None:
        if known is None:
            row = (session, number, _shown(size), size.at, len(found), digest(found[:-1]), ended)
            columns = "session, number, sizes, at, count, digest, ended"
            made = self._connection.execute(f"INSERT INTO attempts ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            assert made.lastrowid is not None
            key, kept = made.lastrowid, 0
        else:
            key = known.key
            goes_on = len(found) >= known.count and digest(found[: max(0, known.count - 1)]) == known.digest
            kept = max(0, known.count - 1) if goes_on else 0
            self._connection.execute(
                "DELETE FROM documents WHERE rowid BETWEEN ? AND ?", (_row(key, kept), _row(key + 1, 0) - 1)
            )
            self._connection.execute(
                "UPDATE attempts SET sizes = ?, at = ?, count = ?, digest = ?, ended = ? WHERE key = ?",
                (_shown(size), size.at, len(found), digest(found[:-1]), ended, key),
            )
        self._connection.executemany(
            "INSERT INTO documents (rowid, text, kind) VALUES (?, ?, ?)",
            ((_row(key, at), searchable(one.text), one.kind) for at, one in enumerate(found[kept:], start=kept)),
        )

    def _forget(self, session: str) -> None:
        for one in self._known(session).values():
            rows = (_row(one.key, 0), _row(one.key + 1, 0) - 1)
            self._connection.execute("DELETE FROM documents WHERE rowid BETWEEN ? AND ?", rows)
        self._connection.execute("DELETE FROM attempts WHERE session = ?", (session,))
        self._connection.execute("DELETE FROM sessions WHERE id = ?", (session,))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")


def _row(key: int, place: int) -> int:
    return key << _PLACE_BITS | place


def _shown(size: Extent) -> str:
    return " ".join(map(str, size.sizes))
