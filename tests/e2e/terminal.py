"""A command on a terminal of a given width: what it prints there, byte by byte."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import termios
import threading

from tests.e2e.daemon import SECONDS, Machine


def shown_on_terminal(machine: Machine, *words: str, columns: int = 80, **environment: str) -> str:
    """Run a command to its end. The terminal knows colours, unless the environment says otherwise."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    seen: list[bytes] = []

    def read() -> None:
        try:
            while part := os.read(ours, 65536):
                seen.append(part)
        except OSError:
            return  # nobody has the other end any more

    process = subprocess.Popen(
        [*machine.command, *words],
        cwd=machine.work,
        env=machine.environment(**{"TERM": "xterm-256color", **environment}),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        process.wait(SECONDS)
        reader.join(SECONDS)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return b"".join(seen).decode().replace("\r\n", "\n")
