"""Runs a command of the user's: words, no shell, the message as JSON on its standard input."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

import msgspec

from rekindle.core.inbox.news import Message
from rekindle.ports.notify import NotDelivered

#: How much of what a failing command says is reported.
_MOST = 300


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
        said, _ = process.communicate(data, timeout=seconds)
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
        raise NotDelivered(f"{words[0]} ended with {process.returncode}" + (f": {told}" if told else ""))
