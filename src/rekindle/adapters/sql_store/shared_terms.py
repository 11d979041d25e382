"""What all hosts of a fleet have to agree on, in the store that they share. Who comes first says what it is."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from rekindle.adapters.sql_store import databases
from rekindle.adapters.sql_store.shared import fleet_terms as table


class SharedTerms:
    """The tables have to be there: open the host's own part of the store first (`open.open_store`)."""

    def __init__(self, place: databases.Place) -> None:
        self._place = databases.shown_place(place)
        self._engine = databases.make_engine(place)

    def agreed(self, name: str, value: str) -> bool:
        """Whether a value is what all agree on; the first one that is ever named is. Raises StoreError."""
        with databases.transaction(self._engine, self._place) as connection:
            connection.execute(insert(table).on_conflict_do_nothing(), {"name": name, "value": value})
            return connection.scalar(sa.select(table.c.value).where(table.c.name == name)) == value

    def close(self) -> None:
        """Release the store."""
        self._engine.dispose()
