"""What a person wants to know of every feature, kept from one call to the next.

`rekindle` with no arguments runs as often as `git status`: it reads no journal that has not changed, and while nothing
has changed it needs neither msgspec nor any other package. Light standard library only, until a journal is read.
"""

from __future__ import annotations

import json
import os
import zlib

from rekindle import files
from rekindle.core.names import why_not

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any

_FORMAT = 3


def summaries(progress: str, cache_dir: str) -> dict[str, dict[str, Any]]:
    """The summary of every feature below a progress folder; one that cannot be read has an `error` instead."""
    cache = os.path.join(cache_dir, "journals", f"{zlib.crc32(os.fsencode(progress)):08x}.status")
    known = _known(cache, progress)
    found: dict[str, dict[str, Any]] = {}
    kept: dict[str, list[Any]] = {}
    for name in feature_names(progress):
        path = os.path.join(progress, name, files.EVENTS)
        try:
            status = os.stat(path)
            stamp = [status.st_size, status.st_mtime_ns, status.st_ino]
            old = known.get(name)
            if old is None or old[0] != stamp:
                old = [stamp, analysed(path, cache_dir)]
            kept[name] = old
            found[name] = old[1]
        except FileNotFoundError:
            continue
        except OSError as error:
            found[name] = {"error": error.strerror or str(error)}
    if kept != known:
        _store(cache, {"v": _FORMAT, "folder": progress, "features": kept})
    return found


def feature_names(progress: str, fit: Container[str] = ()) -> list[str]:
    """The folders that can be features, by name. Those in `fit` are known to be names."""
    try:
        with os.scandir(progress) as entries:
            return sorted(
                entry.name
                for entry in entries
                if (entry.name in fit or why_not(entry.name) is None) and _is_folder(entry)
            )
    except (FileNotFoundError, NotADirectoryError):
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def analysed(path: str, cache_dir: str, owned: str | None = None) -> dict[str, Any]:
    """The summary of one journal, read now. `owned` is a run that a live process holds."""
    from pathlib import Path

    from rekindle.adapters.journal_file.read import read_state
    from rekindle.adapters.journal_file.snapshot import SnapshotCache
    from rekindle.core.journal.analysis import analyse
    from rekindle.core.journal.summary import summary

    state = read_state(Path(path), SnapshotCache(Path(cache_dir, "journals")))
    return summary(analyse(state, owned=frozenset({owned} if owned else ())))


def _known(cache: str, progress: str) -> dict[str, list[Any]]:
    try:
        kept = json.loads(files.read(cache))
        if kept["v"] != _FORMAT or kept["folder"] != progress:
            return {}
        features: dict[str, list[Any]] = kept["features"]
        for stamp, summary in features.values():
            if len(stamp) != 3 or not isinstance(summary["interrupted_sids"], list):
                return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    return features


def _store(path: str, document: dict[str, Any]) -> None:
    try:
        files.make_private(os.path.dirname(path))
        files.replace(path, json.dumps(document).encode(), mode=0o600)
    except OSError:
        return
