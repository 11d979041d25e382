"""What travels on the keeper's socket, as bytes in and frames out.

A frame is a 4-byte big-endian header length, a 4-byte big-endian payload length, a JSON object in
UTF-8 and the payload. Keeper, blocking client and the daemon's asyncio client share this one codec,
so it may not do I/O, and nothing that a peer sends may raise anything but FrameError.
"""

import json
from dataclasses import dataclass, field

from rekindle.keeper.errors import FrameError

PROTO_MIN = 1  # the oldest and the newest protocol that this code speaks, on either side
PROTO_MAX = 1
MAX_HEADER = 64 * 1024
MAX_PAYLOAD = 16 * 1024 * 1024
_LENGTHS = 8

Header = dict[str, object]


@dataclass(frozen=True, slots=True)
class Frame:
    header: Header = field(default_factory=dict)
    payload: bytes = b""


def encode(frame: Frame) -> bytes:
    """The bytes of one frame; FrameError if a peer would have to refuse it."""
    try:
        head = json.dumps(frame.header, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise FrameError(f"the header is not JSON: {error}") from error
    _check_lengths(len(head), len(frame.payload))
    return len(head).to_bytes(4, "big") + len(frame.payload).to_bytes(4, "big") + head + frame.payload


class Decoder:
    """Takes bytes as they come; `next_frame` gives what is complete.

    Frames before the garbage are still given out. After a FrameError the stream has no frame
    boundary any more, so every further call raises it again.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._broken: str | None = None

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def next_frame(self) -> Frame | None:
        if self._broken is not None:
            raise FrameError(self._broken)
        try:
            return self._take()
        except FrameError as error:
            self._broken = str(error)
            self._buffer.clear()
            raise

    def _take(self) -> Frame | None:
        if len(self._buffer) < _LENGTHS:
            return None
        head_length = int.from_bytes(self._buffer[:4], "big")
        payload_length = int.from_bytes(self._buffer[4:_LENGTHS], "big")
        _check_lengths(head_length, payload_length)
        end = _LENGTHS + head_length + payload_length
        if len(self._buffer) < end:
            return None
        head = bytes(self._buffer[_LENGTHS : _LENGTHS + head_length])
        payload = bytes(self._buffer[_LENGTHS + head_length : end])
        del self._buffer[:end]
        return Frame(_parse_header(head), payload)


def _check_lengths(head: int, payload: int) -> None:
    if head > MAX_HEADER:
        raise FrameError(f"header of {head} bytes; at most {MAX_HEADER} are allowed")
    if payload > MAX_PAYLOAD:
        raise FrameError(f"payload of {payload} bytes; at most {MAX_PAYLOAD} are allowed")


def _parse_header(head: bytes) -> Header:
    try:
        value = json.loads(head)
    except (ValueError, RecursionError) as error:
        raise FrameError("the header is not JSON") from error
    if not isinstance(value, dict):
        raise FrameError("the header is not a JSON object")
    return value
