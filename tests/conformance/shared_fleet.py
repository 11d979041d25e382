"""How a host of a fleet makes a session in the store that all hosts share: for suites of what they see of others."""

from __future__ import annotations

from datetime import UTC, datetime

from rekindle.adapters.sql_store.open import open_store
from tests.sessions import commit, created, folded

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def begin(url: str, host: str, name: str) -> None:
    """A session of this name, on this host."""
    store = open_store(url, now=NOW, host=host).store
    commit(store, folded([created(name)]), [created(name)])
    store.close()
