"""The sessions of all hosts of a fleet, read from the store that they share, for those who only look.

What is a host's own (its features, its governor, jobs that are not the fleet's) is read of this host only. Folders are
this host's: those of other hosts are not here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa

from rekindle.adapters.session_folder.kept import SessionsOnDisk
from rekindle.adapters.sql_store import databases, schema
from rekindle.adapters.sql_store.codec import Unreadable, decode_told
from rekindle.adapters.sql_store.shared import HostPart, is_placed
from rekindle.adapters.sql_store.shared_hosts import SharedHosts
from rekindle.adapters.sql_store.shared_placements import SharedPlacements
from rekindle.core.fact import Fact
from rekindle.core.session.state import Session
from rekindle.core.streams import SESSION, StreamKind
from rekindle.places import Places
from rekindle.ports.hosts import SILENT_SECONDS
from rekindle.ports.placements import Placement


class SharedSessions(SessionsOnDisk):
    """See `rekindle.ports.kept_sessions.KeptSessions`. Raises StoreError. What was read once is not read again."""

    def __init__(self, places: Places, url: sa.URL, host: str, *, is_whole: bool = True) -> None:
        """`is_whole`: of all hosts, not of this one only."""
        super().__init__(places)
        self._is_whole = is_whole
        self._url = url
        self._host = host
        self._part = HostPart(host)
        self._found: dict[str, Placement] | None = None
        self._silent: set[str] = set()

    def is_there(self) -> bool:
        """Whether there is a store."""
        return True

    def hosts(self) -> Mapping[str, str]:
        """Which host has each session."""
        return {name: one.host for name, one in self._placed().items()}

    def sessions(self) -> list[Session]:
        """The sessions of all hosts, oldest first."""
        return [one.session for one in self._placed().values()]

    def rows(self) -> list[dict[str, Any]]:
        """Where each session works."""
        return [{"id": one.id, "cwd": one.cwd} for one in self.sessions()]

    def facts(self, session: str) -> list[str]:
        """The facts of a session as JSON texts, oldest first."""
        return [body for _, _, body in self._told(SESSION.kind, session, ())]

    def placed(
        self, stream: StreamKind, subject: str | None = None, kinds: Collection[str] = ()
    ) -> list[tuple[int, str, Fact]]:
        """The facts of a stream, with their places and subjects, in order."""
        found: list[tuple[int, str, Fact]] = []
        for seq, about, body in self._told(stream, subject, kinds):
            if not is_placed(stream, about) and not about.startswith(f"{self._host}/"):
                continue  # another host's own
            try:
                found.append((seq, self._part.own(stream, about), decode_told(stream, body)))
            except Unreadable:
                continue
        return found

    def is_alive(self, session: str) -> bool:
        """Whether an agent lives: here as its lock says, on another host as that has told lately."""
        placed = self._placed().get(session)
        if placed is None or placed.host == self._host:
            return super().is_alive(session)
        return placed.session.is_up and placed.host not in self._silent

    def _told(self, stream: StreamKind, subject: str | None, kinds: Collection[str]) -> list[tuple[int, str, str]]:
        table = schema.facts
        query = sa.select(table.c.seq, table.c.subject, table.c.body).where(table.c.stream == stream)
        if subject is not None:
            query = query.where(table.c.subject == self._part.subject(stream, subject))
        if kinds:
            query = query.where(table.c.kind.in_(list(kinds)))
        engine = databases.make_engine(self._url)
        try:
            with databases.transaction(engine, databases.shown_place(self._url), writes=False) as connection:
                return [(seq, about, body) for seq, about, body in connection.execute(query.order_by(table.c.seq))]
        finally:
            engine.dispose()

    def _placed(self) -> dict[str, Placement]:
        if self._found is None:
            placements, hosts = SharedPlacements(self._url, self._host), SharedHosts(self._url, self._host)
            try:
                everything = placements.everything()
                wanted = [one for one in everything if self._is_whole or one.host == self._host]
                self._found = {one.session.id: one for one in wanted}
                self._silent = {one.host for one in hosts.everything() if one.seen_seconds_ago >= SILENT_SECONDS}
            finally:
                placements.close()
                hosts.close()
        return self._found
