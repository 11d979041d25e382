"""Answers to requests with a key, one file each, readable for this user only. See `rekindle.ports.kept_answers`."""

from __future__ import annotations

import contextlib
import os
import time

import msgspec

from rekindle import files
from rekindle.ports.kept_answers import KeptAnswer

#: How long an answer is kept.
_SECONDS = 86400.0
#: How often old ones are looked for, and how many there are at most.
_SWEEP_SECONDS, _MOST = 600.0, 5000
_LONGEST = 4 << 20


class AnswerFiles:
    """`folder` is made when the first answer is kept."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._swept = 0.0

    def get(self, name: str) -> KeptAnswer | None:
        """The answer of that name."""
        try:
            return msgspec.msgpack.decode(files.read_short(self._path(name), _LONGEST), type=KeptAnswer)
        except (FileNotFoundError, msgspec.DecodeError):  # half a file is none: it was never acknowledged
            return None

    def put(self, name: str, answer: KeptAnswer) -> None:
        """Keep an answer; it is on disk when this returns."""
        files.make_private(self._folder)
        if time.monotonic() - self._swept > _SWEEP_SECONDS:
            self._swept = time.monotonic()
            self._sweep()
        files.replace(self._path(name), msgspec.msgpack.encode(answer), mode=0o600, durable=True)

    def drop(self, name: str) -> None:
        """Forget an answer."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path(name))

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def _sweep(self) -> None:
        with os.scandir(self._folder) as found:
            ages = sorted((_changed_at(one), one.path) for one in found)
        old = time.time() - _SECONDS
        for place, (at, path) in enumerate(ages):
            if at < old or len(ages) - place > _MOST:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)


def _changed_at(entry: os.DirEntry[str]) -> float:
    """When a file was written; one that is gone by now counts as old."""
    try:
        return entry.stat(follow_symlinks=False).st_mtime
    except FileNotFoundError:
        return 0.0
