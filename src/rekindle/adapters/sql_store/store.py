"""The store port on an SQL database: facts, and the rows that follow from them, in one transaction.

Only what differs from the stored session is written, so that a long conversation does not make its commits slow. How to
open a file that may be missing, newer or damaged is `open`'s business.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from rekindle.adapters.sql_store import databases, in_place, schema, sqlite
from rekindle.adapters.sql_store.codec import (
    Unreadable,
    decode_fact,
    decode_session,
    decode_told,
    encode_data,
    encode_fact,
    escaped,
    named,
    shown,
    unescaped,
)
from rekindle.adapters.sql_store.rows import attempt_row, changed, prompt_row, receipt_row, session_row
from rekindle.adapters.sql_store.shared import HostPart, is_placed
from rekindle.core.fact import Fact
from rekindle.core.names import why_not
from rekindle.core.session.state import Session
from rekindle.core.streams import SESSION, StreamKind, kind_of
from rekindle.ports.store import DamagedStore, OutboxEntry, Recorded, StaleGeneration, StoreChange, StoreError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Written:
    """A change as text. What cannot be written down is refused before anything is."""

    change: StoreChange
    bodies: list[str]
    entries: dict[str, tuple[OutboxEntry, str]]

    @classmethod
    def of(cls, change: StoreChange) -> _Written:
        bodies = [encode_fact(fact) for fact in change.facts]
        return cls(change, bodies, {entry.id: (entry, encode_data(entry.data)) for entry in change.outbox})


class SqlStore:
    """The port's promises are in `rekindle.ports.store`. The schema has to be there: see `open.open_store`."""

    def __init__(self, place: databases.Place, part: HostPart | None = None) -> None:
        """`part` is a host's part of a store that several share; without it this is the only owner of all of it."""
        self._part = part or HostPart()
        self._place = databases.shown_place(place)
        self._file = place if isinstance(place, Path) else None
        self._known: in_place.Inodes | None = None
        self._read: dict[str, tuple[str, Session]] = {}
        self._open(databases.make_engine(place))

    def _open(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._writer = engine.execution_options(**{sqlite.WRITES: True})
        if self._file is not None:
            self.named("-")  # opens the file and its log
            self._known = in_place.inodes(self._file)

    def stay_in_place(self) -> bool:
        """See to it that what is committed is where the next daemon looks. Whether it had to be put back.

        Somebody may delete or move the file while it is open. Raises StoreError if it cannot be put back.
        """
        if self._file is None or in_place.inodes(self._file) == self._known:
            return False
        try:
            with closing(self._engine.raw_connection()) as held:
                source = held.driver_connection
                assert isinstance(source, sqlite3.Connection)
                in_place.copy_back(source, self._file)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"{self._place} was deleted or moved while it was in use, and cannot be put back: {error}",
                "Nothing more is accepted. See whether its folder is there and has room, then ask again.",
                code="store_gone",
            ) from error
        log.error("%s was deleted or moved while it was in use; it was put back with everything in it", self._place)
        self._engine.dispose()
        self._open(databases.make_engine(self._file))
        return True

    def commit(self, changes: Sequence[StoreChange]) -> list[list[Recorded] | StaleGeneration]:
        """Append facts and put sessions as they have made them in their places, in one transaction."""
        written = [_Written.of(change) for change in changes]
        made: list[list[Recorded] | StaleGeneration] = []
        with self._transaction(self._writer) as connection:
            for one in written:
                try:
                    with connection.begin_nested() if len(written) > 1 else nullcontext():
                        made.append(self._make(connection, one))
                except StaleGeneration as error:
                    made.append(error)
        self.stay_in_place()
        return made

    def _make(self, connection: sa.Connection, written: _Written) -> list[Recorded]:
        change = written.change
        if change.session is not None:
            self._put_session(connection, change.session, change.facts, change.generation)
        elif is_placed(change.stream, change.subject):
            self._part.check(connection, change.subject)
        numbers = self._append(connection, written)
        self._post(connection, written.entries)
        pairs = zip(numbers, change.facts, strict=True)
        return [Recorded(seq, change.stream, change.subject, fact) for seq, fact in pairs]

    def session(self, session: str) -> Session | None:
        query = sa.select(schema.sessions.c.id, schema.sessions.c.body).where(schema.sessions.c.id == shown(session))
        query = self._part.of_sessions(query)
        with self._transaction(self._engine) as connection:
            row = connection.execute(query).first()
            return None if row is None else self._decode(connection, row.id, row.body)

    def sessions(self, *, attended: bool = False, feature: str | None = None) -> list[Session]:
        table = schema.sessions
        query = sa.select(table.c.id, table.c.body).order_by(
            table.c.created_at, databases.in_bytes(self._engine, table.c.id)
        )
        if attended:
            query = query.where(table.c.attended.is_(True))
        if feature is not None:
            query = query.where(table.c.feature == shown(feature))
        query = self._part.of_sessions(query)
        with self._transaction(self._engine) as connection:
            rows = connection.execute(query).all()
            read = {id_: (body, self._reread(connection, id_, body)) for id_, body in rows}
        if not attended and feature is None:
            self._read = read  # what is gone is forgotten
        return [one for _, one in read.values() if feature is None or one.feature == feature]

    def _reread(self, connection: sa.Connection, session: str, body: str) -> Session:
        """A session of a list: most have not changed since they were listed last, and decoding takes longest."""
        known = self._read.get(session)
        return known[1] if known is not None and known[0] == body else self._decode(connection, session, body)

    def renew(self) -> int:
        table, changed_rows = schema.sessions, 0
        made = (table.c.attended, table.c.if_alive, table.c.if_dead)
        with self._transaction(self._writer) as connection:
            query = self._part.of_sessions(sa.select(table.c.id, table.c.generation, table.c.body, *made))
            for row in connection.execute(query).all():
                now = session_row(self._decode(connection, row.id, row.body), row.generation)
                new = {column.name: now[column.name] for column in made}
                if new != {column.name: row._mapping[column] for column in made}:
                    connection.execute(sa.update(table).where(table.c.id == row.id), new)
                    changed_rows += 1
        return changed_rows

    def named(self, prefix: str) -> list[str]:
        name, prefix = schema.sessions.c.id, shown(prefix)  # whatever somebody types, no id has it
        # Not LIKE: it has wildcards, and SQLite's does not tell A from a.
        query = sa.select(name).where(sa.func.substr(name, 1, len(prefix)) == prefix)
        query = self._part.of_sessions(query).order_by(databases.in_bytes(self._engine, name))
        with self._transaction(self._engine) as connection:
            return list(connection.scalars(query))

    def facts(
        self,
        stream: StreamKind | None = None,
        subject: str | None = None,
        *,
        kinds: Collection[str] | None = None,
        after: int = 0,
        limit: int = 1000,
        newest: bool = False,
    ) -> list[Recorded]:
        table = schema.facts
        query = sa.select(table.c.seq, table.c.stream, table.c.subject, table.c.body).where(table.c.seq > after)
        if stream is not None:
            query = query.where(table.c.stream == stream)
        if subject is not None:
            stored = subject if stream is None else self._part.subject(stream, subject)
            query = query.where(table.c.subject == shown(stored))
        query = self._part.of_facts(query, stream)
        if kinds is not None:
            query = query.where(table.c.kind.in_(kinds))
        place = table.c.seq.desc() if newest else table.c.seq
        with self._transaction(self._engine) as connection:
            found = connection.execute(query.order_by(place).limit(limit)).all()
        try:
            return [self._recorded(row) for row in found]
        except (KeyError, Unreadable) as error:
            raise self._damaged(f"a fact behind {after}", error) from error

    def _recorded(self, row: sa.Row[*tuple[Any, ...]]) -> Recorded:
        subject = self._part.own(row.stream, row.subject)
        return Recorded(row.seq, row.stream, subject, decode_told(row.stream, row.body))

    def outbox(self, limit: int = 100) -> list[OutboxEntry]:
        table = schema.outbox
        query = sa.select(table).where(table.c.settled.is_(False)).order_by(table.c.position).limit(limit)
        query = self._part.of_outbox(query)
        with self._transaction(self._engine) as connection:
            found = connection.execute(query).all()
        return [
            OutboxEntry(
                row.id,
                unescaped(row.repository),
                unescaped(row.feature),
                unescaped(row.type),
                json.loads(row.data),
                row.session,
                row.run,
            )
            for row in found
        ]

    def settle(self, ids: Sequence[str]) -> None:
        if not ids:
            return
        table = schema.outbox
        query = sa.update(table).where(table.c.id.in_(ids)).values(settled=True)
        with self._transaction(self._writer) as connection:
            connection.execute(query)

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _transaction(self, engine: sa.Engine) -> Iterator[sa.Connection]:
        try:
            with engine.begin() as connection:
                yield connection
        except sa.exc.DBAPIError as error:
            raise databases.explain(error, self._place) from error

    def _put_session(self, connection: sa.Connection, session: Session, facts: Sequence[Fact], generation: int) -> None:
        """Put a session in its row, with what is new of its parts. A writer that was overtaken is refused."""
        table = schema.sessions
        query = sa.select(table.c.generation, table.c.body).where(table.c.id == session.id).with_for_update()
        stored = connection.execute(query).first()
        if stored is None:
            connection.execute(sa.insert(table), session_row(session, max(generation, session.generation)))
            self._part.begin(connection, session.id, session.created_at)
            self._put_parts(connection, None, session, facts)
            return
        self._part.check(connection, session.id)
        if generation < stored.generation:
            raise StaleGeneration(
                f"Session {session.id} is at generation {stored.generation}; this writer has {generation}.",
                "Another daemon has taken it over: this one has to stop.",
            )
        row = session_row(session, max(generation, session.generation, stored.generation))
        if row["body"] != stored.body:
            self._put_parts(connection, self._decode(connection, session.id, stored.body), session, facts)
            connection.execute(sa.update(table).where(table.c.id == session.id), row)
        elif row["generation"] != stored.generation:
            connection.execute(sa.update(table).where(table.c.id == session.id).values(generation=row["generation"]))

    def _put_parts(
        self, connection: sa.Connection, before: Session | None, session: Session, facts: Sequence[Fact]
    ) -> None:
        self._put_attempts(connection, before, session, facts)
        self._put_prompts(connection, before, session)
        if session.task is not None and (before is None or before.task_state != session.task_state):
            task = {"id": shown(session.task), "session": session.id, "state": session.task_state.value}
            table = schema.tasks
            connection.execute(sa.delete(table).where(table.c.session == session.id))
            connection.execute(sa.insert(table), task)

    def _put_attempts(
        self, connection: sa.Connection, before: Session | None, session: Session, facts: Sequence[Fact]
    ) -> None:
        table, receipts = schema.attempts, schema.receipts
        known = {attempt.number: attempt for attempt in before.attempts} if before is not None else {}
        for attempt in session.attempts:
            old = known.get(attempt.number)
            if old == attempt:
                continue
            row = attempt_row(session, attempt, facts)
            if old is None:
                connection.execute(sa.insert(table), row)
            else:
                here = (table.c.session == session.id) & (table.c.number == attempt.number)
                connection.execute(sa.update(table).where(here), row)
            if attempt.receipt is not None and (old is None or old.receipt != attempt.receipt):
                there = (receipts.c.session == session.id) & (receipts.c.attempt == attempt.number)
                connection.execute(sa.delete(receipts).where(there))
                connection.execute(sa.insert(receipts), receipt_row(session, attempt))

    def _put_prompts(self, connection: sa.Connection, before: Session | None, session: Session) -> None:
        table = schema.prompts
        earlier = before.prompts if before is not None else []
        positions = changed(earlier, session.prompts)
        if any(position < len(earlier) for position in positions):
            gone = (table.c.session == session.id) & table.c.position.in_(positions)
            connection.execute(sa.delete(table).where(gone))
        rows = [prompt_row(session, at, session.prompts[at]) for at in positions if at < len(session.prompts)]
        if rows:
            connection.execute(sa.insert(table), rows)

    def _append(self, connection: sa.Connection, written: _Written) -> list[int]:
        change = written.change
        subject = self._part.subject(change.stream, change.subject)
        rows: list[dict[str, Any]] = [
            {"stream": change.stream, "subject": subject, "at": fact.at, "kind": kind_of(fact), "body": body}
            for fact, body in zip(change.facts, written.bodies, strict=True)
        ]
        if not rows:
            return []
        if connection.dialect.name == "postgresql":
            return databases.append_numbered(connection, rows)
        query = sa.insert(schema.facts).returning(schema.facts.c.seq, sort_by_parameter_order=True)
        return [int(seq) for seq in connection.scalars(query, rows)]

    def _post(self, connection: sa.Connection, entries: dict[str, tuple[OutboxEntry, str]]) -> None:
        if not entries:
            return
        table = schema.outbox
        known = set(connection.scalars(sa.select(table.c.id).where(table.c.id.in_(list(entries)))))
        self._part.post(connection, [entry for entry, _ in entries.values() if entry.id not in known])
        for entry, data in entries.values():
            if entry.id not in known:
                row = {
                    "id": entry.id,
                    "repository": escaped(entry.repository),
                    "feature": escaped(entry.feature),
                    "type": escaped(entry.type),
                    "data": data,
                    "session": entry.session,
                    "run": entry.run,
                    "settled": False,
                }
                connection.execute(sa.insert(table), row)

    def _decode(self, connection: sa.Connection, session: str, body: str) -> Session:
        """The session's body or, if that cannot be read, what its facts make of it."""
        try:
            return decode_session(body, session)
        except Unreadable as error:
            table = schema.facts
            here = (table.c.stream == SESSION.kind) & (table.c.subject == session)
            query = sa.select(table.c.body).where(here).order_by(table.c.seq)
            try:
                folded = SESSION.folded(decode_fact(text) for text in connection.scalars(query))
                if folded is None:
                    raise self._damaged(f"session {session}", error, session) from error
                return named(folded, session)
            except Unreadable as too:
                raise self._damaged(f"session {session} and its facts", too, session) from too

    def _damaged(self, what: str, error: Exception, session: str = "") -> DamagedStore:
        hint = "Set the file aside: what keepers know is rebuilt."
        if self._part.host is not None:  # the other hosts need the rest of it
            hint = "Restore its rows from a copy of the database."
        if self._part.host is not None and why_not(session) is None:
            name = session.replace("'", "''")
            hint += f" Until then, no host has it after: UPDATE placements SET host = 'nobody' WHERE session = '{name}'"
        return DamagedStore(f"{self._place}: {what} cannot be read: {error}", hint)
