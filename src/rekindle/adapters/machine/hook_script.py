"""Whether this machine's `perl` can run `rekindle-hook-direct`, which is written for it and calls the daemon."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

#: As it comes with the package. The one that agents call is a copy of it.
SCRIPT = Path(__file__).parents[2] / "hooks" / "rekindle-hook-direct"
#: Its first line names no other, whatever is in the caller's PATH: only this one is tried.
PERL = "/usr/bin/perl"
_SECONDS = 5.0
_GIVEN = b"given"


def as_installed() -> object:
    """What changes when somebody installs another perl, or removes it."""
    try:
        found = os.stat(PERL)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


async def can_call(path: str, ping: str, pong: str, hush: str) -> bool:
    """Try it on a socket that answers a call named `ping` and not one named `hush`.

    The answer has to arrive, and after silence the call has to be handed on, whole. `cat` shows what was handed on.
    """
    return await _told(path, ping) == pong.encode() and await _told(path, hush) == _GIVEN


async def _told(path: str, name: str) -> bytes | None:
    """What perl and who it hands the call to print; None if it cannot be started, fails, or does not end."""
    pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PERL")}
    try:
        process = await asyncio.create_subprocess_exec(
            *(PERL, "-t", str(SCRIPT), path, "cat", name),
            stdin=pipe,
            stdout=pipe,
            stderr=nowhere,
            env={**clean, "LC_ALL": "C"},
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(_SECONDS):
            told, _ = await process.communicate(_GIVEN)
            return told if process.returncode == 0 else None
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
