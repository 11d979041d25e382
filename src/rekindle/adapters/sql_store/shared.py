"""A store that several hosts share: which host has which session, and which part of the store is whose.

Each host works with its own part as if it were a store of its own: its sessions, and its own machine, governor, jobs
and features. A session belongs to one host at a time; whoever lost it is refused in the transaction in which it writes.
Facts are never moved or copied: only the row that says who has the session changes. PostgreSQL only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from rekindle.adapters.sql_store import schema
from rekindle.core.fleet.needs import is_fleet_job
from rekindle.core.streams import JOB, SESSION, StreamKind
from rekindle.ports.store import NewerSchema, OutboxEntry, StaleGeneration

Query = TypeVar("Query", bound=sa.Select[*tuple[Any, ...]])
#: The edition of the tables below. They are made when a shared store is opened first. A later edition only adds tables.
EDITION: Final = 3
_metadata = sa.MetaData(naming_convention=schema.metadata.naming_convention)
_edition = sa.Table("fleet_edition", _metadata, sa.Column("edition", sa.Integer, nullable=False))
placements = sa.Table(
    "placements",
    _metadata,
    sa.Column("session", sa.Text, primary_key=True),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("since", sa.Double, nullable=False),
    # false while a host that has taken it over puts it in place; its first write about it makes it true
    sa.Column("is_in_place", sa.Boolean, nullable=False),
    sa.Column("copied_at", sa.Double),
    sa.Index(None, "host"),
)
#: Whose journal an event belongs in.
outbox_hosts = sa.Table(
    "outbox_hosts",
    _metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("host", sa.Text, nullable=False),
)
#: Which attempt may add bytes of a session, and the bytes, see `shared_blobs`.
blob_fences = sa.Table(
    "blob_fences",
    _metadata,
    sa.Column("session", sa.Text, primary_key=True),
    sa.Column("attempt", sa.BigInteger, nullable=False),
)
blobs = sa.Table(
    "blobs",
    _metadata,
    sa.Column("session", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("offset", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("attempt", sa.BigInteger, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
#: Messages to sessions, see `shared_mail`. `after` is the last fact's number when it was first taken.
mail = sa.Table(
    "mail",
    _metadata,
    sa.Column("number", sa.BigInteger, sa.Identity(), primary_key=True),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("session", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("by", sa.Text, nullable=False),
    sa.Column("sender", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("taken_by", sa.Text),
    sa.Column("after", sa.BigInteger),
    sa.Column("outcome", sa.Text),
    sa.Column("settled_at", sa.Double),
    sa.Index("ix_mail_due", "session", postgresql_where=sa.text("outcome IS NULL")),
    sa.Index("ix_mail_settled_at", "settled_at"),
)
#: What each host says about itself, see `shared_hosts`. `seen_at` is by the server's clock.
hosts = sa.Table(
    "hosts",
    _metadata,
    sa.Column("host", sa.Text, primary_key=True),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("seen_at", sa.Double, nullable=False),
    sa.Column("report", sa.Text, nullable=False),
)

#: The queues of the engine that jobs of the fleet were submitted to, see `shared_jobs`.
fleet_queues = sa.Table("fleet_queues", _metadata, sa.Column("name", sa.Text, primary_key=True))
#: What all hosts have to agree on, see `shared_terms`.
fleet_terms = sa.Table(
    "fleet_terms",
    _metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)


def make(connection: sa.Connection, place: str) -> None:
    """Make the tables that only a shared store has, inside the caller's transaction. Raises NewerSchema."""
    if not sa.inspect(connection).has_table(_edition.name):
        _metadata.create_all(connection, checkfirst=False)
        connection.execute(sa.insert(_edition), {"edition": EDITION})
        return
    found = int(connection.scalar(sa.select(_edition.c.edition)) or 0)
    if found < EDITION:
        _metadata.create_all(connection)
        connection.execute(sa.update(_edition).values(edition=EDITION))
    elif found > EDITION:
        raise NewerSchema(
            f"{place} was made by a newer rekindle (fleet tables {found}; this one knows {EDITION}).",
            "Use that version on every host. Nothing was changed.",
        )


