"""Messages to sessions in the store that hosts share. See `rekindle.ports.mail.Mailbox`.

Nothing here takes the lock of the writers: a message waits for no commit, and no commit waits for a message. Who may
take or settle one is decided in the statement that writes it, by the row that says which host has the session.
"""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from rekindle.adapters.sql_store import databases, schema
from rekindle.adapters.sql_store.shared import mail as table
from rekindle.adapters.sql_store.shared import placements
from rekindle.ports.mail import Mail

#: Where it is said that there is a message, or that something came of one.
CHANNEL: Final = "rekindle_mail"
_FIELDS: Final = ("id", "session", "kind", "body", "by", "sender", "at", "taken_by", "after", "outcome")


class SharedMail:
    """The tables have to be there: open the host's own part of the store first (`open.open_store`)."""

    def __init__(self, place: databases.Place, host: str) -> None:
        self.host = host
        self._place = databases.shown_place(place)
        self._engine = databases.make_engine(place)

    def post(self, mail: Mail) -> Mail:
        """Record a message."""
        row = {name: getattr(mail, name) for name in ("id", "session", "kind", "body", "at")}
        row |= {"by": _storable(mail.by), "sender": self.host}
        with databases.transaction(self._engine, self._place) as connection:
            made = connection.execute(insert(table).values(row).on_conflict_do_nothing(index_elements=["id"]))
            if made.rowcount:
                _tell(connection)
            return _found(connection, mail.id) or mail

    def find(self, mail: str) -> Mail | None:
        """A message by its id."""
        with databases.transaction(self._engine, self._place) as connection:
            return _found(connection, mail)

    def due(self) -> list[Mail]:
        """What nothing has come of yet, oldest first."""
        query = _mails().where(table.c.outcome.is_(None) & self._is_here()).order_by(table.c.number)
        with databases.transaction(self._engine, self._place) as connection:
            return [_read(row) for row in connection.execute(query)]

    def take(self, mail: str) -> Mail | None:
        """This host is about to carry a message out."""
        last = sa.select(sa.func.coalesce(sa.func.max(schema.facts.c.seq), 0)).scalar_subquery()
        values = {"taken_by": self.host, "after": sa.func.coalesce(table.c.after, last)}
        with databases.transaction(self._engine, self._place) as connection:
            self._hold(connection, mail)
            made = connection.execute(sa.update(table).where(self._is_open(mail) & self._is_here()).values(values))
            return _found(connection, mail) if made.rowcount else None

    def settle(self, mail: str, outcome: str, at: float) -> bool:
        """Write what came of a message."""
        return self._end(mail, self._is_open(mail) & self._is_here(), outcome, at)

    def withdraw(self, mail: str, outcome: str, at: float) -> bool:
        """Nobody shall carry it out."""
        return self._end(mail, self._is_open(mail) & table.c.taken_by.is_(None), outcome, at)

    def forget(self, before: float) -> int:
        """Remove messages that were settled before this time."""
        with databases.transaction(self._engine, self._place) as connection:
            return int(connection.execute(sa.delete(table).where(table.c.settled_at < before)).rowcount)

    def close(self) -> None:
        """Release the store."""
        self._engine.dispose()

    def _end(self, mail: str, where: sa.ColumnElement[bool], outcome: str, at: float) -> bool:
        with databases.transaction(self._engine, self._place) as connection:
            self._hold(connection, mail)
            made = connection.execute(sa.update(table).where(where).values(outcome=outcome, settled_at=at))
            if made.rowcount:
                _tell(connection)
            return bool(made.rowcount)

    def _hold(self, connection: sa.Connection, mail: str) -> None:
        """Until the end of this transaction the session stays where it is."""
        whose = sa.select(table.c.session).where(table.c.id == mail).scalar_subquery()
        query = sa.select(placements.c.host).where(placements.c.session == whose)
        connection.execute(query.with_for_update(read=True))

    def _is_open(self, mail: str) -> sa.ColumnElement[bool]:
        return (table.c.id == mail) & table.c.outcome.is_(None)

    def _is_here(self) -> sa.ColumnElement[bool]:
        mine = (placements.c.host == self.host) & placements.c.is_in_place
        return table.c.session.in_(sa.select(placements.c.session).where(mine))


def _mails() -> sa.Select[*tuple[Any, ...]]:
    return sa.select(*(table.c[name] for name in _FIELDS))


def _found(connection: sa.Connection, mail: str) -> Mail | None:
    row = connection.execute(_mails().where(table.c.id == mail)).first()
    return None if row is None else _read(row)


def _read(row: sa.Row[*tuple[Any, ...]]) -> Mail:
    return Mail(*row)


def _tell(connection: sa.Connection) -> None:
    connection.execute(sa.select(sa.func.pg_notify(CHANNEL, "")))


def _storable(text: str) -> str:
    """The database's texts have neither NUL nor half a character."""
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
