"""Which database a store is in, and what follows: its engine, its errors, its order. The rest is portable SQL.

A file is SQLite. An address is PostgreSQL, whose driver is loaded only then.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from rekindle.adapters.sql_store import schema, sqlite
from rekindle.ports.store import StoreError

#: A file, or the address of a database elsewhere, with its password if it needs one.
Place = Path | str | sa.URL


def make_engine(place: Place) -> sa.Engine:
    """An engine for a file (a path) or for a database elsewhere (an address). Raises UsageError and StoreError."""
    if isinstance(place, str) and "://" in place:
        from rekindle.adapters.sql_store import postgres

        place = postgres.parsed(place) if postgres.is_url(place) else sa.make_url(place)
    if isinstance(place, sa.URL):
        if place.get_backend_name() == "sqlite":
            return sqlite.make_engine(place)
        from rekindle.adapters.sql_store import postgres

        return postgres.make_engine(place)
    return sqlite.make_engine(sa.URL.create("sqlite", database=str(place)))


def shown_place(place: Place) -> str:
    """A place as messages show it."""
    if isinstance(place, Path) or (isinstance(place, str) and "://" not in place):
        return str(place)
    from rekindle.adapters.sql_store import postgres

    return postgres.shown_place(sa.make_url(place))


def explain(error: sa.exc.DBAPIError, place: str) -> StoreError:
    """What a failure means to a person."""
    if type(error.orig).__module__.startswith("psycopg"):
        from rekindle.adapters.sql_store import postgres

        return postgres.explain(error, place)
    return sqlite.explain(error, place)


@contextmanager
def transaction(engine: sa.Engine, place: str, *, writes: bool | None = None) -> Iterator[sa.Connection]:
    """One transaction. `writes`: whether it is one of the facts' writers; None: it has nothing to do with facts.

    A database that fails or hangs is a StoreError, however it does.
    """
    chosen = engine if writes is None else engine.execution_options(**{sqlite.WRITES: writes})
    try:
        with chosen.begin() as connection:
            yield connection
    except sa.exc.DBAPIError as error:
        raise explain(error, place) from error
    except sa.exc.TimeoutError as error:  # all connections are in use: the server hangs
        raise StoreError(f"{place} does not answer", "See whether it runs.", code="store_away") from error


def in_bytes(engine: sa.Engine, column: sa.Column[str]) -> sa.ColumnElement[str]:
    """A text to be sorted by, in the order of its bytes, as SQLite has it, whatever the database's language is."""
    return column.collate("C") if engine.dialect.name == "postgresql" else column


def append_numbered(connection: sa.Connection, rows: list[dict[str, Any]]) -> list[int]:
    """Append facts in a database that several hosts write to, and say so once they are committed."""
    from rekindle.adapters.sql_store import postgres

    first = postgres.next_number(connection, schema.facts.c.seq)
    connection.execute(sa.insert(schema.facts), [{**row, "seq": first + n} for n, row in enumerate(rows)])
    postgres.tell(connection, first + len(rows) - 1)
    return [first + n for n in range(len(rows))]