@dataclass(frozen=True)
class HostPart:
    """The part of one host. Without a host it is the whole store, of which one daemon is the only owner."""

    host: str | None = None

    def subject(self, stream: StreamKind, subject: str) -> str:
        """The subject as it is stored: what is not a session's, nor a job's of the fleet, is a host's own."""
        return subject if self.host is None or is_placed(stream, subject) else f"{self.host}/{subject}"

    def own(self, stream: StreamKind, subject: str) -> str:
        """The subject as its host knows it."""
        return subject if self.host is None or is_placed(stream, subject) else subject.removeprefix(f"{self.host}/")

    def of_sessions(self, query: Query) -> Query:
        """Only the sessions that this host has."""
        return query if self.host is None else query.where(schema.sessions.c.id.in_(self._sessions()))

    def of_facts(self, query: Query, stream: StreamKind | None) -> Query:
        """Only facts about those sessions, and this host's own."""
        if self.host is None:
            return query
        table, prefix = schema.facts, f"{self.host}/"
        about = sa.and_(table.c.stream == SESSION.kind, table.c.subject.in_(self._sessions()))
        mine = sa.and_(table.c.stream != SESSION.kind, sa.func.substr(table.c.subject, 1, len(prefix)) == prefix)
        jobs = sa.and_(table.c.stream == JOB.kind, table.c.subject.in_(self._sessions()))
        mine = sa.or_(mine, jobs)
        if stream is None:
            return query.where(sa.or_(about, mine))
        return query.where(about if stream == SESSION.kind else mine)

    def of_outbox(self, query: Query) -> Query:
        """Only events for journals on this host."""
        if self.host is None:
            return query
        own = sa.select(outbox_hosts.c.id).where(outbox_hosts.c.host == self.host)
        return query.where(schema.outbox.c.id.in_(own))

    def check(self, connection: sa.Connection, session: str) -> None:
        """Refuse to write about a session that another host has. Raises StaleGeneration."""
        if self.host is None:
            return
        here = placements.c.session == session
        row = connection.execute(sa.select(placements).where(here).with_for_update()).first()
        host = row.host if row is not None else None
        if row is not None and host == self.host and not row.is_in_place:
            connection.execute(sa.update(placements).where(here).values(is_in_place=True))
        if host != self.host:
            raise StaleGeneration(
                f"Session {session} is on host {host} now; this is {self.host}." if host else f"{session} is nowhere.",
                "Another host has taken it over: this one lets it go, and keeps what it had.",
            )

    def begin(self, connection: sa.Connection, session: str, at: float) -> None:
        """A session that this host has just made."""
        if self.host is not None:
            row = {"session": session, "host": self.host, "since": at, "is_in_place": True}
            connection.execute(sa.insert(placements), row)

    def post(self, connection: sa.Connection, entries: Sequence[OutboxEntry]) -> None:
        """These events belong in journals on this host."""
        if self.host is not None and entries:
            rows = [{"id": entry.id, "host": self.host} for entry in entries]
            connection.execute(sa.insert(outbox_hosts), rows)

    def _sessions(self) -> sa.Select[str]:
        mine = (placements.c.host == self.host) & placements.c.is_in_place
        return sa.select(placements.c.session).where(mine)


def is_placed(stream: StreamKind, subject: str) -> bool:
    """Whether a subject is on one host at a time, and can move: a session, or a job of the fleet."""
    return stream == SESSION.kind or (stream == JOB.kind and is_fleet_job(subject))


def placed(connection: sa.Connection, session: str) -> tuple[str, float] | None:
    """The host that has a session, and since when."""
    row = connection.execute(
        sa.select(placements.c.host, placements.c.since).where(placements.c.session == session)
    ).first()
    return None if row is None else (row.host, row.since)


def move(connection: sa.Connection, session: str, *, before: str, to: str, at: float) -> bool:
    """Give a session to another host, if it is still where the caller saw it. False: somebody was faster."""
    here = (placements.c.session == session) & (placements.c.host == before)
    made = connection.execute(sa.update(placements).where(here).values(host=to, since=at, is_in_place=False))
    return made.rowcount == 1
