"""The user's settings file on this machine."""

from __future__ import annotations

import os
import stat

from rekindle import files
from rekindle.ports.errors import UsageError

_MODE = 0o644
#: As much as `rekindle.settings` reads.
_LONGEST = 1 << 16


class UserFile:
    """See `rekindle.ports.settings_file.SettingsFile`."""

    def __init__(self, path: str) -> None:
        self.path = path

    def read(self) -> str | None:
        """Its text; None if there is no such file."""
        try:
            with os.fdopen(files.open_to_read(self.path), "rb") as file:
                raw = file.read(_LONGEST + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be read ({error.strerror})", "fix it or move it away") from error
        if len(raw) > _LONGEST:
            raise UsageError(f"{self.path}: has more than {_LONGEST} bytes", "shorten it or move it away")
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            raise UsageError(f"{self.path}, line {line}: is not valid UTF-8", "fix it or move it away") from error

    def write(self, text: str, *, private: bool = False) -> None:
        """Put a text in its place in one step; a link stays a link. Its mode stays, unless it is to be private."""
        target = os.path.realpath(self.path)
        try:
            os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
            mode = stat.S_IMODE(os.stat(target).st_mode) if os.path.exists(target) else _MODE
            mode = mode & ~0o077 if private else mode
            files.replace(target, text.encode("utf-8"), mode=mode, durable=True)
        except OSError as error:
            raise UsageError(
                f"{self.path}: cannot be written ({error.strerror})", "check its permissions and the disk"
            ) from error

    def stamp(self) -> tuple[int, int, int] | None:
        """What changes whenever the file does; None if there is none."""
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def is_shared(self) -> bool:
        """Whether others can read it."""
        try:
            return bool(stat.S_IMODE(os.stat(self.path).st_mode) & 0o077)
        except OSError:
            return False
