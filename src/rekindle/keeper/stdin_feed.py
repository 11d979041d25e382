"""Carries spooled messages to the agent's stdin, one after the other, without ever blocking the keeper.

Tells `progress` before a message's first byte is written and after its last byte was taken, so that a
crash in between can be told from one before and one after. Works on a pipe and on a terminal alike.
"""

import contextlib
import fcntl
import os
import struct
import termios

from rekindle.keeper.input_spool import InputSpool
from rekindle.keeper.progress import ProgressFile

_AT_ONCE = 256 * 1024


class StdinFeed:
    def __init__(self, fd: int, spool: InputSpool, progress: ProgressFile, *, terminal: bool) -> None:
        self.fd = fd
        self._spool = spool
        self._progress = progress
        self._terminal = terminal
        self._rest = memoryview(b"")
        self.open = True

    @property
    def wants_write(self) -> bool:
        return self.open and bool(self._spool.waiting)

    def pump(self) -> None:
        """Write as much as the agent takes now."""
        written = 0
        while self.wants_write and written < _AT_ONCE:
            message = self._spool.waiting[0]
            if self._progress.now.started_n != message.n:
                self._progress.update(started_n=message.n)
                self._rest = memoryview(self._spool.payload(message))
            try:
                count = os.write(self.fd, self._rest) if self._rest else 0
            except BlockingIOError:
                return
            except OSError:
                self._give_up()  # the agent closed its end; what it had not taken stays in the spool
                return
            written += count
            self._rest = self._rest[count:]
            if not self._rest:
                self._spool.taken()
                self._progress.update(delivered_n=message.n)

    def close_now(self) -> None:
        """EOF at once: messages that wait stay undelivered, and the progress file says so."""
        if self.open:
            self._end()

    def unread(self) -> int:
        """Bytes that the agent could read and has not."""
        if not self.open or self._terminal:
            return 0
        count: int = struct.unpack("i", fcntl.ioctl(self.fd, termios.FIONREAD, b"\0" * 4))[0]
        return count

    def _end(self) -> None:
        if self._terminal:
            # A terminal is not closed: what the agent still says comes through it.
            with contextlib.suppress(OSError, termios.error):
                if termios.tcgetattr(self.fd)[3] & termios.ICANON:  # in raw mode ^D is just a key
                    os.write(self.fd, b"\x04")
            self.open = False
        else:
            self._give_up()

    def _give_up(self) -> None:
        self.open = False
        if not self._terminal:
            os.close(self.fd)
