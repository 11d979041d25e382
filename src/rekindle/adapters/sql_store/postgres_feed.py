"""Hears what any host commits, by LISTEN. See `rekindle.ports.placements.CommitFeed`."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from rekindle.adapters.sql_store import databases, postgres


class PostgresFeed:
    """One connection of its own, made when it is first waited for, and again when it was lost."""

    def __init__(self, place: databases.Place, channel: str = postgres.CHANNEL) -> None:
        self._place = databases.shown_place(place)
        self._channel = channel
        self._engine = databases.make_engine(place)
        self._held: Any = None

    def wait(self, seconds: float) -> bool:
        """Wait until something may have been committed since the last call."""
        try:
            if self._held is None:
                self._listen()
                return True  # what was committed before we listened is news too
            return any(True for _ in self._held.notifies(timeout=seconds, stop_after=1))
        except sa.exc.DBAPIError as error:
            self.close()
            raise databases.explain(error, self._place) from error
        except self._engine.dialect.loaded_dbapi.Error as error:
            self.close()
            away = sa.exc.DBAPIError.instance("LISTEN", None, error, self._engine.dialect.loaded_dbapi.Error)
            assert isinstance(away, sa.exc.DBAPIError)
            raise databases.explain(away, self._place) from error

    def _listen(self) -> None:
        connection = self._engine.raw_connection()
        held: Any = connection.dbapi_connection
        connection.detach()  # it is ours alone from now on
        self._held = held
        held.autocommit = True
        held.execute(f"LISTEN {self._channel}")

    def close(self) -> None:
        """Stop listening."""
        held, self._held = self._held, None
        if held is not None:
            held.close()
        self._engine.dispose()
