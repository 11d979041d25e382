"""Makes the files of one machine those of another: who wrote them stands in locks, owners' records and keepers' slots.

An edition that is committed says nothing of where it was made. Where it is put back it has to be that machine's own:
what ran on another one is unknown to rekindle, never dead. The formats are written out here, not imported: an edition
keeps the format of its day.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tarfile
from binascii import crc32
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SLOTS, _TEXTS = ("identity", "exit"), ("lock", "owner.json")
_LEAD, _MAGIC, _HEAD = 4096, b"RKS1", struct.Struct(">4sQII")


@dataclass(frozen=True)
class Whereabouts:
    """Where pids mean something: a machine, one boot of it, one pid namespace."""

    machine: str
    boot: str
    namespace: str


NOWHERE = Whereabouts("0123456789abcdef0123456789abcdef", "01234567-89ab-4cde-8f01-23456789abcd", "pid:[4000000000]")


def here() -> Whereabouts:
    """This machine, now."""
    machine, boot = (Path(path) for path in ("/etc/machine-id", "/proc/sys/kernel/random/boot_id"))
    told = machine.read_text().strip() if machine.exists() else ""
    return Whereabouts(told, boot.read_text().strip(), os.readlink("/proc/self/ns/pid"))


def move(root: Path, to: Whereabouts) -> None:
    """Have everything below `root` be written on that machine."""
    for path in root.rglob("*"):
        if not path.is_file() or path.is_symlink() or not path.stat().st_size:
            continue
        if path.name in _SLOTS and path.read_bytes()[_LEAD : _LEAD + len(_MAGIC)] in (_MAGIC, bytes(4)):
            _write(path, _slots(path.read_bytes(), to))
        elif path.name in _TEXTS:
            _write(path, json.dumps(_moved(json.loads(path.read_bytes()), to)).encode())


def _moved(value: Any, to: Whereabouts) -> Any:
    if not isinstance(value, dict):
        return value
    known = {"machine": to.machine, "boot": to.boot, "pid_namespace": to.namespace, "pidns": to.namespace}
    return {key: known[key] if key in known else _moved(one, to) for key, one in value.items()}


def _slots(data: bytes, to: Whereabouts) -> bytes:
    """A keeper's file of slots (docs/keeper.md), each with its checksum."""
    size = int.from_bytes(data[:4], "big")
    slots = [_slot(data[at : at + size], to) for at in range(_LEAD, len(data), size)]
    return data[:_LEAD] + b"".join(slots)


def _slot(slot: bytes, to: Whereabouts) -> bytes:
    magic, sequence, length, _ = _HEAD.unpack_from(slot)
    if magic != _MAGIC:
        return slot
    value = _moved(json.loads(slot[_HEAD.size : _HEAD.size + length]), to)
    body = json.dumps(value, separators=(",", ":")).encode()
    written = _HEAD.pack(magic, sequence, len(body), crc32(body)) + body
    assert len(written) <= len(slot)
    return written.ljust(len(slot), b"\0")


def _write(path: Path, data: bytes) -> None:
    """In place: when a file was written to is a part of what it says."""
    before = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def traces(root: Path, repository: Path) -> list[str]:
    """What tells of this machine below `root`, in names, files and archives, or in the objects of a repository."""
    at, user = here(), getpass.getuser()
    words = [str(Path(__file__).resolve().parents[2]), sys.prefix, sys.base_prefix, at.machine, at.boot]
    words += [str(Path.home()), socket.gethostname(), *([user] if user != "root" else [])]
    pattern = re.compile(b"|".join(rb"(?<![\w.-])%s(?![\w-])" % re.escape(word.encode()) for word in words if word))
    return [
        f"{name}: {found[0].decode(errors='replace')}"
        for name, data in (*_files(root), ("objects", _objects(repository)))
        if (found := pattern.search(name.encode() + b"\n" + data))
    ]


def _files(root: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.name.endswith(".tar.gz"):
            with tarfile.open(path) as tar:
                yield from ((f"{name}/{one.name}", tar.extractfile(one).read()) for one in tar if one.isfile())  # type: ignore[union-attr]
        elif path.is_file():
            yield name, path.read_bytes()


def _objects(repository: Path) -> bytes:
    """Everything that git has compressed."""
    words = ["git", "cat-file", "--batch-all-objects", "--batch"]
    return subprocess.run(words, cwd=repository, check=True, capture_output=True).stdout
