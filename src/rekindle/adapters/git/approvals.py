"""The filters and merge drivers of repositories that this user has approved.

One file per repository, in the user's state folder. A yes covers one definition in one repository: another definition,
or another repository in the same place, is asked about again.
"""

from __future__ import annotations

import hashlib
import os

import msgspec

from rekindle import files
from rekindle.core.git_trust import Definition
from rekindle.settings import load

_FOLDER = "approved-filters"


class _Approved(msgspec.Struct, frozen=True):
    repository: str
    inode: int
    fingerprints: list[str]


def approved(common: str) -> frozenset[str]:
    """The fingerprints of what is approved in the repository with this common git folder."""
    found = _read(common)
    return frozenset(found.fingerprints) if found is not None else frozenset()


def approve(common: str, defined: list[Definition]) -> None:
    """Remember the approval of exactly these definitions. Raises OSError."""
    path = _path(common)
    files.make_private(os.path.dirname(path))
    kept = _Approved(_name(common), _inode(common), sorted(one.fingerprint for one in defined))
    files.replace(path, msgspec.json.encode(kept), mode=0o600, durable=True)


def forget(common: str) -> bool:
    """Withdraw an approval; False if there was none. Raises OSError."""
    try:
        os.unlink(_path(common))
    except FileNotFoundError:
        return False
    return True


def _read(common: str) -> _Approved | None:
    try:
        found = msgspec.json.decode(files.read(_path(common)), type=_Approved)
        return found if (found.repository, found.inode) == (_name(common), _inode(common)) else None
    except (OSError, msgspec.DecodeError):
        return None


def _name(common: str) -> str:
    return os.path.realpath(common).encode("utf-8", "backslashreplace").decode()


def _inode(common: str) -> int:
    return os.stat(common).st_ino


def _path(common: str) -> str:
    name = hashlib.sha256(os.fsencode(os.path.realpath(common))).hexdigest()[:32]
    return os.path.join(load(os.environ, None).state_dir, _FOLDER, f"{name}.json")
