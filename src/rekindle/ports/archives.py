"""Sessions in one file: exported for another machine, and imported from one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from rekindle.core.archive_trust import Wish
from rekindle.core.moving import Manifest


class Exported(msgspec.Struct, frozen=True):
    """`notes` are sentences about what the archive lacks."""

    manifest: Manifest
    notes: list[str]


class ImportTarget(msgspec.Struct, frozen=True):
    """Where a session will live, and under which id; `token` is a new name for the agent's conversation, or None.

    `sessions` is the folder of all sessions, `environment` the agent's from now on. `trusted` is the part of the
    archive's requests that counts (see `rekindle.core.archive_trust`).
    """

    sessions: str
    session: str
    cwd: str
    environment: Mapping[str, str]
    token: str | None = None
    trusted: frozenset[str] = frozenset()


class Arrival(msgspec.Struct, frozen=True):
    """`wishes` are what the archive asked for; `notes` are sentences about what could not be imported."""

    manifest: Manifest
    wishes: list[Wish]
    notes: list[str]


class Archives(Protocol):
    """Raises RekindleError and OSError; then nothing is left behind."""

    def write(
        self, session: str, facts: Sequence[str], target: str, environment: Mapping[str, str], *, with_secrets: bool
    ) -> Exported:
        """Pack a session with its facts (JSON texts). The secrets of `environment` are masked too."""
        ...

    def put_in_place(
        self, path: str, choose: Callable[[Manifest], ImportTarget], take_over: Callable[[ImportTarget, str], None]
    ) -> Arrival:
        """Import an archive. `choose` says where (or refuses), `take_over` has the daemon adopt the staged folder."""
        ...

    @property
    def sessions(self) -> str:
        """The folder of all sessions."""
        ...
