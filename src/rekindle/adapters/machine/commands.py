"""Runs a check command of a plan: words, no shell, its whole process group ended when it or its time is over.

A daemon that is killed takes the command with it: the next run starts it again, and two at once would meet.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Mapping, Sequence

from rekindle.adapters.machine import command_launcher
from rekindle.ports.feature import CommandDone

#: How much of the end of a command's output is read.
_MOST = 1 << 16
#: How long to wait for a command's last output if it left a process behind that holds its output open.
_LAST_WORDS_SECONDS = 1.0
_LAUNCHER = os.path.abspath(command_launcher.__file__)
#: What the interpreter of the launcher may need to load itself. The command gets an environment of its own.
_INTERPRETER_NEEDS = ("LD_LIBRARY_PATH",)


async def run(words: Sequence[str], cwd: str, env: Mapping[str, str], seconds: float) -> CommandDone:
    """Run a command to its end. One that cannot be started, or takes too long, has failed."""
    tail, obstacle = bytearray(), bytearray()
    try:
        process, output, report = await _start(cwd)
    except (OSError, ValueError) as error:
        return CommandDone(False, f"cannot be started: {error}")
    reading = [asyncio.ensure_future(_read(output, tail)), asyncio.ensure_future(_read(report, obstacle))]
    told = {**env, "PWD": cwd, "REKINDLE_CHECK": "1"}  # what it runs may be an agent's work
    try:
        async with asyncio.timeout(seconds):
            await process.communicate(command_launcher.order(os.getpid(), list(words), told))
    except TimeoutError:
        return CommandDone(False, f"took longer than {seconds:g} s")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.wait(reading, timeout=_LAST_WORDS_SECONDS)
        for one in reading:
            one.cancel()
        await asyncio.wait([*reading, asyncio.ensure_future(process.wait())])
    if obstacle:
        return CommandDone(False, f"cannot be started: {obstacle.decode('utf-8', 'replace')}")
    text = tail.decode("utf-8", "replace").strip()
    ended = "" if process.returncode == 0 else f"exit status {process.returncode}"
    return CommandDone(process.returncode == 0, "\n".join(part for part in (text, ended) if part))


async def _start(cwd: str) -> tuple[Process, int, int]:
    """The launcher, which becomes the command; the pipe of its output and the pipe of what keeps it from starting."""
    heard, said = os.pipe()
    known, reported = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-X", "utf8", _LAUNCHER, str(reported)),
            cwd=cwd,
            env={name: os.environ[name] for name in _INTERPRETER_NEEDS if name in os.environ},
            stdin=PIPE,
            stdout=said,
            stderr=STDOUT,
            pass_fds=(reported,),
            start_new_session=True,
        )
    except BaseException:
        os.close(heard)
        os.close(known)
        raise
    finally:
        os.close(said)
        os.close(reported)
    return process, heard, known


async def _read(pipe: int, tail: bytearray) -> None:
    """Read to the end, and keep the end. A pipe of our own: a process left behind may keep asyncio's open forever."""
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
