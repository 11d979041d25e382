"""The sessions of a store for a listing, read with the standard library alone: `ps` must start fast.

Read-only, and next to a daemon that writes. No SQLAlchemy, no msgspec, nothing of the rest of the store.
"""

from __future__ import annotations

import os
import sqlite3
from typing import Any

_COLUMNS = ("id", "agent", "state", "title", "cwd", "feature", "changed_at", "if_alive", "if_dead")


def rows(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The sessions, oldest first; none if there is no store yet. Raises sqlite3.Error if the file is not a store."""
    return [dict(zip(_COLUMNS, row, strict=True)) for row in _select(path, _COLUMNS)]


def bodies(path: str | os.PathLike[str]) -> list[str]:
    """The sessions as the store keeps them, whole, oldest first."""
    return [str(row[0]) for row in _select(path, ("body",))]


def is_made(path: str | os.PathLike[str]) -> bool:
    """Whether the file is there and has a place for sessions. Raises sqlite3.Error."""
    return os.path.exists(path) and bool(_query(path, "SELECT 1 FROM sqlite_master WHERE name = 'sessions'"))


#: A job that was submitted, asked for again or taken up again, and has not ended since.
_OPEN_JOB = """
SELECT 1 FROM facts AS begun
WHERE stream = 'job' AND kind IN ('job_submitted', 'job_retry_asked', 'job_taken_up') AND NOT EXISTS (
    SELECT 1 FROM facts AS over
    WHERE over.stream = 'job' AND over.subject = begun.subject AND over.kind = 'job_over' AND over.seq > begun.seq
) LIMIT 1
"""


def needs_daemon(path: str | os.PathLike[str]) -> bool:
    """Whether a job is open, or a session has a live agent, as far as is recorded, or something due by itself."""
    return is_half_rebuilt(path) or (
        is_made(path) and bool(_query(path, "SELECT 1 FROM sessions WHERE attended LIMIT 1") or _query(path, _OPEN_JOB))
    )


def is_half_rebuilt(path: str | os.PathLike[str]) -> bool:
    """Whether sessions may be missing from it: see `open.rebuild_due`."""
    return os.path.exists(f"{os.fspath(path)}.rebuild-due")


def _select(path: str | os.PathLike[str], columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    if not is_made(path):
        return []  # the daemon is about to make it
    return _query(path, f"SELECT {', '.join(columns)} FROM sessions ORDER BY created_at, id")


def facts(path: str | os.PathLike[str], stream: str, subject: str) -> list[str]:
    """The facts about a subject as JSON texts, oldest first. Raises sqlite3.Error."""
    found = _query(path, "SELECT body FROM facts WHERE stream = ? AND subject = ? ORDER BY seq", stream, subject)
    return [str(body) for (body,) in found]


def placed(
    path: str | os.PathLike[str], stream: str, subject: str | None, kinds: tuple[str, ...]
) -> list[tuple[int, str, str]]:
    """The place, the subject and the JSON text of the facts of a stream, in order. Raises sqlite3.Error."""
    if not is_made(path):
        return []
    query, values = "SELECT seq, subject, body FROM facts WHERE stream = ?", [stream]
    if subject is not None:
        query, values = f"{query} AND subject = ?", [*values, subject]
    if kinds:
        query, values = f"{query} AND kind IN ({', '.join('?' * len(kinds))})", [*values, *kinds]
    return [(int(seq), str(about), str(body)) for seq, about, body in _query(path, f"{query} ORDER BY seq", *values)]


def _query(path: str | os.PathLike[str], query: str, *values: str) -> list[tuple[Any, ...]]:
    """Even a reader needs room, for the index of the log. On a full disk a store without a log is read as it lies."""
    try:
        return _read(path, "mode=ro", query, values)
    except sqlite3.OperationalError:
        log = f"{os.fspath(path)}-wal"
        if os.path.exists(log) and os.path.getsize(log) > 0:
            raise
        return _read(path, "mode=ro&immutable=1", query, values)


def _read(path: str | os.PathLike[str], how: str, query: str, values: tuple[str, ...]) -> list[tuple[Any, ...]]:
    place = os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(f"file:{place}?{how}", uri=True, timeout=5.0)
    try:
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        return connection.execute(query, values).fetchall()
    finally:
        connection.close()
