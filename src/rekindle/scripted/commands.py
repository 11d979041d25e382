"""Processes that the agent starts itself: a command that it waits for, and one that it leaves behind."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import dataclass

MOST_OUTPUT = 1 << 16
_GRACE_SECONDS = 2.0
#: The middle process ends at once, so that the sleeper is an orphan in a session of its own, as a daemonised tool is.
_LEAVE_BEHIND = 'sleep "$1" </dev/null >/dev/null 2>&1 & echo "$!"'


@dataclass(frozen=True, slots=True)
class FinishedCommand:
    """How a command ended: its status as a shell's `$?` would have it, and the start of its output."""

    status: int
    output: str


async def run(words: tuple[str, ...], cwd: str) -> FinishedCommand:
    """Run a command in a session of its own and wait for it. Cancelled, it ends the command's group first.

    Raises OSError if it cannot be started. If the agent is killed, the command keeps running, as with real agents.
    """
    process = await _start(words, cwd)
    assert process.stdout is not None
    try:
        output = await _head(process.stdout)
        status = await process.wait()
    except BaseException:
        await _end(process)
        raise
    return FinishedCommand(128 - status if status < 0 else status, output)


async def leave_behind(seconds: float, cwd: str) -> int:
    """Start a sleeper that is nobody's child and whose session is its own; returns its pid."""
    done = await run(("sh", "-c", _LEAVE_BEHIND, "sh", f"{seconds:g}"), cwd)
    return int(done.output)


async def _start(words: tuple[str, ...], cwd: str) -> asyncio.subprocess.Process:
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *words,
            cwd=cwd,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        # The command may be at work before asyncio has finished its bookkeeping; left to itself asyncio would then
        # kill the leader alone and leave the rest of the group running.
        try:
            await _end(await starting)
        except OSError:
            pass
        raise


async def _head(stream: asyncio.StreamReader) -> str:
    kept = bytearray()
    cut = 0
    while chunk := await stream.read(MOST_OUTPUT):
        room = MOST_OUTPUT - len(kept)
        kept += chunk[:room]
        cut += len(chunk[room:])
    text = kept.decode("utf-8", "replace")
    return f"{text}\n[{cut} more bytes]" if cut else text


async def _end(process: asyncio.subprocess.Process) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)  # its session was made by us, so its group has its pid
        except ProcessLookupError:
            pass
        try:
            async with asyncio.timeout(_GRACE_SECONDS):
                await process.wait()
        except TimeoutError:
            continue
        break
    try:
        os.killpg(process.pid, signal.SIGKILL)  # what the leader left behind in its group
    except ProcessLookupError:
        pass
