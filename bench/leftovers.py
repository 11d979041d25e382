"""Ends what a row has left running: agents and keepers outlive their daemon, and a daemon may start on demand.

Only processes are ended that name the benchmark's own scratch folder, in their command or in their environment.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from time import monotonic, sleep

_SECONDS = 10.0


def end_leftovers(folder: Path) -> int:
    """Kill every process that belongs to a scratch folder, and wait until it is gone; how many there were."""
    ended: set[int] = set()
    deadline = monotonic() + _SECONDS
    while (found := _of(folder)) and monotonic() < deadline:
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        ended |= found
        sleep(0.05)
    return len(ended)


def _of(folder: Path) -> set[int]:
    name = os.fsencode(folder)
    return {int(one.name) for one in Path("/proc").glob("[0-9]*") if int(one.name) != os.getpid() and _names(one, name)}


def _names(process: Path, folder: bytes) -> bool:
    try:
        return any(folder in (process / file).read_bytes() for file in ("cmdline", "environ"))
    except OSError:  # it is gone, or somebody else's
        return False
