"""The records of the input spool: every message that was ever accepted for the agent's stdin.

    magic 4 | n u64 | generation u64 | id length u16 | payload length u32 | crc32 u32 | id | payload

n counts from 1 without holes. The file is appended to and synced before a message is acknowledged,
so a crash can leave at most one half-written record at its end; the reader stops in front of that and
says so. A codec only: opening, syncing and de-duplicating happen in `input_spool`.
"""

import struct
from binascii import crc32
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedIOBase

from rekindle.keeper.frames import MAX_PAYLOAD

MAGIC = b"RKI1"
MAX_ID = 1024
_HEAD = struct.Struct(">4sQQHII")
_COUNTED = struct.Struct(">QQHI")
HEAD_BYTES = _HEAD.size


@dataclass(frozen=True, slots=True)
class InputRecord:
    n: int
    generation: int
    prompt: str
    payload: bytes

    def encode(self) -> bytes:
        name = self.prompt.encode()
        counted = _COUNTED.pack(self.n, self.generation, len(name), len(self.payload))
        crc = crc32(self.payload, crc32(name, crc32(counted)))
        head = _HEAD.pack(MAGIC, self.n, self.generation, len(name), len(self.payload), crc)
        return head + name + self.payload


class InputReader:
    """Iterates over whole records; afterwards `good_upto` and `torn` say where and why it stopped."""

    def __init__(self, stream: BufferedIOBase) -> None:
        self._stream = stream
        self.good_upto = 0
        self.torn: str | None = None
        self.last_n = 0

    def __iter__(self) -> Iterator[InputRecord]:
        while self.torn is None:
            head = self._stream.read(HEAD_BYTES)
            if not head:
                return
            record = self._record(head)
            if record is None:
                return
            self.last_n = record.n
            yield record

    def _record(self, head: bytes) -> InputRecord | None:
        if len(head) < HEAD_BYTES:
            return self._stop(f"{len(head)} bytes of a record's head")
        magic, n, generation, name_length, payload_length, crc = _HEAD.unpack(head)
        if magic != MAGIC or name_length > MAX_ID or payload_length > MAX_PAYLOAD:
            return self._stop("bytes that are no record")
        if n != self.last_n + 1:
            return self._stop(f"record {n} where {self.last_n + 1} was due")
        body = self._stream.read(name_length + payload_length)
        if len(body) < name_length + payload_length:
            return self._stop(f"record {n} is cut short")
        counted = _COUNTED.pack(n, generation, name_length, payload_length)
        if crc32(body, crc32(counted)) != crc:
            return self._stop(f"record {n} has a wrong checksum")
        try:
            name = body[:name_length].decode()
        except UnicodeDecodeError:
            return self._stop(f"record {n} has an id that is no text")
        self.good_upto += HEAD_BYTES + len(body)
        return InputRecord(n, generation, name, body[name_length:])

    def _stop(self, why: str) -> InputRecord | None:
        self.torn = f"{why} at offset {self.good_upto}"
        return None
