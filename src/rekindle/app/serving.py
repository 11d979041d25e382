"""Tells the daemon to stop. Agents keep working in their keepers."""

from __future__ import annotations

import os
import signal

from rekindle.ports.daemon import Daemon, NoDaemon


def stop(daemon: Daemon) -> int | None:
    """Have the daemon stop; returns its pid, or None if there is none. If it no longer listens, it gets a signal."""
    try:
        return int(daemon.ask("shutdown", start=False)["pid"])
    except NoDaemon:
        pid = daemon.holder()
        if pid is not None:
            os.kill(pid, signal.SIGTERM)
        return pid
