"""A session's folder, file by file, as it goes into an archive: without environments, locks and sockets, and masked.

The vault is a second copy of what is taken, so only what is nowhere else is taken from it, in its place.
Every kind of file is masked in its own way, so that what reads it on the other machine still can.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator

from rekindle import files
from rekindle.adapters.session_folder.layout import SPOOLS, SessionFolder
from rekindle.adapters.session_folder.spool_files import kept_spool, with_payloads
from rekindle.core.masking import Masker
from rekindle.core.moving import FOLDER, why_not_member
from rekindle.keeper.spec import Layout

#: The names of what lies in a session's folder, and in an attempt's.
_SESSION, _ATTEMPT = SessionFolder(""), Layout("")
#: Slots with a checksum: numbers, pids and times, nothing that anybody said.
_SLOTS = (_ATTEMPT.exit, _ATTEMPT.identity, _ATTEMPT.progress, _ATTEMPT.seen)
#: Folders that hold nothing for an archive: second copies, and orders to run commands.
_NOT_TAKEN = (_SESSION.vault, _SESSION.terminals)


def collected(folder: str, masker: Masker | None, left_out: list[str]) -> Iterator[tuple[str, bytes]]:
    """Relative paths and contents, in order. Without a masker they are as they are. `left_out` is added to."""
    for path in sorted({*_files(folder), *_kept(folder)}):
        name = os.path.basename(path)
        try:
            data = _read(folder, path)
        except FileNotFoundError:
            continue  # a live session's files come and go
        except OSError as error:
            left_out.append(f"{path}: {error.strerror}")
            continue
        if name == _ATTEMPT.spec:
            data = _without_environment(data)
        if masker is not None and name in _SLOTS:
            if masker.data(data) != data:
                left_out.append(f"{path}: it holds a secret")
                continue
        elif masker is not None:
            data = masked(name, data, masker)
        yield path, data


def masked(name: str, data: bytes, masker: Masker) -> bytes:
    """A file's content without its secrets."""
    if name == _ATTEMPT.input:
        return with_payloads(data, masker.lines)
    return masker.lines(data) if name == _ATTEMPT.out or name.endswith((".json", ".jsonl")) else masker.data(data)


def _files(folder: str) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _NOT_TAKEN]
        for name in names:
            path = os.path.join(place, name)
            within = os.path.relpath(path, folder)
            if why_not_member(FOLDER + within) is None and stat.S_ISREG(os.lstat(path).st_mode):
                yield within


def _kept(folder: str) -> Iterator[str]:
    """Spools that were given back, and that the vault has."""
    for attempt in SessionFolder(folder).attempts():
        for name in SPOOLS:
            path = os.path.join(_SESSION.attempt(attempt), name)
            if not os.path.exists(os.path.join(folder, path)):
                yield path


def _read(folder: str, path: str) -> bytes:
    try:
        return files.read(os.path.join(folder, path))
    except FileNotFoundError:
        place, name = os.path.split(os.path.join(folder, path))
        kept = kept_spool(place, name) if name in SPOOLS else None
        if kept is None:
            raise
        return kept


def _without_environment(data: bytes) -> bytes:
    """A spec holds the whole environment of its agent, which stays here whatever is asked for."""
    try:
        spec = json.loads(data)
        return json.dumps({**spec, "env": {}}).encode()
    except (ValueError, TypeError):
        return b"{}"
