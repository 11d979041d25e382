"""One output file of the agent (`out` or `err`): its reserved room, and whether somebody shortened it.

The agent writes to a regular file that is only appended to, so it can continue without a reader.
Room is reserved ahead because several agents die or fall mute on a full disk. The mode is 0400
after opening, so that `> /dev/stdout` in a tool cannot wipe it (root can; then the loss is
noticed). Contents are not read.
"""

import errno
import os

from rekindle.keeper import kernel
from rekindle.keeper.outcome import Truncation

_BLOCK = 4096
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Reservation:
    """Blocks ahead of a file's end. If the file system cannot reserve, free space is watched instead."""

    def __init__(self, fd: int, ahead: int) -> None:
        self._fd = fd
        self._ahead = ahead
        self._reserved_upto = 0

    def top_up(self, size: int) -> bool:
        """Whether there is room ahead of `size`; reserves again when half of it is used."""
        if self._reserved_upto - size >= self._ahead // 2:
            return True
        return self.cover(size, size + self._ahead)

    def cover(self, size: int, upto: int) -> bool:
        """Reserve up to the offset `upto` of a file that is `size` long."""
        if upto <= self._reserved_upto:
            return True
        start = max(size, self._reserved_upto) // _BLOCK * _BLOCK
        # Asked first, because ext4 keeps what it got when it runs out halfway.
        if not self._has_free(upto - start):
            return False
        try:
            kernel.reserve(self._fd, start, upto - start)
        except OSError as error:
            # Anything else means that this file system cannot reserve; then free room has to do.
            return error.errno not in _NO_ROOM
        self._reserved_upto = upto
        return True

    def forget(self) -> None:
        """The file was shortened, which gave all blocks behind its end back."""
        self._reserved_upto = 0

    def _has_free(self, needed: int) -> bool:
        disk = os.fstatvfs(self._fd)
        return disk.f_blocks == 0 or disk.f_bavail * disk.f_frsize >= needed


class OutputSpool:
    def __init__(self, path: str, ahead: int) -> None:
        self.fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.fchmod(self.fd, 0o400)
        self._reservation = Reservation(self.fd, ahead)
        self.size = 0
        self.truncated: Truncation | None = None

    def observe(self) -> bool:
        """Look at the file; whether it changed since the last look."""
        before, self.size = self.size, os.fstat(self.fd).st_size
        if self.size < before:
            earlier = self.truncated or Truncation(at=0, lost=0, times=0)
            self.truncated = Truncation(self.size, earlier.lost + before - self.size, earlier.times + 1)
            self._reservation.forget()
        return self.size != before

    def has_room(self) -> bool:
        return self._reservation.top_up(self.size)

    def punch(self, upto: int) -> int:
        """Give back the blocks below `upto`; returns the offset up to which that was done."""
        end = min(upto, self.size) // _BLOCK * _BLOCK
        if end:
            kernel.punch(self.fd, 0, end)
        return end

    def give_back(self) -> None:
        """Release what was reserved and not used. Only when no writer is left."""
        os.ftruncate(self.fd, self.size)
