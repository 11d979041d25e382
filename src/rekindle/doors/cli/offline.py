"""Sessions as lists show them: from the daemon or, while none answers, from the store and the keepers' locks.

Changes nothing, and starts no daemon. An agent is told no more here than the daemon would tell it.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from typing import Any

from rekindle import files
from rekindle.adapters.machine import ancestry
from rekindle.adapters.sql_store import quick
from rekindle.core.inside import harmless
from rekindle.doors.cli.use_cases import use_cases
from rekindle.places import Places
from rekindle.ports.daemon import DaemonSilent, NoDaemon
from rekindle.ports.errors import RekindleError


def listed(places: Places) -> tuple[list[dict[str, Any]], str]:
    """All sessions, from the daemon or, while none runs, from the store and the keepers' locks.

    Also a sentence about a daemon that runs and does not answer; empty otherwise.
    """
    daemon = use_cases().daemon()
    if daemon.is_served():
        try:
            return list(daemon.ask("list", start=False)["sessions"]), ""
        except NoDaemon:
            return offline(places), ""  # it is about to come or to go
        except DaemonSilent as error:
            told = f"{error.message}. This list is from the store, as it was last written ({error.hint})"
            return offline(places), told
    return offline(places), ""


def offline(places: Places) -> list[dict[str, Any]]:
    """All sessions as a list shows them. An agent whose lock is held is alive, whatever the store says."""
    try:
        rows = quick.rows(places.store)
    except sqlite3.Error as error:
        raise _damaged(places, error) from error
    found = []
    for row in rows:
        alive = files.is_locked(os.path.join(places.sessions, row["id"], "lock"))
        shown = {key: row[key] for key in ("id", "agent", "state", "title", "cwd", "feature", "changed_at")}
        listed = json.loads(row["if_alive"] if alive else row["if_dead"])
        until = listed["waits_until"]
        listed["waits_until"] = until if alive and until is not None and until > time.time() else None
        found.append({**shown, **listed})
    return [harmless(row) for row in found] if found and ancestry.is_inside() else found


def offline_show(places: Places, prefix: str) -> dict[str, Any]:
    """One session with everything, as the daemon would show it."""
    import msgspec

    from rekindle.app.session_view import find, shown
    from rekindle.core.session.state import Session
    from rekindle.core.session.status import presumed_dead

    try:
        bodies = quick.bodies(places.store)
    except sqlite3.Error as error:
        raise _damaged(places, error) from error
    session = find((msgspec.json.decode(body, type=Session) for body in bodies), prefix)
    alive = files.is_locked(os.path.join(places.sessions, session.id, "lock"))
    session = session if alive else presumed_dead(session)
    about = shown(session, time.time(), alive=alive, seen_seconds_ago=None, served=False)
    return {**about, "session": msgspec.to_builtins(session)}


def _damaged(places: Places, error: sqlite3.Error) -> RekindleError:
    return RekindleError(f"{places.store}: {error}", "`rekindle serve` sets a damaged store aside and rebuilds it")
