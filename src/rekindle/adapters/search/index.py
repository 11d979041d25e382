"""The index: one SQLite file beside the store, which each search brings up to date, and rebuilds if damaged.

Several processes may search at once: one of them updates, the others wait for it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from typing import TypeVar

from rekindle.adapters.search.updating import SCHEMA, VERSION, Update
from rekindle.core.masking import Masker
from rekindle.core.search import CLOSE, OPEN, Hit, hit
from rekindle.ports.errors import RekindleError
from rekindle.ports.search import SearchOrder

T = TypeVar("T")

_ORDERS: dict[SearchOrder, str] = {"best": "rank, documents.rowid DESC", "newest": "a.at DESC, documents.rowid DESC"}
_SNIPPET_WORDS = 24
_BUSY_SECONDS = 60.0


class SearchFailed(RekindleError):
    """The index cannot be used."""

    code = "search"


class SearchIndex:
    """`masker` makes the masker for a session's texts."""

    def __init__(self, path: str, sessions: str, masker: Callable[[str], Masker]) -> None:
        self._path = path
        self._sessions = sessions
        self._masker = masker

    def search(
        self,
        query: str,
        now: int,
        *,
        sessions: Collection[str] | None = None,
        limit: int = 20,
        order: SearchOrder = "best",
    ) -> list[Hit]:
        """Take in what is new (`now` in nanoseconds), then search in all sessions or in some. Raises SearchFailed."""

        def work(connection: sqlite3.Connection) -> list[Hit]:
            with self._locked():
                Update(connection, self._sessions, self._masker, now).run()
            return _search(connection, query, sessions, limit, order)

        try:
            return self._with_connection(work)
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise self._failed(error) from error
        except OSError as error:
            raise self._failed(error) from error
        try:
            with self._locked():
                self._throw_away()
            return self._with_connection(work)
        except (OSError, sqlite3.Error) as error:
            raise self._failed(error) from error

    def _with_connection(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._locked():
            connection = self._open()
        with closing(connection):
            return work(connection)

    def _open(self) -> sqlite3.Connection:
        """The index, empty if there was none or one of another version."""
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = OFF").close()  # it can be made again
            [version] = connection.execute("PRAGMA user_version").fetchone()
            if version == VERSION:
                return connection
            if version == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchall():
                connection.execute("PRAGMA journal_mode = WAL").close()
                connection.execute("BEGIN")
                for statement in SCHEMA:
                    connection.execute(statement)
                connection.execute("COMMIT")
                return connection
        except BaseException:
            connection.close()
            raise
        connection.close()
        self._throw_away()
        return self._open()

    def _throw_away(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path + suffix)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        fd = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def _failed(self, error: Exception) -> SearchFailed:
        why = error.strerror if isinstance(error, OSError) else str(error)
        return SearchFailed(f"{self._path}: {why}", "the index can be deleted; it is made again by the next search")


def _search(
    connection: sqlite3.Connection, query: str, sessions: Collection[str] | None, limit: int, order: SearchOrder
) -> list[Hit]:
    chosen = "" if sessions is None else f" AND a.session IN ({', '.join('?' * len(sessions))})"
    joined = "FROM documents JOIN attempts a ON a.key = documents.rowid >> 24 WHERE documents MATCH ?"
    ordered = connection.execute(
        f"SELECT documents.rowid {joined}{chosen} ORDER BY {_ORDERS[order]} LIMIT ?", (query, *(sessions or ()), limit)
    )
    rows = [row for (row,) in ordered]
    # Snippets only of those that are shown: to make one, its text is read and taken apart.
    shown = connection.execute(
        f"SELECT documents.rowid, a.session, a.number, kind, snippet(documents, 0, ?, ?, '…', ?) {joined}"
        f" AND documents.rowid IN ({', '.join(map(str, rows))})",
        (OPEN, CLOSE, _SNIPPET_WORDS, query),
    )
    found = {row: hit(*columns) for row, *columns in shown}
    return [found[row] for row in rows if row in found]


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether a new file would help; a full disk, for example, would stay full."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT)
