"""Looks over thousands of feature folders: the tail of each journal, or what is known of it since last time."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
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
        try:
            here = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return self._kept_if_new({}, known)
        try:
            return self._kept_if_new(self._looked_over(here, known), known)
        finally:
            os.close(here)

    def _looked_over(self, here: int, known: Mapping[str, FeatureTail]) -> dict[str, FeatureTail]:
        found: dict[str, FeatureTail] = {}
        for name in feature_names(self._folder, known):
            try:
                status = os.stat(f"{name}/{EVENTS}", dir_fd=here)  # not to walk the whole path thousands of times
            except OSError:
                found[name] = FeatureTail(name, 0, 0, 0, None)
                continue
            old = known.get(name)
            if (
                old is not None
                and old.mtime_ns == status.st_mtime_ns
                and old.size == status.st_size
                and old.inode == status.st_ino
            ):
                found[name] = old
                continue
            tail, problem = None, None
            try:
                tail = read_tail(f"{self._folder}/{name}/{EVENTS}")
            except OSError as error:
                problem = error.strerror
            found[name] = FeatureTail(name, status.st_size, status.st_mtime_ns, status.st_ino, tail, problem)
        return found

    def _kept_if_new(self, found: dict[str, FeatureTail], known: Mapping[str, FeatureTail]) -> list[FeatureTail]:
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
