"""Who is at the other end of a connection to the daemon."""

from __future__ import annotations

import os
import socket
import struct

from rekindle.core import inside
from rekindle.ports.ancestry import Ancestry


class Peer:
    """The process that connected. Passing the connection on does not change that."""

    def __init__(self, pid: int, ancestry: Ancestry) -> None:
        self.pid = pid
        self._ancestry = ancestry
        self._started = ancestry.began(pid)
        self._standing: inside.Standing | None = None

    def is_inside(self) -> bool:
        """Whether it runs inside an agent. One that is gone, or was gone at the first look, may have."""
        if self._standing is None:
            known = self._started is not None
            self._standing = (
                self._ancestry.standing_of(self.pid, self._started, daemon=os.getpid()) if known else "unknown"
            )
        return self._standing != "outside"


def peer_of(connection: socket.socket, ancestry: Ancestry) -> Peer | None:
    """Who has connected; None: another user."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, uid, _ = struct.unpack("3i", credentials)
    return Peer(pid, ancestry) if uid == os.getuid() else None
