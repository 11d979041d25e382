"""Who is at the other end of a connection on this machine: /proc/net/tcp has the socket, /proc/PID/fd who holds it.

Whoever cannot be named is not let in: one that sent its request and has gone, or one that holds its socket where no
table of descriptors shows it (on its way through another socket). A thread can have a table of its own, so the threads'
are read too. A process can hide its descriptors (it is not dumpable, or another user's). If nobody is seen to hold the
socket, it may be one of those of the socket's owner; it counts as theirs if none of them runs inside an agent.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rekindle.ports.ancestry import Ancestry

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LOCAL_V4, _LOCAL_V6 = "/proc/net/fib_trie", "/proc/net/if_inet6"


class _Socket(NamedTuple):
    """One end of a connection. `inode` 0: no process has it any more."""

    inode: int
    owner: int


def is_inside(client: tuple[str, int], server: tuple[str, int], ancestry: Ancestry, daemon: int) -> bool:
    """Whether the process at the other end runs inside an agent, or cannot be told from one that does.

    A connection from another machine does not.
    """
    found = _socket(client, server)
    if found is None:
        return _is_local(client[0], server[0])
    if found.inode == 0:
        return True
    holders, hidden = _holders(found.inode)
    if not holders:
        holders = [pid for pid in hidden if found.owner in _users(pid)]
        if any(ancestry.standing_of(pid, daemon=daemon) == "inside" for pid in hidden):
            return True
    return not holders or not all(ancestry.standing_of(pid, daemon=daemon) == "outside" for pid in holders)


def _is_local(client: str, server: str) -> bool:
    """Whether an address is one of this machine's."""
    found = _plain(client)
    return found.is_loopback or found == _plain(server) or found in _own_addresses()


def _plain(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    found = ipaddress.ip_address(address)
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found


def _own_addresses() -> Iterator[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """The addresses of this machine, as the kernel lists them: those it delivers to itself."""
    last = ""
    for line in _lines(_LOCAL_V4):
        if line.startswith("|--"):
            last = line.split()[1]
        elif line.startswith("/32 host LOCAL") and last:
            yield ipaddress.IPv4Address(last)
    for line in _lines(_LOCAL_V6):
        yield ipaddress.IPv6Address(int(line.split()[0], 16))


def _lines(path: str) -> Iterator[str]:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            yield from (line.strip() for line in file if line.strip())
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return


def _socket(client: tuple[str, int], server: tuple[str, int]) -> _Socket | None:
    """The socket whose own end is `client`'s and whose far end is ours."""
    wanted = {(_hex(client, table), _hex(server, table)) for table in _TABLES}
    for table in _TABLES:
        for line in _lines(table):
            fields = line.split()
            if (fields[1], fields[2]) in wanted:
                return _Socket(int(fields[9]), int(fields[7]))
    return None


def _hex(end: tuple[str, int], table: str) -> str:
    """An address as the kernel prints it: each word of four bytes in the machine's own order."""
    found = ipaddress.ip_address(end[0])
    packed = found.packed
    if table.endswith("6") and isinstance(found, ipaddress.IPv4Address):
        packed = ipaddress.ip_address(f"::ffff:{end[0]}").packed
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words) + f":{end[1]:04X}"


def _holders(inode: int) -> tuple[list[int], list[int]]:
    """The processes that hold a socket, and those whose descriptors cannot be seen."""
    name = f"socket:[{inode}]"
    found, hidden = [], []
    for pid in _numbers("/proc"):
        try:
            if _holds([f"/proc/{pid}/fd"], name):
                found.append(pid)
        except PermissionError:
            hidden.append(pid)
    if found:
        return found, hidden
    hiding = set(hidden)
    for pid in _numbers("/proc"):
        threads = [one for one in _numbers(f"/proc/{pid}/task") if one != pid]
        try:
            if threads and pid not in hiding and _holds([f"/proc/{pid}/task/{one}/fd" for one in threads], name):
                found.append(pid)
        except PermissionError:
            hidden.append(pid)
    return found, hidden


def _holds(tables: Iterable[str], name: str) -> bool:
    """Whether one of these tables of descriptors has a socket. Raises PermissionError."""
    for table in tables:
        try:
            with os.scandir(table) as entries:
                if any(_leads_to(entry.path, name) for entry in entries):
                    return True
        except (FileNotFoundError, ProcessLookupError, NotADirectoryError):
            continue
    return False


def _users(pid: int) -> set[int]:
    """The users as which a process acts. Its folder in /proc does not say it: that of one who hides is root's."""
    for line in _lines(f"/proc/{pid}/status"):
        if line.startswith("Uid:"):
            return {int(one) for one in line.split()[1:]}
    return set()


def _leads_to(path: str, name: str) -> bool:
    try:
        return os.readlink(path) == name
    except OSError:
        return False


def _numbers(folder: str) -> list[int]:
    try:
        return [int(name) for name in os.listdir(folder) if name.isdigit()]
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []


def bound(address: str, port: int, *, earlier: int = 0) -> socket.socket:
    """A socket that listens. Port 0: the one of the last time if it is free, so that an open page finds us again."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    last: OSError | None = None
    for wanted in dict.fromkeys((port or earlier, port)):
        made = socket.socket(family, socket.SOCK_STREAM)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind((address, wanted))
            made.listen(256)
            made.setblocking(False)
            os.set_inheritable(made.fileno(), False)
            return made
        except OSError as error:
            made.close()
            last = error
    assert last is not None
    raise last
