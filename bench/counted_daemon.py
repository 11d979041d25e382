"""`python -m bench.counted_daemon FILE`: a daemon that counts how often its journals are synced, for FILE."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_synced = 0
_fdatasync = os.fdatasync


def _count(fd: int) -> None:
    global _synced
    _synced += 1
    _fdatasync(fd)


if __name__ == "__main__":
    os.fdatasync = _count  # type: ignore[assignment]  # before anybody takes a reference to it
    from rekindle.daemon import DaemonTerms, serve

    serve(os.environ, DaemonTerms(lambda _daemon: None))
    Path(sys.argv[1]).write_text(str(_synced), "utf-8")
