"""Which host has which session, in a store that several share. See `rekindle.ports.placements.Placements`."""

from __future__ import annotations

import logging

import sqlalchemy as sa

from rekindle.adapters.sql_store import databases, schema, shared
from rekindle.adapters.sql_store.codec import Unreadable, decode_fact, decode_session, named, shown
from rekindle.core.session.state import Session
from rekindle.core.streams import SESSION
from rekindle.ports.placements import PlacedElsewhere, Placement
from rekindle.ports.store import DamagedStore

log = logging.getLogger(__name__)
_Row = sa.Row[str, str, float, bool, float | None, str]


class SharedPlacements:
    """The tables have to be there: open the host's own part of the store first (`open.open_store`)."""

    def __init__(self, place: databases.Place, host: str) -> None:
        self.host = host
        self._place = databases.shown_place(place)
        self._engine = databases.make_engine(place)
        #: the sessions that nobody can read, and that were named in the log
        self._left_out: set[str] = set()

    def find(self, session: str) -> Placement | None:
        """Where a session is."""
        with databases.transaction(self._engine, self._place, writes=False) as connection:
            row = connection.execute(_placed().where(shared.placements.c.session == session)).first()
            return None if row is None else self._read(connection, row)

    def everything(self) -> list[Placement]:
        """All sessions of all hosts, oldest first."""
        name = databases.in_bytes(self._engine, schema.sessions.c.id)
        with databases.transaction(self._engine, self._place, writes=False) as connection:
            rows = connection.execute(_placed().order_by(schema.sessions.c.created_at, name)).all()
            return [one for row in rows if (one := self._read_if_whole(connection, row)) is not None]

    def named(self, prefix: str) -> dict[str, str]:
        """The ids that begin so, and the host that has each."""
        table = shared.placements
        begins = sa.func.starts_with(table.c.session, prefix)
        with databases.transaction(self._engine, self._place, writes=False) as connection:
            rows = connection.execute(sa.select(table.c.session, table.c.host).where(begins)).all()
        return {row.session: row.host for row in rows}

    def take(self, session: str, *, before: str, at: float) -> Placement:
        """Give the session to this host."""
        with databases.transaction(self._engine, self._place, writes=True) as connection:
            if before != self.host and not shared.move(connection, session, before=before, to=self.host, at=at):
                now = shared.placed(connection, session)
                where = f"is on host {now[0]}" if now is not None else "does not exist"
                raise PlacedElsewhere(f"session {session} {where}, not on {before}", "look again, then decide")
            row = connection.execute(_placed().where(shared.placements.c.session == session)).first()
            found = None if row is None else self._read(connection, row)
        if found is None or found.host != self.host:
            raise PlacedElsewhere(f"session {session} is not on {before}", "look again, then decide")
        return found

    def copied(self, session: str, at: float) -> None:
        """All that there was of a session at this time is kept off the host."""
        table = shared.placements
        here = (table.c.session == session) & (table.c.host == self.host)
        with databases.transaction(self._engine, self._place, writes=False) as connection:
            connection.execute(sa.update(table).where(here).values(copied_at=at))

    def uncopied(self) -> list[str]:
        """The sessions of this host that have changed since they were copied."""
        table, sessions = shared.placements, schema.sessions
        both = table.join(sessions, sessions.c.id == table.c.session)
        mine = (table.c.host == self.host) & table.c.is_in_place
        late = table.c.copied_at.is_(None) | (table.c.copied_at < sessions.c.changed_at)
        with databases.transaction(self._engine, self._place, writes=False) as connection:
            return list(connection.scalars(sa.select(table.c.session).select_from(both).where(mine & late)))

    def close(self) -> None:
        """Release the store."""
        self._engine.dispose()

    def _read_if_whole(self, connection: sa.Connection, row: _Row) -> Placement | None:
        """A row of many: one that nobody can read is no reason to show none. `find` says what is wrong with it."""
        try:
            return self._read(connection, row)
        except DamagedStore as error:
            if row.session not in self._left_out:
                self._left_out.add(row.session)
                log.warning("session %s is left out of what hosts have: %s", shown(row.session), error.message)
            return None

    def _read(self, connection: sa.Connection, row: _Row) -> Placement:
        """A row. If the session's body cannot be read, what its facts make of it counts."""
        try:
            session = decode_session(row.body, row.session)
        except Unreadable:
            session = self._folded(connection, row.session)
        return Placement(session, row.host, row.since, row.is_in_place, row.copied_at)

    def _folded(self, connection: sa.Connection, session: str) -> Session:
        table = schema.facts
        here = (table.c.stream == SESSION.kind) & (table.c.subject == session)
        told = connection.scalars(sa.select(table.c.body).where(here).order_by(table.c.seq))
        try:
            found = SESSION.folded(decode_fact(text) for text in told)
            if found is not None:
                return named(found, session)
        except Unreadable as error:
            raise DamagedStore(f"{self._place}: session {session} and its facts cannot be read: {error}") from error
        raise DamagedStore(f"{self._place}: session {session} cannot be read, and has no facts")


def _placed() -> sa.Select[str, str, float, bool, float | None, str]:
    table = shared.placements
    both = table.join(schema.sessions, schema.sessions.c.id == table.c.session)
    columns = (table.c.session, table.c.host, table.c.since, table.c.is_in_place, table.c.copied_at)
    return sa.select(*columns, schema.sessions.c.body).select_from(both)
