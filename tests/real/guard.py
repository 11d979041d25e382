"""Nothing but loopback: a network namespace of the test run's own, and a look at what processes are connected to.

The namespace is a wall: what is inside has no interface but `lo`, whatever it tries. Where the kernel does not permit
one, the connections of the test processes are watched instead, which can only tell afterwards.
"""

from __future__ import annotations

import ctypes
import fcntl
import ipaddress
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1
_LISTENING = "0A"
#: Addresses that the standards keep free for documentation: nobody is there.
_NOBODY = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))


def can_reach_out() -> bool:
    """Whether this thread has a route to anywhere but itself. Sends nothing."""
    for family, address in _NOBODY:
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((address, 9))
            return True
        except OSError:
            continue
    return False


def isolate() -> bool:
    """Move this thread, and whatever it starts, behind the wall; False if that is not permitted."""
    if can_reach_out():
        return own_namespace() and not can_reach_out()
    _raise_loopback()
    return True


def own_namespace() -> bool:
    """A network of this thread's own, with loopback and nothing else; False if that is not permitted."""
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.geteuid(), os.getegid()
    if libc.unshare(_CLONE_NEWNET) != 0:
        if libc.unshare(_CLONE_NEWNET | _CLONE_NEWUSER) != 0:
            return False
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    _raise_loopback()
    return True


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_:
        name = b"lo".ljust(16, b"\0")
        (flags,) = struct.unpack_from("16xh", fcntl.ioctl(any_, _SIOCGIFFLAGS, name + bytes(16)))
        if not flags & _IFF_UP:
            fcntl.ioctl(any_, _SIOCSIFFLAGS, name + struct.pack("h14x", flags | _IFF_UP))


def stamped(mark: str) -> list[int]:
    """Live processes that carry `NAME=value` in their environment, this one left out."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int(folder.name) == os.getpid() or mark.encode() not in (folder / "environ").read_bytes().split(b"\0"):
                continue
            if (folder / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def foreign_connections(pids: Iterable[int]) -> list[str]:
    """Sockets of these processes that are connected, or being connected, to anything but loopback."""
    return [f"{pid} -> {address}" for pid in pids for address in _foreign(Path(f"/proc/{pid}"))]


def _foreign(process: Path) -> list[str]:
    try:
        inodes = {os.readlink(one) for one in (process / "fd").iterdir()}
        tables = [(process / "net" / name).read_text() for name in ("tcp", "tcp6", "udp", "udp6")]
    except OSError:
        return []  # it is gone
    found = []
    for line in "\n".join(tables).splitlines():
        fields = line.split()
        if len(fields) < 10 or f"socket:[{fields[9]}]" not in inodes or fields[3] == _LISTENING:
            continue
        address = remote_address(fields[2])
        if not (address.is_loopback or address.is_unspecified):
            found.append(str(address))
    return found


def remote_address(field: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An address of `/proc/net/tcp` or `tcp6`: 32-bit words in the machine's order."""
    words = bytes.fromhex(field.partition(":")[0])
    native = b"".join(struct.pack(">I", *struct.unpack_from("=I", words, at)) for at in range(0, len(words), 4))
    address = ipaddress.ip_address(native)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


class Watch:
    """Looks at some processes' connections again and again, and keeps what it should never have seen."""

    def __init__(self, who: Callable[[], Iterable[int]], seconds: float = 0.1) -> None:
        self.seen: set[str] = set()
        self._who = who
        self._seconds = seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(self._seconds):
            self.seen.update(foreign_connections(self._who()))
