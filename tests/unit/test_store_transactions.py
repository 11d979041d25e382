"""A shared database that hangs or fails is told in the same words, whichever part of a fleet asks it."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from rekindle.adapters.sql_store import databases
from rekindle.ports.store import StoreError


@pytest.mark.parametrize("writes", [None, True, False])
def test_a_database_whose_connections_are_all_in_use_is_away(writes: bool | None) -> None:
    engine = sa.create_engine("sqlite://", poolclass=sa.QueuePool, pool_size=1, max_overflow=0, pool_timeout=0.01)
    asked = databases.transaction(engine, "the store", writes=writes)
    with engine.connect(), pytest.raises(StoreError, match="the store does not answer") as told, asked:
        pass
    assert told.value.code == "store_away"
    engine.dispose()
