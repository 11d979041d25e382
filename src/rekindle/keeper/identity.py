"""Who an incarnation is: its three processes, and the machine, boot and pid namespace they live in.

Written once by the keeper when the agent runs, read by any later daemon. A pid from another boot or
another pid namespace says nothing here, and this is where that is told apart. No locks, no signals.
"""

import os
from dataclasses import asdict, dataclass

from rekindle.keeper import fields
from rekindle.keeper.processes import ProcessId
from rekindle.keeper.slots import SlotFile, read_slots
from rekindle.keeper.spec import Layout

_SLOT_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Place:
    """Where pids mean something."""

    machine: str
    boot: str
    pid_namespace: str


@dataclass(frozen=True, slots=True)
class Identity:
    session: str
    attempt: int
    place: Place
    guard: ProcessId
    keeper: ProcessId
    agent: ProcessId
    socket: str
    started_at: float


def here() -> Place:
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return Place(_line("/etc/machine-id"), _line("/proc/sys/kernel/random/boot_id"), namespace)


def process_id(value: fields.Object) -> ProcessId:
    return ProcessId(fields.integer(value, "pid"), fields.integer(value, "start"))


def place(value: fields.Object) -> Place:
    return Place(*(fields.text(value, name) for name in ("machine", "boot", "pid_namespace")))


def create_identity_file(folder: str) -> SlotFile:
    return SlotFile.create(Layout(folder).identity, slot_bytes=_SLOT_BYTES, slots=1)


def write_identity(file: SlotFile, identity: Identity) -> None:
    file.write(asdict(identity), sync=True)


def read_identity(folder: str) -> Identity | None:
    """None while the agent was not started yet, or never was."""
    value = read_slots(Layout(folder).identity)
    if value is None:
        return None
    try:
        return Identity(
            session=fields.text(value, "session"),
            attempt=fields.integer(value, "attempt"),
            place=place(fields.nested(value, "place")),
            guard=process_id(fields.nested(value, "guard")),
            keeper=process_id(fields.nested(value, "keeper")),
            agent=process_id(fields.nested(value, "agent")),
            socket=fields.text(value, "socket"),
            started_at=fields.number(value, "started_at"),
        )
    except ValueError:
        return None


def _line(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""
