"""What the agent's own record says of a session, found by its folder alone: the vault knows where each record lies."""

from __future__ import annotations

import os

from rekindle import files
from rekindle.adapters.session_folder.layout import SessionFolder
from rekindle.adapters.vault.edition import EditionContent
from rekindle.adapters.vault.vault import Listed, editions, is_transcript
from rekindle.agents.base.acknowledged import Spoken
from rekindle.agents.base.transcript import TranscriptDialect

_Look = tuple[tuple[int, int], ...]


class OwnRecord:
    """Read again only when something has changed. A session has several records if its conversation started over."""

    def __init__(self, own: SessionFolder, dialect: TranscriptDialect) -> None:
        self._own = own
        self._dialect = dialect
        self._paths: dict[str, str] = {}  # of a record, by the path of its copy
        self._look: _Look | None = None
        self._turns: tuple[Spoken, ...] = ()

    def turns(self) -> tuple[Spoken, ...]:
        """All that was said, as far as the agent wrote it down, the oldest record first."""
        listed = _transcripts(self._own)
        if self._look is None or self._look != self._looked(listed):
            records = sorted((self._read(of) for of in listed), key=lambda found: found[0])
            self._turns = tuple(turn for _, data in records for turn in self._dialect.read(data).turns)
            self._look = self._looked(listed)
        return self._turns

    def _read(self, of: list[Listed]) -> tuple[float, bytes]:
        """When the copying of a record began, and its content: the file itself unless the copy has more."""
        first, copied = of[0].read(), of[-1].read()
        begun_at = first.about.begun_at if first.about is not None else 0.0
        return begun_at, self._newest(of[-1], copied)

    def _newest(self, one: Listed, copied: EditionContent) -> bytes:
        if copied.about is None:
            return copied.data
        self._paths[one.path] = copied.about.path
        try:
            there = files.read(copied.about.path)
        except OSError:
            return copied.data
        return there if len(there) >= len(copied.data) else copied.data

    def _looked(self, listed: list[list[Listed]]) -> _Look:
        newest = [of[-1].path for of in listed]
        return tuple(_look(path) for path in (*newest, *(self._paths.get(one, "") for one in newest)))


def copied_size(own: SessionFolder) -> int:
    """How much room the copies of records take: it grows with every new word."""
    return sum(_look(one.path)[0] for of in _transcripts(own) for one in of)


def _transcripts(own: SessionFolder) -> list[list[Listed]]:
    """The editions of each record, oldest first."""
    found: dict[str, list[Listed]] = {}
    for one in editions(own.vault):
        if is_transcript(one.source):
            found.setdefault(one.source, []).append(one)
    return list(found.values())


def _look(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return -1, 0
    return status.st_size, status.st_mtime_ns
