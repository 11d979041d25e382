"""What this machine has for agents: cores, memory, and how much of it is free. See `rekindle.ports.machine`.

A container or a service may have less than the machine: the control groups (version 2 and 1) of this process and of
all those above it are read too. Where there is no /proc (macOS), nobody says how much memory is free: all of it counts
as free then.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from rekindle.core.governor.room import MachineReading

#: Version 1 says "no limit" with a number that no machine has.
_UNLIMITED = 1 << 60


class ThisMachinesLoad:
    """Reads below `root`, which is / except in tests."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def reading(self) -> MachineReading | None:
        """What holds now."""
        memory = self._memory()
        if memory is None:
            return None
        total, available = memory
        for limit, free in self._limits():
            total, available = min(total, limit), min(available, free)
        return MachineReading(self._cores(), total, max(0, available), self._stalled())

    def _memory(self) -> tuple[int, int] | None:
        found = _table(self._text("proc/meminfo"))
        if "MemTotal" in found and "MemAvailable" in found:
            return found["MemTotal"] * 1024, found["MemAvailable"] * 1024
        try:
            total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (ValueError, OSError):
            return None
        return (total, total) if total > 0 else None

    def _groups(self, kind: str) -> Iterator[Path]:
        """The folders of the control groups that hold this process, from its own to the top."""
        for line in self._text("proc/self/cgroup").splitlines():
            _, names, place = [*line.split(":", 2), "", ""][:3]
            if names and kind not in names.split(","):
                continue
            top = self._root / "sys/fs/cgroup" / (kind if names else "")
            folder = top / place.lstrip("/")
            yield from (one for one in (folder, *folder.parents) if one == top or top in one.parents)

    def _limits(self) -> Iterator[tuple[int, int]]:
        """Each limit of memory that holds for this process, and what of it is free. File caches count as free."""
        for group in self._groups("memory"):
            for limit, used, cache in (
                ("memory.max", "memory.current", "inactive_file"),
                ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
            ):
                most, now = _number(group / limit), _number(group / used)
                if most is not None and now is not None and most < _UNLIMITED:
                    yield most, most - now + _table(_text(group / "memory.stat")).get(cache, 0)

    def _cores(self) -> float:
        try:
            found = float(len(os.sched_getaffinity(0)))
        except (AttributeError, OSError):
            found = float(os.cpu_count() or 1)
        for group in self._groups("cpu"):
            quota, period = [*_text(group / "cpu.max").split(), "", ""][:2]
            if not quota:
                quota, period = _text(group / "cpu.cfs_quota_us").strip(), _text(group / "cpu.cfs_period_us").strip()
            if quota.isdecimal() and period.isdecimal() and int(period):
                found = min(found, max(0.5, int(quota) / int(period)))
        return found

    def _stalled(self) -> float | None:
        """The share of the last ten seconds in which everything waited for memory: of the machine, or of our group."""
        files = [self._root / "proc/pressure/memory", *(one / "memory.pressure" for one in self._groups("memory"))]
        found = [one for one in map(_full, files) if one is not None]
        return max(found, default=None)

    def _text(self, path: str) -> str:
        return _text(self._root / path)


def _full(path: Path) -> float | None:
    for line in _text(path).splitlines():
        words = line.split()
        if words[:1] == ["full"]:
            told = dict(word.split("=", 1) for word in words[1:] if "=" in word)
            try:
                return float(told["avg10"])
            except (KeyError, ValueError):
                return None
    return None


def _table(text: str) -> dict[str, int]:
    """Lines of a name and a number, as the kernel writes them."""
    pairs = (line.replace(":", " ").split() for line in text.splitlines())
    return {words[0]: int(words[1]) for words in pairs if len(words) > 1 and words[1].isdecimal()}


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdecimal() else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
