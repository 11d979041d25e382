"""Runs a check command of a plan: words, no shell, its whole process group ended when it or its time is over.

A daemon that is killed takes the command with it: the next run starts it again, and two at once would meet.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import DEVNULL, STDOUT
from collections.abc import Mapping, Sequence

from rekindle.keeper import kernel
from rekindle.ports.feature import CommandDone

#: So much of a command's output is looked at, from its end.
_MOST = 1 << 16
#: So long the last words of a command are waited for when it has left a process behind that holds its output open.
_LAST_WORDS_SECONDS = 1.0


async def run(words: Sequence[str], cwd: str, env: Mapping[str, str], seconds: float) -> CommandDone:
    """Run a command to its end. One that cannot be started, or takes too long, has failed."""
    parent = os.getpid()

    def die_with_us() -> None:
        with contextlib.suppress(OSError):
            kernel.die_with_parent(signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    heard, said = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            cwd=cwd,
            env={**env, "PWD": cwd, "REKINDLE_CHECK": "1"},  # what it runs may be an agent's work
            stdin=DEVNULL,
            stdout=said,
            stderr=STDOUT,
            start_new_session=True,
            preexec_fn=die_with_us,
        )
    except (OSError, ValueError) as error:
        os.close(heard)
        return CommandDone(False, f"cannot be started: {error}")
    finally:
        os.close(said)
    tail = bytearray()
    reading = asyncio.ensure_future(_read(heard, tail))
    try:
        await asyncio.wait_for(process.wait(), seconds)
    except TimeoutError:
        return CommandDone(False, f"took longer than {seconds:g} s")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.wait([reading], timeout=_LAST_WORDS_SECONDS)
        reading.cancel()
        await asyncio.wait([reading, asyncio.ensure_future(process.wait())])
    text = tail.decode("utf-8", "replace").strip()
    ended = "" if process.returncode == 0 else f"exit status {process.returncode}"
    return CommandDone(process.returncode == 0, "\n".join(part for part in (text, ended) if part))


async def _read(pipe: int, tail: bytearray) -> None:
    """Read to the end, and keep the end. A pipe of our own: a process left behind may keep asyncio's open for ever."""
    reader = asyncio.StreamReader(_MOST)
    made = asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(pipe, "rb", 0)
    )
    transport, _ = await made
    try:
        while chunk := await reader.read(_MOST):
            tail += chunk
            del tail[:-_MOST]
    finally:
        transport.close()
