"""Where every edition was made, and where it is put back: paths stand in files with checksums, so the place is fixed.

Nobody else may use the place at the same time, also not the tests of another checkout: whoever has it holds a lock on
the folder around it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.daemon import Machine

PLACE = Path("/tmp/rekindle-edition")
HOME, WORK, _RUN, _PROGRAM = PLACE / "home", PLACE / "work", PLACE / "run", PLACE / "program"
#: What an edition consists of; the rest is made anew wherever it is put back.
KEPT = (HOME, WORK)


@dataclass(frozen=True)
class Workshop(Machine):
    """The machine that editions are made on: nothing of this one is in its environment."""

    def environment(self, **more: str) -> dict[str, str]:
        kept = {"HOME": str(self.home), "LANG": "C.UTF-8", "XDG_RUNTIME_DIR": str(_RUN)}
        return {**kept, "PATH": f"{_PROGRAM / 'bin'}:/usr/bin:/bin", **more}


def workshop() -> Workshop:
    """The place, made ready for the version that runs now: it is installed there under a name that says nothing."""
    make()
    _PROGRAM.symlink_to(sys.prefix)
    return Workshop(HOME, WORK, command=(str(_PROGRAM / "bin" / "python"), "-m", "rekindle.entry"))


def machine() -> Machine:
    """The place as the tests of a later version use it."""
    return Machine(HOME, WORK, variables={"XDG_RUNTIME_DIR": str(_RUN)})


def make() -> None:
    """The folders, empty."""
    for folder in (PLACE, HOME, WORK, _RUN):
        folder.mkdir(mode=0o700, exist_ok=True)


def clear() -> None:
    """Leave nothing there."""
    shutil.rmtree(PLACE, ignore_errors=True)


@contextmanager
def held() -> Iterator[None]:
    """The place for us alone, empty before and after."""
    lock = os.open(PLACE.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        clear()
        yield
        clear()
    finally:
        os.close(lock)
