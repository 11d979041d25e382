"""Facts that no session's folder tells, kept in files beside the store as well: a lost store loses no job.

These are the streams of jobs and schedules, what was asked about features, and what people have answered for all
sessions together. A fact is committed to the store first; its line follows before the caller is told. Who is killed in
between finds a file that is too short at the next start, and completes it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from rekindle import files
from rekindle.adapters.sql_store.codec import Unreadable, decode_told, encode_fact
from rekindle.core.fact import Fact
from rekindle.core.governor import facts as g
from rekindle.core.inbox.features import FeatureBegan
from rekindle.core.job.facts import JobSubmitted
from rekindle.core.streams import STREAMS, StreamKind
from rekindle.ports.store import Recorded, Store, StoreAccess, StoreChange, commit_one

log = logging.getLogger(__name__)
Found = TypeVar("Found")

#: What is kept of the governor: not what it hears from sessions, which tell it again.
_ANSWERS: Final = (
    g.GovernorAsked,
    g.GovernorAnswered,
    g.GovernorClosed,
    g.RestartsAllowed,
    g.RestartsStopped,
    g.CapRaised,
)
#: Each stream that is kept, and what its first fact must be.
_FIRST: Final[dict[StreamKind, type[Fact] | tuple[type[Fact], ...]]] = {
    "job": JobSubmitted,
    "feature": FeatureBegan,
    "governor": _ANSWERS,
}
_NAME: Final = re.compile(r"[0-9A-Za-z_-]{1,64}")
_PAGE: Final = 5000


class KeptStreams:
    """A store access that also writes those files. See `rekindle.ports.store.StoreAccess`."""

    def __init__(self, access: StoreAccess, folder: str) -> None:
        self._access = access
        self._folder = folder
        self._turn = asyncio.Lock()

    async def commit(self, change: StoreChange) -> list[Recorded]:
        """Make a change; what is kept of it is on disk twice when this returns, if the disk takes it."""
        made = await self._access.commit(change)
        kept = _kept(change.stream, change.facts)
        if kept:
            async with self._turn:
                try:
                    await asyncio.to_thread(_append, _path(self._folder, change.stream, change.subject), kept)
                except OSError as error:
                    log.warning("%s of %s is in the store only: %s", change.stream, change.subject, error)
        return made

    async def ask(self, question: Callable[[Store], Found]) -> Found:
        """What the store answers."""
        return await self._access.ask(question)


def has_any(folder: str) -> bool:
    """Whether there is something that a new store would lack."""
    return any(_subjects(folder, stream) for stream in _FIRST)


def complete(store: Store, folder: str) -> None:
    """Write again every file that has fewer facts than the store. Raises OSError."""
    for stream in _FIRST:
        for subject, facts in _streams(store, stream):
            path = _path(folder, stream, subject)
            if _lines(path) < len(facts):
                files.make_private(os.path.dirname(path))
                files.replace(path, _text(facts), mode=0o600, durable=True)


def put_back(store: Store, folder: str) -> list[str]:
    """Commit what the files have and a new store has not. Returns sentences about it."""
    told, counts = list[str](), dict[StreamKind, int]()
    for stream in _FIRST:
        known = {subject for subject, _ in _streams(store, stream)}
        for subject in _subjects(folder, stream):
            if subject in known:
                continue
            facts = _read(_path(folder, stream, subject), stream)
            if not facts or not isinstance(facts[0], _FIRST[stream]):
                told.append(f"{_path(folder, stream, subject)} cannot be read: what it is about is left out.")
                continue
            commit_one(store, StoreChange(stream, subject, facts))
            counts[stream] = counts.get(stream, 0) + 1
    words = [
        f"{counts['job']} jobs and schedules" if "job" in counts else "",
        f"what was asked about {counts['feature']} features" if "feature" in counts else "",
        "what was answered for all sessions together" if "governor" in counts else "",
    ]
    if any(words):
        told.append(f"Put back from {folder}: {'; '.join(filter(None, words))}.")
    return told


def _kept(stream: StreamKind, facts: Sequence[Fact]) -> list[Fact]:
    if stream not in _FIRST:
        return []
    return [one for one in facts if isinstance(one, _ANSWERS)] if stream == "governor" else list(facts)


def _streams(store: Store, stream: StreamKind) -> Iterator[tuple[str, list[Fact]]]:
    """The kept facts of each subject."""
    found, after = dict[str, list[Fact]](), 0
    kinds = [str(one.__struct_config__.tag) for one in _ANSWERS] if stream == "governor" else None
    while page := store.facts(stream, kinds=kinds, after=after, limit=_PAGE):
        for one in page:
            found.setdefault(one.subject, []).append(one.fact)
        after = page[-1].seq
    yield from found.items()


def _path(folder: str, stream: StreamKind, subject: str) -> str:
    if stream not in STREAMS or _NAME.fullmatch(subject) is None:
        raise ValueError(f"{subject!r} cannot be the name of a file")
    return os.path.join(folder, stream, f"{subject}.jsonl")


def _subjects(folder: str, stream: StreamKind) -> list[str]:
    try:
        names = sorted(os.listdir(os.path.join(folder, stream)))
    except OSError:
        return []
    found = [name.removesuffix(".jsonl") for name in names if name.endswith(".jsonl")]
    return [name for name in found if _NAME.fullmatch(name)]


def _text(facts: Sequence[Fact]) -> bytes:
    return b"".join(encode_fact(one).encode("utf-8", "surrogatepass") + b"\n" for one in facts)


def _append(path: str, facts: Sequence[Fact]) -> None:
    files.make_private(os.path.dirname(path))
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        size = os.fstat(fd).st_size
        is_torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
        left = memoryview((b"\n" if is_torn else b"") + _text(facts))
        while left:
            left = left[os.write(fd, left) :]
        os.fsync(fd)
    finally:
        os.close(fd)
    if not size:
        files.sync_folder(os.path.dirname(path))


def _read(path: str, stream: StreamKind) -> list[Fact]:
    """The facts in a file; a line that was cut off, or that nobody understands, is left out."""
    found = list[Fact]()
    with contextlib.suppress(OSError):
        for line in files.read(path).splitlines():
            with contextlib.suppress(Unreadable, UnicodeDecodeError):
                found.append(decode_told(stream, line.decode("utf-8", "surrogatepass")))
    return found


def _lines(path: str) -> int:
    try:
        return files.read(path).count(b"\n")
    except OSError:
        return 0
