"""Whether this machine's `nc` can call a unix socket the way the hook script needs it. There are several `nc`."""

from __future__ import annotations

import asyncio
import contextlib
import shutil

_SECONDS = 5.0


async def can_call(path: str, ping: bytes, hush: bytes) -> bool:
    """Try it on a socket that answers `ping` and not `hush`: the answer has to arrive, and silence has to end.

    The traditional nc and busybox's have no `-U`; with others `-w` does not end a wait.
    """
    program = shutil.which("nc")
    if program is None:
        return False
    return await _told(program, path, ping) == b"ok\n" and await _told(program, path, hush) == b""


async def _told(program: str, path: str, request: bytes) -> bytes | None:
    """What nc prints; None if it cannot be started, or does not end."""
    pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            program, "-U", "-w", "1", path, stdin=pipe, stdout=pipe, stderr=nowhere
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(_SECONDS):
            told, _ = await process.communicate(request)
            return told
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
