"""Looks over thousands of feature folders: the tail of each journal, or what is known of it since last time."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

from rekindle import files
from rekindle.adapters.journal_file.read import read_tail
from rekindle.adapters.journal_file.summaries import feature_names
from rekindle.files import EVENTS
from rekindle.ports.workspace import FeatureTail

_decode = msgspec.msgpack.Decoder(dict[str, FeatureTail]).decode


class FeatureScan:
    """The features below one progress folder. What is unchanged in size, time and inode is not opened again."""

    def __init__(self, folder: str, cache: Path | None) -> None:
        self._folder = folder
        name = hashlib.blake2b(os.fsencode(os.path.realpath(folder)), digest_size=12).hexdigest()
        self._cache = cache / f"{name}.tails" if cache is not None else None

    def features(self) -> list[FeatureTail]:
        """All features, by name. A folder without a journal is listed with size 0; a missing folder has none."""
        known = self._known()
        found: dict[str, FeatureTail] = {}
        for name in feature_names(self._folder):
            path = f"{self._folder}/{name}/{EVENTS}"
            try:
                status = os.stat(path)
            except OSError:
                found[name] = FeatureTail(name, 0, 0, 0, None)
                continue
            old = known.get(name)
            if old is not None and (old.size, old.mtime_ns, old.inode) == (
                status.st_size,
                status.st_mtime_ns,
                status.st_ino,
            ):
                found[name] = old
                continue
            tail, problem = None, None
            try:
                tail = read_tail(path)
            except OSError as error:
                problem = error.strerror
            found[name] = FeatureTail(name, status.st_size, status.st_mtime_ns, status.st_ino, tail, problem)
        if found != known:
            self._keep({name: item for name, item in found.items() if item.error is None})
        return list(found.values())

    def _known(self) -> dict[str, FeatureTail]:
        if self._cache is None:
            return {}
        try:
            return _decode(files.read(self._cache))
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return {}

    def _keep(self, found: dict[str, FeatureTail]) -> None:
        if self._cache is None:
            return
        try:
            files.make_private(self._cache.parent)
            files.replace(self._cache, msgspec.msgpack.encode(found), mode=0o600)
        except (OSError, UnicodeEncodeError):
            return
