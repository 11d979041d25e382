"""The archive itself: one .tar.gz, the manifest first. The same session always gives the same bytes.

Reading trusts nothing: every member has to be a plain file that the manifest names, of that size and hash, in a place
that cannot lead out of the folder that it is unpacked to.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import tarfile
import zlib
from typing import IO, Self

import msgspec

from rekindle import files
from rekindle.core.moving import FORMAT, LARGEST_MANIFEST, MANIFEST, VERSION, Manifest, Member, why_not_manifest
from rekindle.ports.errors import RekindleError, UsageError

_BLOCK = 1 << 20
_HOLE = 1 << 12
_LONGEST_ADDITION = 1 << 16
#: The version of archives from before facts were complete.
_BEFORE = 1


class _Head(tarfile.TarInfo):
    """A head whose additions (long names and the like) are short: all of them are read into memory first."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        found = super().frombuf(buf, encoding, errors)
        if not (found.isreg() or found.size <= _LONGEST_ADDITION):
            raise tarfile.ReadError(f"a head of {found.size} bytes")
        return found


class BadArchive(UsageError):
    """The file is not an archive of a session, or is incomplete."""

    code = "bad_archive"


def member(folder: str, path: str) -> Member:
    """What the manifest says of a file that is ready to be packed."""
    hashed = hashlib.sha256()
    size = 0
    with open(os.path.join(folder, path), "rb") as file:
        while block := file.read(_BLOCK):
            hashed.update(block)
            size += len(block)
    return Member(path, size, hashed.hexdigest())


def write(target: str, folder: str, manifest: Manifest) -> None:
    """Pack the members that lie in `folder`. The target is there whole or not at all. Raises RekindleError."""
    try:
        _write(target, folder, manifest)
    except OSError as error:
        raise RekindleError(f"{target} could not be written ({error.strerror})", "make room for it") from error


def _write(target: str, folder: str, manifest: Manifest) -> None:
    temporary = f"{target}.{os.getpid()}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with (
            os.fdopen(fd, "wb") as file,
            gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
        ):
            text = msgspec.json.format(msgspec.json.encode(manifest))
            with open(os.path.join(folder, MANIFEST), "wb+") as first:
                first.write(text)
                first.seek(0)
                _add(tar, MANIFEST, len(text), first)
            for one in manifest.members:
                with open(os.path.join(folder, one.path), "rb") as content:
                    _add(tar, one.path, one.size, content)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _add(tar: tarfile.TarFile, name: str, size: int, content: IO[bytes]) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o600, 0
    tar.addfile(info, content)


def unpack(path: str, folder: str) -> Manifest:
    """Check an archive and unpack it to an empty folder. Raises BadArchive, and OSError."""
    try:
        with gzip.open(path, "rb") as packed:
            with tarfile.open(fileobj=packed, mode="r|", tarinfo=_Head) as tar:
                manifest = _unpack(tar, path, folder)
            if len(packed.read(_BLOCK)) == _BLOCK:  # reading to the end also checks the sum that stands there
                raise _bad(path, "something lies behind its end")
            return manifest
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadArchive(
            f"{path} is not an archive of a session, or is incomplete ({error})",
            "copy it again from where it was written",
        ) from error


def _unpack(tar: tarfile.TarFile, path: str, folder: str) -> Manifest:
    manifest: Manifest | None = None
    due: dict[str, Member] = {}
    for info in tar:
        if not info.isreg():
            raise _bad(path, f"{info.name!r} is not a plain file")
        if manifest is None:
            manifest = _manifest(tar, info, path)
            due = {one.path: one for one in manifest.members}
            continue
        expected = due.pop(info.name, None)
        if expected is None:
            raise _bad(path, f"{info.name!r} is not in its manifest, or there twice")
        if info.size != expected.size:
            raise _bad(path, f"{info.name!r} has {info.size} bytes where {expected.size} were packed")
        content = tar.extractfile(info)
        assert content is not None
        if _extract(content, os.path.join(folder, *info.name.split("/"))) != expected.sha256:
            raise _bad(path, f"{info.name!r} is not what was packed")
    if manifest is None:
        raise _bad(path, "it is empty")
    if due:
        raise _bad(path, f"{next(iter(due))!r} is missing")
    return manifest


def _manifest(tar: tarfile.TarFile, info: tarfile.TarInfo, path: str) -> Manifest:
    if info.name != MANIFEST or info.size > LARGEST_MANIFEST:
        raise _bad(path, "it does not begin with a manifest")
    content = tar.extractfile(info)
    assert content is not None
    data = content.read()
    try:
        said = msgspec.json.decode(data)
        if not isinstance(said, dict) or said.get("format") != FORMAT:
            raise _bad(path, "its manifest is of something else")
        if said.get("version") == _BEFORE:
            raise BadArchive(
                f"{path} was made by an earlier rekindle, whose facts this one cannot fold",
                "the conversation is readable all the same: the archive is a tar file, and `transcript` in it is the"
                " agent's own record",
            )
        if said.get("version") != VERSION:
            raise BadArchive(
                f"{path} has version {said.get('version')!r}; this rekindle reads {VERSION}", "use a newer rekindle"
            )
        manifest = msgspec.convert(said, Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _bad(path, f"its manifest cannot be read: {error}") from error
    problem = why_not_manifest(manifest)
    if problem is not None:
        raise _bad(path, problem)
    return manifest


def _extract(content: IO[bytes], target: str) -> str:
    """Write a file and return its hash. Empty blocks stay holes: a spool gives its old ones back."""
    files.make_private(os.path.dirname(target))
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    hashed = hashlib.sha256()
    with os.fdopen(fd, "wb") as file:
        while block := content.read(_BLOCK):
            hashed.update(block)
            for at in range(0, len(block), _HOLE):
                piece = block[at : at + _HOLE]
                file.seek(len(piece), os.SEEK_CUR) if not piece.strip(b"\0") else file.write(piece)
        file.truncate(file.tell())
        file.flush()
        os.fsync(file.fileno())
    return hashed.hexdigest()


def _bad(path: str, why: str) -> BadArchive:
    return BadArchive(f"{path}: {why}", "nothing was imported; write the archive again with `rekindle export`")
