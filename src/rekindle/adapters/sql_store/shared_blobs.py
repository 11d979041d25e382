"""Bytes of sessions in the database that hosts share. See `rekindle.ports.blobs.Blobs`.

Each session has a row that says which attempt has it. Whoever adds a piece locks that row first, so a successor's claim
either comes before the piece, and refuses it, or finds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from rekindle.adapters.sql_store import databases
from rekindle.adapters.sql_store.shared import blob_fences as fences
from rekindle.adapters.sql_store.shared import blobs as table
from rekindle.ports.blobs import LARGEST_KEPT, BlobDamaged, BlobError, BlobFenced, Piece, checked, is_there
from rekindle.ports.store import StoreError


class SharedBlobs:
    """The tables have to be there: open the host's own part of the store first (`open.open_store`)."""

    def __init__(self, place: databases.Place) -> None:
        self._place = databases.shown_place(place)
        self._engine = databases.make_engine(place)

    def claim(self, session: str, attempt: int) -> None:
        """From now on only this attempt, or a later one, may add something."""
        with self._transaction() as connection:
            connection.execute(insert(fences).on_conflict_do_nothing(), {"session": session, "attempt": 0})
            self._locked(connection, session, attempt)
            connection.execute(sa.update(fences).where(fences.c.session == session).values(attempt=attempt))

    def add(self, session: str, piece: Piece, data: bytes) -> None:
        """Add a piece to the end of its stream."""
        checked(piece, data)
        with self._transaction() as connection:
            if self._locked(connection, session, piece.attempt) != piece.attempt:
                raise BlobError(f"attempt {piece.attempt} has not claimed session {session}", "claim it first")
            if is_there(piece, _pieces(connection, _last_and_same(session, piece))):
                return
            row = {"session": session, "name": piece.name, "offset": piece.offset, "size": piece.size}
            connection.execute(sa.insert(table), {**row, "attempt": piece.attempt, "data": data})

    def pieces(self, session: str) -> list[Piece]:
        """All pieces of a session."""
        with self._transaction() as connection:
            found = _pieces(connection, sa.select(table).where(table.c.session == session))
        return sorted(found, key=lambda one: (one.name, one.offset))

    def data(self, session: str, piece: Piece) -> bytes:
        """The content of a piece."""
        here = (table.c.session == session) & (table.c.name == piece.name) & (table.c.offset == piece.offset)
        with self._transaction() as connection:
            size = connection.scalar(sa.select(sa.func.octet_length(table.c.data)).where(here))
            is_ours = size is not None and size <= LARGEST_KEPT
            found = connection.scalar(sa.select(table.c.data).where(here)) if is_ours else None
        if found is None:
            what = "is gone" if size is None else f"has {size} bytes, and is not one of ours"
            raise BlobDamaged(f"{piece.name} of session {session}, at {piece.offset}, {what}")
        return bytes(found)

    def close(self) -> None:
        """Release the database."""
        self._engine.dispose()

    def _locked(self, connection: sa.Connection, session: str, attempt: int) -> int:
        """The attempt that has the session, which stays so until the end of the transaction. Raises BlobFenced."""
        query = sa.select(fences.c.attempt).where(fences.c.session == session).with_for_update()
        has = int(connection.scalar(query) or 0)
        if has > attempt:
            raise BlobFenced(
                f"attempt {has} has session {session}; this is attempt {attempt}",
                "another host has taken it over: this one lets it go",
            )
        return has

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        try:
            with databases.transaction(self._engine, self._place) as connection:
                yield connection
        except StoreError as away:
            raise BlobError(away.message, away.hint) from away


def _last_and_same(session: str, piece: Piece) -> sa.Select[*tuple[object, ...]]:
    """All that has to be known to add a piece: a stream of a long session has a hundred thousand others."""
    here = (table.c.session == session) & (table.c.name == piece.name)
    last = sa.select(sa.func.max(table.c.offset)).where(here).scalar_subquery()
    return sa.select(table).where(here & ((table.c.offset == piece.offset) | (table.c.offset == last)))


def _pieces(connection: sa.Connection, query: sa.Select[*tuple[object, ...]]) -> list[Piece]:
    rows = connection.execute(query.with_only_columns(table.c.name, table.c.offset, table.c.size, table.c.attempt))
    return [Piece(row.name, row.offset, row.size, row.attempt) for row in rows]
