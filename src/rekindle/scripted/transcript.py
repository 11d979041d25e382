"""The agent's own record of a conversation: one JSON line per fact, on disk before anything is built on it.

There is no lock, as with most real agents: two processes that load the same session both write. A torn last line is
skipped by the reader and closed by the next writer, so that nothing is glued to it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from rekindle.scripted.conversation import Record

_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}")
_SUFFIX = ".jsonl"


def path_of(home: Path, session_id: str) -> Path | None:
    """Where the transcript of a session is; None for an id that cannot be one."""
    return home / f"{session_id}{_SUFFIX}" if _SESSION_ID.fullmatch(session_id) else None


def session_ids(home: Path) -> list[str]:
    """The sessions that have a transcript, the one that was written last first."""
    found: list[tuple[float, str]] = []
    for path in home.glob(f"*{_SUFFIX}"):
        try:
            found.append((path.stat().st_mtime, path.stem))
        except FileNotFoundError:
            continue
    return [session_id for _, session_id in sorted(found, reverse=True)]


def read(path: Path) -> Iterator[Record]:
    """The records of a transcript; a line that is not a record is skipped. Raises FileNotFoundError."""
    for line in path.read_bytes().split(b"\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


class Transcript:
    """An open transcript, appended to and synced line by line."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = not path.exists()
        self._fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if new:
            _sync_folder(path.parent)
        size = os.fstat(self._fd).st_size
        self._torn = bool(size) and os.pread(self._fd, 1, size - 1) != b"\n"

    def append(self, record: Record) -> None:
        """Write one record; it is on disk when this returns."""
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
        rest = memoryview(b"\n" + line if self._torn else line)
        self._torn = True  # until all of it is written: a full disk can stop us anywhere
        while rest:
            rest = rest[os.write(self._fd, rest) :]
        self._torn = False
        os.fsync(self._fd)

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
