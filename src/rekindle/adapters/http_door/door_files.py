"""The files of the HTTP door in the runtime folder, for this user only: its secrets, its place, and links to it.

They are gone after a reboot, and so is the door. While they are there, a daemon that takes over from one that was
killed opens the door again in the same place, with the same secrets: a page that is open goes on.
"""

from __future__ import annotations

import contextlib
import html
import os
import secrets

import msgspec

from rekindle import files
from rekindle.ports.http_door import DoorRecord

_LONGEST = 1 << 16


class DoorFiles:
    """`folder` is in the runtime folder of the store."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.secret_file = os.path.join(folder, "secret")
        self.reading_file = os.path.join(folder, "secret-read-only")
        self._record = os.path.join(folder, "door.json")
        self._secrets_place = os.path.join(folder, "secrets-place")

    def is_open(self) -> bool:
        """Whether a daemon has left its door open: it was killed."""
        return os.path.exists(self._record)

    def record(self) -> DoorRecord | None:
        """Where the door was last."""
        try:
            return msgspec.json.decode(files.read_short(self._record, _LONGEST), type=DoorRecord)
        except (OSError, msgspec.DecodeError):
            return None

    def keep(self, record: DoorRecord) -> None:
        """Say where the door is."""
        files.make_private(self._folder)
        files.replace(self._record, msgspec.json.encode(record), mode=0o600)

    def closed(self) -> None:
        """The door was closed on purpose."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._record)
        with contextlib.suppress(FileNotFoundError), os.scandir(self._folder) as found:
            for one in found:
                if one.name.startswith("open-"):
                    os.unlink(one.path)

    def secrets(self, place: str = "", *, new: bool = False) -> tuple[str, str]:
        """The two secrets: for everything, and for reading only. Those of the last time, if there are any.

        Not if that was in another place: a page that is open sends its secret to whoever listens there now.
        """
        files.make_private(self._folder)
        new = new or self._known_place() != place
        found = []
        for path in (self.secret_file, self.reading_file):
            with contextlib.suppress(OSError):
                found.append(files.read_short(path, _LONGEST).decode("ascii", "replace").strip())
        if new or len(found) != 2 or not all(len(one) >= 32 for one in found) or found[0] == found[1]:
            found = [secrets.token_urlsafe(32), secrets.token_urlsafe(32)]
            files.replace(self.secret_file, found[0].encode() + b"\n", mode=0o600)
            files.replace(self.reading_file, found[1].encode() + b"\n", mode=0o600)
            files.replace(self._secrets_place, place.encode(), mode=0o600)
        return found[0], found[1]

    def _known_place(self) -> str:
        """The place that the secrets are for."""
        try:
            return files.read_short(self._secrets_place, _LONGEST).decode("utf-8", "replace")
        except OSError:
            return ""

    def redirect(self, url: str) -> str:
        """A file that leads a browser to `url`: a command line would show it to every user of the machine."""
        files.make_private(self._folder)
        path = os.path.join(self._folder, f"open-{secrets.token_hex(8)}.html")
        there = html.escape(url, quote=True)
        page = (
            '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
            f'<meta http-equiv="refresh" content="0; url={there}"><title>rekindle</title>'
            f'<p><a href="{there}">Open rekindle</a></p>\n'
        )
        files.replace(path, page.encode(), mode=0o600)
        return path

    def drop(self, path: str) -> None:
        """Remove a link that is too old."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
