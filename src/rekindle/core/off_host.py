"""What a host keeps elsewhere of a session, so that another can take it over: its names, and what it says. Pure.

A file of the session's folder is a stream named PATH@EDITION. An edition goes on while its file only grows; a file that
was written anew begins another one, and only the last edition of each counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from rekindle.core.moving import OF_A_SESSION

#: What says where everything belongs; each edition is the whole of it.
STATE: Final = "state"
TREES: Final = "tree/"
#: The host of a session that was never copied.
UNKNOWN_HOST: Final = "another host"
_GROWING: Final = frozenset({"out", "in", "err"})
_OF_AN_ATTEMPT: Final = frozenset({*_GROWING, "exit", "identity", "progress", "seen", "spec.json"})
_RECORD: Final = re.compile(r"vault/transcript-[0-9a-f]{1,64}\.[0-9]{1,9}")
_TREE: Final = re.compile(r"tree/([0-9]{8,12})")
_EDITION: Final = re.compile(r"(.+)@([0-9]{1,9})")


class CopyState(msgspec.Struct, frozen=True, kw_only=True):
    """What the last copy of a session says about itself. `at` is when it was begun: it has all that was there then.

    `record` is the copy of the agent's own record, in the vault; `tree` the newest snapshot that was copied. `bytes` is
    how many there are of all that counts, this not included: fewer are there only if somebody has taken some away.
    """

    host: str
    at: float
    attempt: int
    cwd: str
    repository: str | None
    worktree: str | None
    branch: str | None
    token: str | None
    record: str | None
    tree: int = 0
    notes: list[str] = []
    bytes: int = 0


def is_growing(path: str) -> bool:
    """Whether a file of a session's folder is only ever added to."""
    return _RECORD.fullmatch(path) is not None or path.rpartition("/")[2] in _GROWING


def is_wanted(path: str) -> bool:
    """Whether a file of a session's folder is copied; what is not, no other host may put in its place either."""
    if path in OF_A_SESSION or _RECORD.fullmatch(path) is not None:
        return True
    attempt, _, name = path.partition("/")
    is_attempt = attempt.isascii() and attempt.isdigit() and len(attempt) < 10 and attempt[:1] != "0"
    return is_attempt and name in _OF_AN_ATTEMPT


def stream_of(path: str, edition: int) -> str:
    """The name of a file's edition."""
    return f"{path}@{edition}"


def parted(stream: str) -> tuple[str, int] | None:
    """The file and the edition that a stream is of; None if it is of no file."""
    found = _EDITION.fullmatch(stream)
    return (found[1], int(found[2])) if found is not None else None


def newest(streams: Iterable[str]) -> dict[str, int]:
    """The last edition of each file."""
    found: dict[str, int] = {}
    for path, edition in filter(None, map(parted, streams)):
        found[path] = max(edition, found.get(path, 0))
    return found


def tree_number(stream: str) -> int | None:
    """The number of the newest snapshot in a bundle; None if the stream is none."""
    found = _TREE.fullmatch(stream)
    return int(found[1]) if found is not None else None


def counted(lengths: Mapping[str, int]) -> int:
    """How many bytes count of what was copied: the last editions of files, and the snapshots."""
    last = newest(lengths)
    files = (stream_of(path, edition) for path, edition in last.items() if path != STATE and is_wanted(path))
    return sum(lengths[one] for one in (*files, *(one for one in lengths if tree_number(one) is not None)))


def behind(copied_at: float | None, now: float, *, is_over: bool, changed_at: float) -> float | None:
    """How many seconds of a session its copy may lack; None if there is no copy, 0 if nothing was added since."""
    if copied_at is None:
        return None
    if is_over and copied_at >= changed_at:
        return 0.0
    return max(0.0, now - copied_at)


class RecordLook(msgspec.Struct, frozen=True):
    """How long an agent's own record was `at` a time, and when it had been changed last."""

    at: float
    size: int
    changed: float


def kept_since(looks: Sequence[RecordLook], held: int, changed: float) -> RecordLook | None:
    """The newest look at a record after which a copy has all that was there then; None: after none of them.

    `held`: how much of the record the copy has; `changed`: when it was written last. Neither is enough: what is added
    to the record while its copy is written is older than the copy, and a record that was written anew may be shorter.
    """
    return next((one for one in reversed(looks) if one.size <= held and one.changed <= changed), None)


def source_of(name: str, sources: Sequence[str]) -> str | None:
    """Where a repository is fetched from: `sources` are NAME=ADDRESS, `*` is any name, `{name}` is replaced."""
    for wanted in (name, "*"):
        for one in sources:
            key, _, address = one.partition("=")
            if key == wanted and address:
                return address.replace("{name}", name)
    return None
