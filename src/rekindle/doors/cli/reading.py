"""Reads files named on the command line, up to a maximum size."""

from __future__ import annotations

import os
import stat

from rekindle.ports.errors import UsageError


def read_file(path: str, what: str, most: int) -> bytes:
    """The bytes of a regular file, or of a pipe. Raises UsageError that names it and what was expected."""
    about: dict[str, object] = {"file": path, "line": None, "key": "", "allowed": []}
    try:
        if stat.S_ISDIR(os.stat(path).st_mode):
            raise UsageError(f"{path}: is a folder", f"give the path of a {what}", details=about)
        with open(path, "rb") as file:
            content = file.read(most + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{path}: cannot be read ({why})", f"give the path of a {what}", details=about) from error
    if len(content) > most:
        raise UsageError(f"{path}: has more than {most} bytes", f"give the path of a {what}", details=about)
    return content
