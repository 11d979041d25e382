"""The terminal that a guard was started in: it shows the agent's output, and what is typed there reaches the agent.

The agent has a terminal of its own behind it, so that its output is spooled and its tree is contained
as always. This one is only passed through: it is raw, and the size of its window is the agent's.
"""

import contextlib
import fcntl
import os
import select
import signal
import struct
import termios
import tty

from rekindle.keeper.spec import Layout

_AT_ONCE = 64 * 1024
_MOST_UNSEEN = 1024 * 1024
_MOST_TYPED = 1024 * 1024


def take_terminal(folder: str) -> int:
    """The terminal behind standard input, under a number of its own; our own output goes to the log from now on.

    The keeper handles its hangup: it must not end the guard, which has to record how the agent ended.
    """
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    terminal = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 10)
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    log = os.open(Layout(folder).log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(log)
    os.chdir("/")
    return terminal


def open_named_pipe(path: str) -> int:
    """Where to report that the agent runs. If the waiting process is dead by now, nobody is told."""
    try:
        return os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)


def window_of(terminal: int) -> tuple[int, int] | None:
    """Rows and columns; None if the terminal does not know them."""
    try:
        rows, cols, _, _ = struct.unpack("HHHH", fcntl.ioctl(terminal, termios.TIOCGWINSZ, bytes(8)))
    except OSError:
        return None
    return (rows, cols) if rows and cols else None


class Pane:
    """`typed` is what the agent has not taken yet. Never blocks; once the terminal is closed, it does nothing."""

    def __init__(self, fd: int, epoll: select.epoll) -> None:
        self.fd = fd
        self._epoll = epoll
        self._unseen = bytearray()
        self.typed = bytearray()
        self.open = True
        os.set_blocking(fd, False)
        with contextlib.suppress(termios.error):
            tty.setraw(fd, termios.TCSANOW)
        epoll.register(fd, select.EPOLLIN)

    @property
    def is_full(self) -> bool:
        """Whether so much output is waiting to be shown that the agent has to wait too."""
        return len(self._unseen) > _MOST_UNSEEN

    def size(self) -> tuple[int, int] | None:
        return window_of(self.fd)

    def show(self, data: bytes) -> None:
        if self.open:
            self._unseen += data
            self._flush()

    def ready(self, events: int) -> None:
        """Handle an event: somebody typed, or took what was shown, or closed the terminal."""
        if self.open and events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
            self._read()
        if self.open and events & select.EPOLLOUT:
            self._flush()

    def type_into(self, agent: int) -> None:
        """Give the agent as much of the typed input as it accepts now."""
        with contextlib.suppress(OSError):
            while self.typed:
                del self.typed[: os.write(agent, self.typed)]

    def close(self) -> None:
        """Show the last output to anybody watching, if it fits."""
        if self.open:
            self._flush()
        self._give_up()

    def _read(self) -> None:
        try:
            data = os.read(self.fd, _AT_ONCE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._give_up()
        elif len(self.typed) < _MOST_TYPED:
            self.typed += data

    def _flush(self) -> None:
        try:
            while self._unseen:
                del self._unseen[: os.write(self.fd, self._unseen)]
        except BlockingIOError:
            pass
        except OSError:
            self._give_up()
            return
        self._epoll.modify(self.fd, select.EPOLLIN | (select.EPOLLOUT if self._unseen else 0))

    def _give_up(self) -> None:
        if self.open:
            self.open = False
            self._unseen.clear()
            self.typed.clear()
            self._epoll.unregister(self.fd)
            os.close(self.fd)
