"""The messages for the agent: numbered, appended and synced before they count as accepted.

De-duplicates by prompt id, so that a daemon that died before it saw the answer may simply send
again. Holds no payloads in memory: an agent that never reads costs disk, not the keeper's memory.
How the messages reach the agent is `stdin_feed`'s business; who may send is `operations`'.
"""

import os
from binascii import crc32
from collections import deque
from dataclasses import dataclass

from rekindle.keeper.input_records import InputRecord
from rekindle.keeper.output_spool import Reservation


@dataclass(frozen=True, slots=True)
class Accepted:
    n: int
    crc: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """Where the payload of an undelivered message is."""

    n: int
    offset: int
    length: int


class SpoolFull(Exception):
    """No room for the record; nothing was changed."""


class SpoolBroken(Exception):
    """The disk failed while syncing; what is on it is unknown, so no message is accepted any more."""


class InputSpool:
    def __init__(self, path: str, ahead: int) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._reservation = Reservation(self._fd, ahead)
        self._accepted: dict[str, Accepted] = {}
        self._broken = False
        self.size = 0
        self.last_n = 0
        self.waiting: deque[Waiting] = deque()
        self.waiting_bytes = 0

    def has_room(self) -> bool:
        return self._reservation.top_up(self.size)

    def known(self, prompt: str) -> Accepted | None:
        return self._accepted.get(prompt)

    def append(self, generation: int, prompt: str, payload: bytes) -> int:
        """Append a message; it is on disk when this returns.

        SpoolFull or SpoolBroken if not, and then it is not in the file.
        """
        if self._broken:
            raise SpoolBroken
        record = InputRecord(self.last_n + 1, generation, prompt, payload).encode()
        if not self._reservation.cover(self.size, self.size + len(record)):
            raise SpoolFull
        self._write(record)
        self.last_n += 1
        self._accepted[prompt] = Accepted(self.last_n, crc32(payload))
        self.waiting.append(Waiting(self.last_n, self.size + len(record) - len(payload), len(payload)))
        self.waiting_bytes += len(payload)
        self.size += len(record)
        return self.last_n

    def payload(self, message: Waiting) -> bytes:
        return os.pread(self._fd, message.length, message.offset)

    def taken(self) -> None:
        """The agent's stdin has the first waiting message."""
        self.waiting_bytes -= self.waiting.popleft().length

    def give_back(self) -> None:
        """Release what was reserved and not used."""
        os.ftruncate(self._fd, self.size)

    def _write(self, record: bytes) -> None:
        done = 0
        try:
            while done < len(record):
                done += os.pwrite(self._fd, record[done:], self.size + done)
        except OSError as error:
            os.ftruncate(self._fd, self.size)
            self._reservation.forget()
            raise SpoolFull from error
        try:
            os.fdatasync(self._fd)
        except OSError as error:
            self._broken = True
            raise SpoolBroken from error
