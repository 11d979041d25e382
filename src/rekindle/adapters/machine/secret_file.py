"""A secret in a file of its own: read only if nobody else can read it, and never told."""

from __future__ import annotations

import os

from rekindle import files
from rekindle.ports.errors import UsageError

_LONGEST = 4096


def read_secret(path: str, setting: str) -> str:
    """The one line in a file that only its owner can read. `setting` names the file. Raises UsageError."""
    try:
        text = read_private(path, setting, _LONGEST).decode()
    except UnicodeDecodeError:
        text = ""
    secret = text.rstrip("\r\n")
    if not secret or "\n" in secret or "\0" in secret or len(text) > _LONGEST:
        raise UsageError(f"{path} does not hold one line", "put the secret, and nothing else, in it")
    return secret


def read_private(path: str, setting: str, longest: int) -> bytes:
    """What is in a file that only its owner can read; at most one byte more than `longest`. Raises UsageError."""
    try:
        fd = files.open_to_read(path)
        try:
            found = os.fstat(fd)
            if found.st_uid not in (os.geteuid(), 0):
                raise UsageError(
                    f"{path} belongs to another user (uid {found.st_uid}), who can change it",
                    f"set {setting} to a file of yours",
                )
            if found.st_mode & 0o077:
                raise UsageError(f"{path} can be read by others", f"chmod 600 {path}")
            return os.read(fd, longest + 1)
        finally:
            os.close(fd)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", f"set {setting} to a file of yours") from error
