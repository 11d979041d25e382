"""The frames of a vault's file: bytes that were copied, each frame checked by itself and chained to the one before it.

    magic 4 | kind u8 | attempt u32 | name length u16 | payload length u32 | offset u64 | name | payload | digest 32

The digest covers the 32 bytes before the frame (the digest of the one before it; zeros for the first) and all of the
frame. So the last digest vouches for the whole file, and yet any frame can be checked where it is: reading continues
after a damaged one. Reading never raises; it reports what it could not read, with its place. A codec only.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from enum import IntEnum

MAGIC = b"RKV1"
DIGEST = 32
START = bytes(DIGEST)
MAX_NAME = 1024
MAX_PAYLOAD = 1 << 20
_HEAD = struct.Struct(">4sBIHIQ")
HEAD = _HEAD.size


class Kind(IntEnum):
    """What a frame holds: a description of the copy (JSON), or bytes of what is copied."""

    ABOUT = 1
    BYTES = 2


@dataclass(frozen=True, slots=True)
class VaultFrame:
    """`offset` is the place of the payload in what is copied."""

    kind: Kind
    attempt: int
    name: str
    offset: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class StoredFrame:
    """A whole frame, `at` its place in the file, `digest` in hexadecimal."""

    at: int
    end: int
    frame: VaultFrame
    digest: str


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes from `at` to `end` that are not a whole frame, with more of the file after them."""

    at: int
    end: int
    why: str


@dataclass(frozen=True, slots=True)
class Scan:
    """What a file holds. `good_upto`: where the next frame goes; `torn`: what is there now, half-written."""

    frames: tuple[StoredFrame, ...]
    damage: tuple[Damage, ...]
    good_upto: int
    digest: bytes
    torn: str | None


def encode(frame: VaultFrame, previous: bytes) -> bytes:
    """The frame's bytes, to be written after the digest `previous`."""
    name = frame.name.encode("utf-8", "surrogateescape")
    if len(name) > MAX_NAME or len(frame.payload) > MAX_PAYLOAD:
        raise ValueError("a frame's name or payload is too long")
    head = _HEAD.pack(MAGIC, frame.kind, frame.attempt, len(name), len(frame.payload), frame.offset)
    body = head + name + frame.payload
    return body + _digest(previous, body)


def scan(data: bytes) -> Scan:
    """Everything that can be read. A frame that the end of the file cuts short is torn; anything else is damage."""
    frames: list[StoredFrame] = []
    damage: list[Damage] = []
    at = good = 0
    torn: str | None = None
    while at < len(data):
        found = _frame_at(data, at)
        if isinstance(found, StoredFrame):
            frames.append(found)
            at = good = found.end
            continue
        after = _next(data, at)
        if after is not None:
            damage.append(Damage(at, after, found.why))
            at = after
        elif found.is_cut:
            torn = f"{found.why} at offset {at}"
            break
        else:
            damage.append(Damage(at, len(data), found.why))
            break
    return Scan(tuple(frames), tuple(damage), good, data[good - DIGEST : good] if good else START, torn)


def whole(data: bytes) -> int:
    """Where the last whole frame ends in bytes that begin with a frame, as the heads tell it. No sum is checked."""
    at = 0
    while len(data) - at >= HEAD:
        magic, _, _, name_length, payload_length, _ = _HEAD.unpack_from(data, at)
        end = at + HEAD + name_length + payload_length + DIGEST
        if magic != MAGIC or end > len(data):
            break
        at = end
    return at


def held(data: bytes) -> int:
    """How much of what is copied whole frames tell of, up to the end of the last one's bytes. No sum is checked."""
    at = upto = 0
    while len(data) - at >= HEAD:
        magic, kind, _, name_length, payload_length, offset = _HEAD.unpack_from(data, at)
        end = at + HEAD + name_length + payload_length + DIGEST
        if magic != MAGIC or end > len(data):
            break
        at, upto = end, offset + payload_length if kind == Kind.BYTES else upto
    return upto


@dataclass(frozen=True, slots=True)
class _Bad:
    why: str
    is_cut: bool


def _frame_at(data: bytes, at: int) -> StoredFrame | _Bad:
    if len(data) - at < HEAD:
        return _Bad(f"{len(data) - at} bytes of a frame's head", is_cut=True)
    magic, kind, attempt, name_length, payload_length, offset = _HEAD.unpack_from(data, at)
    if magic != MAGIC or kind not in (Kind.ABOUT, Kind.BYTES) or name_length > MAX_NAME or payload_length > MAX_PAYLOAD:
        is_nothing = not data[at:].strip(b"\0")  # space that a power loss left unwritten
        return _Bad("bytes that are not a frame", is_cut=is_nothing)
    body = at + HEAD + name_length + payload_length
    if body + DIGEST > len(data):
        return _Bad("a truncated frame", is_cut=True)
    previous = data[at - DIGEST : at] if at else START
    if _digest(previous, data[at:body]) != data[body : body + DIGEST]:
        return _Bad("a frame with a wrong checksum", is_cut=False)
    name = data[at + HEAD : at + HEAD + name_length].decode("utf-8", "surrogateescape")
    payload = data[at + HEAD + name_length : body]
    return StoredFrame(
        at, body + DIGEST, VaultFrame(Kind(kind), attempt, name, offset, payload), data[body : body + DIGEST].hex()
    )


def _next(data: bytes, at: int) -> int | None:
    """Where the next whole frame begins."""
    place = data.find(MAGIC, at + 1)
    while place >= 0:
        if place >= DIGEST and isinstance(_frame_at(data, place), StoredFrame):
            return place
        place = data.find(MAGIC, place + 1)
    return None


def _digest(previous: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(body, key=previous, digest_size=DIGEST).digest()
