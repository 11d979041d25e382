"""What this user's rekindle on this machine wrote into a journal, and what the user said yes to.

A journal lies in the repository, so it may come from anybody: with a clone, an archive, a shared folder. It is data.
The events of it that decide what a resume does count as the user's orders only if they are on record here, outside of
the repository: each one written by our own appender, or all of the others together shown to the user and approved.
Standard library only, and little of it: the appender comes here, and the hook client with it.
"""

from __future__ import annotations

import os

from rekindle import files
from rekindle.core.journal.decode import decode_line
from rekindle.core.journal.event import SESSION_START, Event
from rekindle.core.journal.orders import DRIVER, bears_orders, decides, gives_work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

FOLDER = "journals"
_WRITTEN, _APPROVED, _DRIVES = "written", "approved", "drives"
#: How the appender writes that rekindle drives a run.
_DRIVEN = f'"driver":"{DRIVER}"'.encode()


class Ledger:
    """The record of one journal."""

    def __init__(self, state_dir: str, journal: str, *, sync: Callable[[int], None] = os.fdatasync) -> None:
        self._folder = os.path.join(state_dir, FOLDER)
        self._journal = os.path.realpath(journal)
        self._sync = sync
        self._unsynced = -1
        self._must = False

    def note(
        self, type_: str, line: bytes, *, by_agent: bool = False, must: bool = False, batched: bool = False
    ) -> None:
        """Put on record that we are about to write this line. Where that fails, its event will be asked about.

        What an agent has us write is on record too, unless it gives work. `must`: raise OSError where it fails, because
        the run that writes it could not believe itself. `batched`: the record is on disk only after `sync`, and the
        event must not be acknowledged before.
        """
        if not decides(type_) or (by_agent and gives_work(type_)):
            return
        try:
            if type_ == SESSION_START and _DRIVEN in line:
                self._add(_DRIVES, _digest(line), batched=batched)
            self._add(_WRITTEN, _digest(line), batched=batched)
            self._must = self._must or (must and batched)
        except OSError:
            if must:
                raise

    def sync(self) -> None:
        """Put everything that was noted so far on disk. Raises OSError if something of it must be on record."""
        fd, must = self._unsynced, self._must
        if fd < 0:
            return
        self._unsynced, self._must = -1, False
        try:
            self._sync(fd)
        except OSError:
            if must:
                raise
        finally:
            os.close(fd)

    def close(self) -> None:
        """Close the record without waiting for the disk."""
        if self._unsynced >= 0:
            os.close(self._unsynced)
            self._unsynced, self._must = -1, False

    def approve(self, fingerprint: str) -> None:
        """Remember a yes to the foreign events of this fingerprint. Raises OSError."""
        self._add(_APPROVED, fingerprint)

    def written(self) -> Callable[[bytes], bool]:
        """A check whether we wrote a line, based on the current record."""
        known = self._known()
        return lambda line: f"{_WRITTEN} {_digest(line)}" in known

    def approvals(self) -> frozenset[str]:
        """The fingerprints that the user has said yes to."""
        return frozenset(one.removeprefix(f"{_APPROVED} ") for one in self._known() if one.startswith(_APPROVED))

    def unapproved(
        self, lines: Iterable[bytes], lineage: Collection[str], disowned: Collection[int] = ()
    ) -> str | None:
        """A fingerprint of the events that decide what a resume of these runs does and that are not ours.

        None if there are none, or if the user has said yes to exactly these, in this order. An event without a run
        belongs to whichever is open, so it counts for all. The lines `disowned` count for none (claims.py).
        """
        known = self._known()
        foreign = [
            digest
            for number, line in enumerate(lines, start=1)
            if number not in disowned
            and may_decide(line)
            and isinstance(event := decode_line(line), Event)
            and bears_orders(event.type)
            and (event.sid is None or event.sid in lineage)
            and f"{_WRITTEN} {(digest := _digest(line))}" not in known
        ]
        if not foreign:
            return None
        found = _digest("\n".join(foreign).encode())
        return found if f"{_APPROVED} {found}" not in known else None

    @property
    def drives(self) -> bool:
        """Whether a run that rekindle drives was ever begun here, whatever the journal says of it by now."""
        return any(one.startswith(_DRIVES) for one in self._known())

    @property
    def is_empty(self) -> bool:
        """Whether nothing is on record, so that the journal is somebody else's. Reads no journal."""
        return not os.path.exists(self.path)

    @property
    def path(self) -> str:
        """The file that it is kept in."""
        return os.path.join(self._folder, _digest(os.fsencode(self._journal)))

    def _known(self) -> frozenset[str]:
        try:
            return frozenset(files.read(self.path).decode("ascii", "replace").splitlines())
        except OSError:
            return frozenset()

    def _add(self, kind: str, digest: str, *, batched: bool = False) -> None:
        is_new = not os.path.exists(self.path)
        if is_new:
            files.make_private(self._folder)
        fd = self._unsynced if self._unsynced >= 0 and not is_new else self._opened()
        try:
            os.write(fd, f"{kind} {digest}\n".encode())
            if not batched:
                self._sync(fd)
        finally:
            if batched:
                self._keep(fd)
            elif fd != self._unsynced:
                os.close(fd)
        if is_new:
            files.sync_folder(self._folder)

    def _opened(self) -> int:
        return os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)

    def _keep(self, fd: int) -> None:
        if self._unsynced not in (-1, fd):
            os.close(self._unsynced)  # of a record that was removed meanwhile
        self._unsynced = fd


def fingerprint_of_run(lines: Iterable[bytes]) -> str:
    """The key of the user's approval of a run with these lines. It does not approve the run's instructions."""
    return _digest("\n".join(["run", *map(_digest, lines)]).encode())


def lines_of(path: str) -> Iterator[bytes]:
    """The lines of a journal, without their ends. Raises OSError."""
    from rekindle.adapters.journal_file import blocks

    fd = files.open_to_read(path, follow=False)
    try:
        for block, _ in blocks.forward(fd, 0, os.fstat(fd).st_size):
            yield from block.removesuffix(b"\n").split(b"\n")
    finally:
        os.close(fd)


_NAMES = ("session.", "plan.", "checkpoint", "resume.", "task.", "branch.", "worktree.", "qa.", "check.", "agent.")
_WORDS = (*(name.encode() for name in _NAMES), b"\\u")


def may_decide(line: bytes) -> bool:
    """A quick look: most lines of a long journal say what a tool did. A type may hide behind escapes."""
    return any(word in line for word in _WORDS)


def carry(state_dir: str, old: str, new: str) -> None:
    """A journal that was moved is as much the user's own as before. Where that fails, it is asked about."""
    before, after = Ledger(state_dir, old), Ledger(state_dir, new)
    if after.is_empty and not before.is_empty:
        try:
            os.rename(before.path, after.path)
        except OSError:
            return


def _digest(data: bytes) -> str:
    import hashlib  # not for free, and most calls of the hook client need none

    return hashlib.sha256(data.rstrip(b"\n")).hexdigest()[:32]
