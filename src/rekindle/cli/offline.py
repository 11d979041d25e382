"""Sessions while no daemon runs: from the store, read-only, and from the keepers' locks. Changes nothing."""

from __future__ import annotations

import os
import sqlite3
from typing import Any

from rekindle.adapters import files
from rekindle.adapters.sql_store import quick
from rekindle.api.places import Places
from rekindle.ports.errors import RekindleError


def offline(places: Places) -> list[dict[str, Any]]:
    """All sessions as a list shows them. An agent whose lock is held is alive, whatever the store says."""
    try:
        rows = quick.rows(places.store)
    except sqlite3.Error as error:
        raise RekindleError(
            f"{places.store}: {error}", "`rekindle serve` sets a damaged store aside and rebuilds it"
        ) from error
    found = []
    for row in rows:
        alive = files.is_locked(os.path.join(places.sessions, row["id"], "lock"))
        shown = {key: row[key] for key in ("id", "agent", "state", "title", "cwd", "feature", "changed_at")}
        found.append({**shown, "status": row["if_alive"] if alive else row["if_dead"], "is_running": alive})
    return found
