"""Where a store, its daemon and its sessions live. Derived from the settings alone. Light standard library only."""

from __future__ import annotations

import os
import stat
import zlib

from rekindle import files
from rekindle.ports.errors import UsageError
from rekindle.settings import Settings


class Places:
    """Paths of one store."""

    __slots__ = (
        "daemon_lock",
        "daemon_log",
        "hook_name",
        "hook_socket",
        "jobs",
        "runtime",
        "search",
        "sessions",
        "socket",
        "sockets",
        "state",
        "store",
        "streams",
        "terminals",
    )

    def __init__(self, settings: Settings) -> None:
        self.state = settings.state_dir
        self.store = os.path.join(settings.state_dir, "store.db")
        self.sessions = os.path.join(settings.state_dir, "sessions")
        self.streams = os.path.join(settings.state_dir, "streams")
        self.jobs = os.path.join(settings.state_dir, "jobs")
        self.search = os.path.join(settings.state_dir, "search.db")
        self.daemon_lock = os.path.join(settings.state_dir, "daemon.lock")
        self.daemon_log = os.path.join(settings.state_dir, "daemon.log")
        name = f"{zlib.crc32(os.fsencode(os.path.realpath(settings.state_dir))):08x}"
        self.runtime = os.path.join(settings.runtime_dir, name)
        self.socket = os.path.join(self.runtime, "d.sock")
        self.hook_socket = os.path.join(self.runtime, "h.sock")
        self.hook_name = os.path.join(settings.state_dir, "hook.sock")  # where the hook script looks for it
        self.sockets = os.path.join(self.runtime, "k")
        self.terminals = os.path.join(self.runtime, "tmux.sock")

    def make(self) -> None:
        """Create the folders, for this user only."""
        for folder in (self.state, self.sessions, os.path.dirname(self.runtime), self.runtime, self.sockets):
            files.make_private(folder)
            found = os.lstat(folder)
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
                raise UsageError(f"{folder} does not belong to you", "set XDG_RUNTIME_DIR, or XDG_STATE_HOME, to one")
            os.chmod(folder, 0o700)
