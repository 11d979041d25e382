"""A command on a terminal of a given size: what it writes there, byte by byte, and what is typed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import struct
import subprocess
import termios
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from tests.e2e.daemon import SECONDS, Machine


class TerminalRun:
    """`with TerminalRun(machine, "attach", session) as person`: leaves no process behind.

    The command has the terminal for its own: Ctrl-C and the size of the window reach it as they reach any program.
    """

    def __init__(
        self, machine: Machine, *words: str, columns: int = 80, rows: int = 24, env: Mapping[str, str] | None = None
    ) -> None:
        ours, theirs = os.openpty()
        self._terminal = ours
        self._seen = b""
        self._over = threading.Event()
        self._set_size(columns, rows)
        self.process = subprocess.Popen(
            [*machine.command, *words],
            cwd=machine.work,
            env=machine.environment(**{"TERM": "xterm-256color", **(env or {})}),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _one: BaseException | None, _t: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait()
        self._over.set()
        self._reader.join()
        os.close(self._terminal)

    @property
    def raw(self) -> bytes:
        """All that was written so far, byte by byte."""
        return self._seen

    def press(self, keys: str) -> None:
        """Type exactly this."""
        os.write(self._terminal, keys.encode())

    def leave(self) -> int:
        """Wait for the command's own end, and for all that it has written."""
        status = self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        return status

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _take(self, part: bytes) -> None:
        self._seen += part

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # nobody has the terminal's other side any more
            while not self._over.is_set():
                if select.select([self._terminal], [], [], 0.1)[0]:
                    self._take(os.read(self._terminal, 1 << 16))


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def shown_on_terminal(machine: Machine, *words: str, columns: int = 80, **environment: str) -> str:
    """Run a command to its end. The terminal knows colours, unless the environment says otherwise."""
    with TerminalRun(machine, *words, columns=columns, env=environment) as person:
        person.leave()
        return person.raw.decode().replace("\r\n", "\n")
