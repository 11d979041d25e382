"""Runs a command of the user's: words, no shell, the message as JSON on its standard input."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence

import msgspec

from rekindle.core.inbox.news import Message
from rekindle.ports.notify import NotDelivered

#: How much of what a failing command says is reported.
_MOST = 300
#: How much of what a command says is read at a time, and kept.
_CHUNK = 1 << 16
#: How long to wait before looking whether a silent command has ended.
_LOOK_SECONDS = 0.05


class CommandReceiver:
    """See `rekindle.ports.notify.Receiver`. The command has a process group of its own, which is ended with it."""

    name = "command"

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        self._words = list(words)
        self._environment = dict(environment)

    def send(self, message: Message, seconds: float) -> None:
        """Run the command; exit status 0 means that it has taken the message."""
        run(self._words, msgspec.json.encode(message) + b"\n", self._environment, seconds)


def run(words: Sequence[str], data: bytes, environment: Mapping[str, str], seconds: float) -> None:
    """Run a command to its end. Raises NotDelivered with the end of what it said."""
    try:
        process = subprocess.Popen(
            list(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd="/",
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise NotDelivered(f"{words[0]} cannot be started: {why}", "check the path in your settings") from error
    try:
        said = _told_and_heard(process, data, seconds)
    except subprocess.TimeoutExpired:
        raise NotDelivered(f"{words[0]} took longer than {seconds:g} s", unsure=True) from None
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
    if process.returncode != 0:
        told = " ".join(said.decode("utf-8", "replace").split())[-_MOST:]
        was_killed = process.returncode < 0 or process.returncode > 128  # a shell says so of what it ran
        how = f"{words[0]} ended with {process.returncode}" + (f": {told}" if told else "")
        raise NotDelivered(how, unsure=was_killed)


def _told_and_heard(process: subprocess.Popen[bytes], data: bytes, seconds: float) -> bytes:
    """Give a command its input until it has ended; returns the end of what it said. Raises TimeoutExpired.

    However much it says, little is kept. What it leaves in the background may hold its output open: only its own end
    counts.
    """
    deadline, left, said = time.monotonic() + seconds, memoryview(data), b""
    with selectors.DefaultSelector() as streams:
        for pipe, event in ((process.stdin, selectors.EVENT_WRITE), (process.stdout, selectors.EVENT_READ)):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            streams.register(pipe, event)
        while True:
            is_over = process.poll() is not None  # looked at first, so that what it said before is read below
            if time.monotonic() > deadline and not is_over:
                raise subprocess.TimeoutExpired(process.args, seconds)
            for key, event in streams.select(0 if is_over else _LOOK_SECONDS):
                if event & selectors.EVENT_WRITE:
                    left = left[_written(key.fd, left) :]
                    is_done = not left
                else:
                    heard = os.read(key.fd, _CHUNK)
                    said, is_done = (said + heard)[-_CHUNK:], not heard
                if is_done:
                    streams.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]
            if is_over:
                return said


def _written(pipe: int, data: memoryview) -> int:
    """How much was written; all of it if nobody reads any more."""
    try:
        return os.write(pipe, data)
    except BrokenPipeError:
        return len(data)
