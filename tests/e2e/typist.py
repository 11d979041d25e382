"""A person at a terminal: a command on a pseudo-terminal, what it shows there, and what is typed."""

from __future__ import annotations

import contextlib
import os
import re
import select
import subprocess
import threading
from types import TracebackType

from tests.e2e.daemon import BIN, SECONDS, Machine, until

_STYLE = re.compile(r"\x1b\[[0-9;]*m")


class Typist:
    """`with Typist(machine, "attach", session) as person`: leaves no process behind."""

    def __init__(self, machine: Machine, *words: str) -> None:
        ours, theirs = os.openpty()
        self._terminal = ours
        self._seen = b""
        self._over = threading.Event()
        self.process = subprocess.Popen(
            [str(BIN / "rekindle"), *words],
            cwd=machine.work,
            env=machine.environment(TERM="dumb"),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Typist:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _one: BaseException | None, _t: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait()
        self._over.set()
        self._reader.join()
        os.close(self._terminal)

    @property
    def screen(self) -> str:
        """All that was shown so far, without colours."""
        return _STYLE.sub("", self._seen.decode(errors="replace").replace("\r\n", "\n"))

    @property
    def raw(self) -> bytes:
        """All that was shown so far, byte by byte."""
        return self._seen

    def until_shown(self, text: str, times: int = 1) -> None:
        until(lambda: self.screen.count(text) >= times, f"{text!r} on the screen {self.screen!r}")

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode() + b"\n")

    def leave(self) -> int:
        """Wait for the command's own end."""
        return self.process.wait(SECONDS)

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # the terminal's other side was closed
            while not self._over.is_set():
                if select.select([self._terminal], [], [], 0.1)[0]:
                    self._seen += os.read(self._terminal, 1 << 16)
