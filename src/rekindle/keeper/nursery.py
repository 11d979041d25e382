"""Starts guards without starting interpreters: one process has everything imported, and forks a guard when asked.

To start an interpreter and to import what a guard needs takes most of the time that a start takes, and a person waits
for it. The nursery only saves that time: where there is none, or it is gone, a guard is started as a program. It has
the same small environment as a guard that is started as a program, and ends with its daemon.
"""

import contextlib
import os
import socket
import subprocess
import sys
import threading

#: How long it has to end by itself.
_SECONDS = 2.0


class Nursery:
    """Belongs to one daemon. `about` is shown in the process's command line, so that people can tell whose it is."""

    def __init__(self, program: str, about: str, interpreter: str = sys.executable) -> None:
        self._words = (interpreter, "-I", "-S", "-X", "utf8", program, "--nursery")
        self._about = about
        self._turn = threading.Lock()
        self._line: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Its process, if there is one."""
        return self._process.pid if self._process is not None else None

    def open(self) -> None:
        """Start the process, which is ready some time later. Where that fails there is none."""
        with self._turn, contextlib.suppress(OSError):
            self._close()
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                try:
                    self._process = subprocess.Popen(
                        (*self._words, str(theirs.fileno()), self._about),
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL,
                        cwd="/",
                        env=own_environment(),
                        pass_fds=(theirs.fileno(),),
                        start_new_session=True,
                    )
                except OSError:
                    ours.close()
                    raise
            self._line = ours

    def begin(self, folder: str, says: int, log: int) -> bool:
        """Have a guard started. False if there is nobody to do that; for the next time there is."""
        with self._turn:
            line = self._line
            if line is None:
                return False
            try:
                socket.send_fds(line, [os.fsencode(folder)], [says, log])
                return True
            except OSError:
                pass
        self.open()
        return False

    def renew(self) -> None:
        """Replace the process: it was given an order and did nothing. What it has not read is never carried out."""
        with self._turn:
            if self._process is not None:
                self._process.kill()
        self.open()

    def close(self) -> None:
        """End the process. Guards that it has started live on."""
        with self._turn:
            self._close()

    def _close(self) -> None:
        if self._line is not None:
            self._line.close()
        if self._process is not None:
            try:
                self._process.wait(_SECONDS)
            except subprocess.TimeoutExpired:  # somebody has stopped it
                self._process.kill()
                self._process.wait()
        self._line = self._process = None


def own_environment(*more: str) -> dict[str, str]:
    """What a guard gets of our environment: what its interpreter may need, and these variables."""
    return {name: os.environ[name] for name in ("LD_LIBRARY_PATH", *more) if name in os.environ}
