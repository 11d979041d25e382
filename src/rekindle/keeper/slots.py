"""A small record in a file whose blocks exist from the start, so that it can be written on a full disk.

The file holds one or more slots of a fixed size, each with magic, sequence number, length, checksum and
a JSON object. Writes go round the slots in place; the reader takes the valid one with the highest number,
so a half-written slot is recognised and, with two slots, the state before it is still there.
What the object means is not known here.
"""

import errno
import json
import os
import struct
from binascii import crc32

_HEAD = struct.Struct(">4sQII")
_MAGIC = b"RKS1"
_LEAD = 4096  # slots start on a page, so that a kill cannot tear a slot that fits into one
_LARGEST_FILE = 1 << 20

Value = dict[str, object]


class SlotFile:
    """The writing side; made once, by the guard, before anything else is started."""

    def __init__(self, fd: int, slot_bytes: int, slots: int) -> None:
        self._fd = fd
        self._slot_bytes = slot_bytes
        self._slots = slots
        self._sequence = 0

    @classmethod
    def create(cls, path: str, *, slot_bytes: int, slots: int) -> "SlotFile":
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        # Real zeros, not only a reservation: the later write must not need any new block.
        blank = slot_bytes.to_bytes(4, "big") + bytes(_LEAD - 4 + slot_bytes * slots)
        if os.pwrite(fd, blank, 0) != len(blank):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        os.fsync(fd)
        return cls(fd, slot_bytes, slots)

    def room(self) -> int:
        return self._slot_bytes - _HEAD.size

    def write(self, value: Value, *, sync: bool) -> None:
        body = json.dumps(value, separators=(",", ":")).encode()
        if len(body) > self.room():
            raise ValueError(f"{len(body)} bytes do not fit into a slot of {self.room()}")
        self._sequence += 1
        record = _HEAD.pack(_MAGIC, self._sequence, len(body), crc32(body)) + body
        os.pwrite(self._fd, record, _LEAD + (self._sequence % self._slots) * self._slot_bytes)
        if sync:
            os.fdatasync(self._fd)


def read_slots(path: str) -> Value | None:
    """The newest whole value, or None if none was written yet (or the file is not there)."""
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST_FILE)
    except FileNotFoundError:
        return None
    slot_bytes = int.from_bytes(data[:4], "big")
    if slot_bytes <= _HEAD.size:
        return None
    slots = (data[at : at + slot_bytes] for at in range(_LEAD, len(data), slot_bytes))
    valid = [found for slot in slots if (found := _parse(slot)) is not None]
    return max(valid, key=lambda found: found[0])[1] if valid else None


def _parse(slot: bytes) -> tuple[int, Value] | None:
    if len(slot) < _HEAD.size:
        return None
    magic, sequence, length, crc = _HEAD.unpack_from(slot)
    body = slot[_HEAD.size : _HEAD.size + length]
    if magic != _MAGIC or len(body) != length or crc32(body) != crc:
        return None
    try:
        value = json.loads(body)
    except ValueError:
        return None
    return (sequence, value) if isinstance(value, dict) else None
