"""What is kept about the HTTP door, and how."""

from __future__ import annotations

from typing import Protocol

import msgspec


class DoorRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Where a door is, as it was asked for. `port` is the one that it has."""

    address: str
    port: int
    behind: tuple[str, ...] = ()
    cert: str = ""
    key: str = ""


class DoorPapers(Protocol):
    """The files of one store's door. Quick. Raises OSError."""

    secret_file: str
    reading_file: str

    def is_open(self) -> bool:
        """Whether a daemon has left its door open: it was killed."""
        ...

    def record(self) -> DoorRecord | None:
        """Where the door was last."""
        ...

    def keep(self, record: DoorRecord) -> None:
        """Say where the door is."""
        ...

    def closed(self) -> None:
        """The door was closed on purpose."""
        ...

    def secrets(self, place: str = "", *, new: bool = False) -> tuple[str, str]:
        """The two secrets: for everything, and for reading only. Those of another place are not used again."""
        ...

    def redirect(self, url: str) -> str:
        """A file that leads a browser to `url`."""
        ...

    def drop(self, path: str) -> None:
        """Remove a link that is too old."""
        ...
