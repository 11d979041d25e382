"""Processes that a dead incarnation left behind, and their end, before a new agent may start.

They are found by the stamp in their environment, by descent from a stamped process, and by the list
that the last keeper wrote of its tree (`seen`), which also knows those with a scrubbed environment.
Only to be used with the session's lock held: otherwise they are not leftovers but a living agent.
"""

import os
import select
import signal
import time
from collections.abc import Collection, Iterable

from rekindle.keeper import fields
from rekindle.keeper.identity import process_id
from rekindle.keeper.processes import Process, ProcessId, all_pids, descendants, look, send_signal
from rekindle.keeper.slots import SlotFile, read_slots
from rekindle.keeper.spec import STAMP_VARIABLE, Layout

_SEEN_SLOT_BYTES = 32 * 1024
_MOST_SEEN = 600


def find_leftovers(stamp: str) -> list[Process]:
    """All running processes (except the caller) whose environment carries the stamp."""
    wanted = f"{STAMP_VARIABLE}={stamp}".encode(errors="surrogateescape")
    me = os.getpid()
    return [
        process
        for pid in all_pids()
        if pid != me and _has_variable(pid, wanted) and (process := look(pid)) and process.state not in "ZX"
    ]


def end_leftovers(
    stamp: str, *, grace: float = 2.0, also: Iterable[ProcessId] = (), spare: Collection[ProcessId] = ()
) -> list[Process]:
    """End them and their descendants; returns those ended. Does not return before they are gone.

    `also` names processes known from elsewhere, `spare` those that were left running on purpose.
    """
    also = tuple(also)
    ended: dict[ProcessId, Process] = {}
    asked: set[ProcessId] = set()
    deadline = time.monotonic() + grace
    while targets := _targets(stamp, also, spare):
        hurry = time.monotonic() >= deadline
        for process in targets:
            ended[process.id] = process
            if hurry or process.id not in asked:
                send_signal(process.id, signal.SIGKILL if hurry else signal.SIGTERM)
                asked.add(process.id)
        _await_all(targets, 0.05 if hurry else max(0.0, deadline - time.monotonic()))
    return list(ended.values())


class SeenFile:
    """The keeper's list of its own tree, kept for the guard of the next incarnation."""

    def __init__(self, file: SlotFile) -> None:
        self._file = file
        self._written: frozenset[ProcessId] = frozenset()

    @classmethod
    def create(cls, folder: str) -> "SeenFile":
        return cls(SlotFile.create(Layout(folder).seen, slot_bytes=_SEEN_SLOT_BYTES, slots=2))

    def note(self, tree: Iterable[Process]) -> None:
        now = frozenset(process.id for process in tree)
        if now != self._written:
            self._written = now
            listed = [{"pid": one.pid, "start": one.start} for one in sorted(now, key=_by_start)[:_MOST_SEEN]]
            self._file.write({"processes": listed}, sync=False)


def read_seen(folder: str) -> list[ProcessId]:
    value = read_slots(Layout(folder).seen)
    try:
        return [process_id(one) for one in fields.objects(value, "processes")] if value else []
    except ValueError:
        return []


def _by_start(one: ProcessId) -> int:
    return one.start


def _targets(stamp: str, also: Iterable[ProcessId], spare: Collection[ProcessId]) -> list[Process]:
    roots = find_leftovers(stamp)
    roots += [process for one in also if (process := _running(one))]
    spared = set(spare)
    for one in spare:
        spared.update(process.id for process in descendants(one.pid))
    # The caller can itself descend from a leftover only if somebody ran it inside an agent.
    spared.update(_ancestry(os.getpid()))
    found = {process.id: process for process in roots}
    for root in roots:
        if root.id not in spared:
            found.update((process.id, process) for process in descendants(root.id.pid))
    return [process for process in found.values() if process.id not in spared]


def _running(wanted: ProcessId) -> Process | None:
    process = look(wanted.pid)
    return process if process and process.id == wanted and process.state not in "ZX" else None


def _ancestry(pid: int) -> set[ProcessId]:
    line: set[ProcessId] = set()
    while pid > 1 and (process := look(pid)):
        line.add(process.id)
        pid = process.parent
    return line


def _has_variable(pid: int, wanted: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as environ:
            return wanted in environ.read().split(b"\0")
    except OSError:
        return False


def _await_all(targets: Iterable[Process], seconds: float) -> None:
    """Wait until all of them have ended, or the time runs out; by handle, because they are not our children."""
    handles = []
    for process in targets:
        try:
            handles.append(os.pidfd_open(process.id.pid))
        except ProcessLookupError:
            continue
        except OSError:
            time.sleep(0.02)  # no pidfd on this kernel: look again soon
            return
    deadline = time.monotonic() + seconds
    try:
        waiting = set(handles)
        while waiting and (rest := deadline - time.monotonic()) > 0:
            poller = select.poll()
            for handle in waiting:
                poller.register(handle, select.POLLIN)
            waiting -= {handle for handle, _ in poller.poll(rest * 1000)}
    finally:
        for handle in handles:
            os.close(handle)
