"""Who a process is: a pid alone proves nothing, because pids are reused. Light standard library only."""

from __future__ import annotations

import os

_boot = ""


def identity(pid: int) -> dict[str, object] | None:
    """What tells this process from every other one, on any host, after any reboot; None if it is gone."""
    started = start_time(pid)
    if started is None:
        return None
    return {
        "machine": _line("/etc/machine-id"),
        "boot": boot_id(),
        "pidns": _link(f"/proc/{pid}/ns/pid"),
        "pid": pid,
        "started": started,
    }


def verdict(kept: dict[str, object]) -> str:
    """`alive`, `dead`, or `unknown` for a process that ran on another host or in another pid namespace."""
    pid = kept.get("pid")
    if not isinstance(pid, int) or kept.get("machine") != _line("/etc/machine-id"):
        return "unknown"
    if kept.get("boot") != boot_id():
        return "dead" if kept.get("machine") else "unknown"  # without a machine id it may be another host
    if kept.get("pidns") != _link("/proc/self/ns/pid"):
        return "unknown"
    return "alive" if start_time(pid) == kept.get("started") else "dead"


def boot_id() -> str:
    """Which start of the machine this is. No process lives to see another one."""
    global _boot
    _boot = _boot or _line("/proc/sys/kernel/random/boot_id")
    return _boot


def start_time(pid: int) -> int | None:
    """The process's start in clock ticks since boot, the 22nd field of its stat line; None if it is gone or dead."""
    try:
        fields = _content(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except OSError:
        return None
    if fields[0] in (b"Z", b"X"):
        return None
    return int(fields[19])


def is_stopped(pid: int) -> bool:
    """Whether somebody has stopped the process (SIGSTOP, a debugger), so that it answers nobody until resumed."""
    try:
        return _content(f"/proc/{pid}/stat").rpartition(b")")[2].split()[0] in (b"T", b"t")
    except (OSError, IndexError):
        return False


def parent(pid: int) -> int:
    """The parent's pid, 0 where there is none."""
    try:
        return int(_content(f"/proc/{pid}/stat").rpartition(b")")[2].split()[1])
    except OSError:
        return 0


def name(pid: int) -> str:
    """The process's short name."""
    return _line(f"/proc/{pid}/comm")


def _line(path: str) -> str:
    try:
        return _content(path).partition(b"\n")[0].decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _content(path: str) -> bytes:
    """What one of the kernel's short files says. A file object would take several times as long."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 4096)
    finally:
        os.close(fd)


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
