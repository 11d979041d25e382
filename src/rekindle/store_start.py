"""How a daemon gets its store: opened, or rebuilt from the sessions' folders if it is missing or damaged."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from rekindle import __version__
from rekindle.adapters.machine.fleet_settings import fleet_settings
from rekindle.adapters.session_folder import environment as kept_environment
from rekindle.adapters.session_folder.rebuild import put_back, rebuild
from rekindle.adapters.sql_store import kept_streams
from rekindle.adapters.sql_store.open import open_store, rebuild_done, rebuild_due
from rekindle.adapters.sql_store.store import SqlStore
from rekindle.core.daemon_lives import SUBJECT, StoreRebuilt
from rekindle.core.streams import MACHINE
from rekindle.places import Places
from rekindle.ports.store import StoreChange, commit_one

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rekindle.fleet import Fleet

log = logging.getLogger("rekindle.daemon")
#: What was written before this process began, nobody is writing any more.
_BEGAN = time.time()


def opened_store(parts: contextlib.AsyncExitStack, places: Places) -> SqlStore:
    """The store. If it is missing or damaged, it is rebuilt from the sessions' folders."""
    missing = not os.path.exists(places.store) or os.path.getsize(places.store) == 0
    if missing and (os.listdir(places.sessions) or kept_streams.has_any(places.streams)):
        # we may be killed before they are in the new one
        rebuild_due(Path(places.store), "the store is gone; sessions are rebuilt from their folders")
    opened = open_store(Path(places.store), now=datetime.now(UTC))
    parts.callback(opened.store.close)
    _renew(opened.store)
    if opened.notice:
        log.warning("%s", opened.notice)
        rebuilt = rebuild(Path(places.sessions), known=opened.store.named(""))
        put_back(opened.store, rebuilt)
        report = (
            f"{opened.notice.rstrip('.')}.",
            *rebuilt.report,
            *kept_streams.put_back(opened.store, places.streams),
        )
        commit_one(opened.store, StoreChange(MACHINE.kind, SUBJECT, [StoreRebuilt(at=time.time(), report=report)]))
        rebuild_done(Path(places.store))
        for sentence in report[1:]:
            log.warning("%s", sentence)
    try:
        kept_streams.complete(opened.store, places.streams)
    except OSError as error:
        log.warning("jobs are in the store only, and are lost if that is: %s", error)
    return opened.store


def fleet_here(environment: Mapping[str, str]) -> Fleet | None:
    """The fleet that this host belongs to, if it does. What that needs is loaded only then."""
    settings = fleet_settings(environment)
    if settings is None:
        return None
    from rekindle.fleet import Fleet

    return Fleet.of(settings)


def _renew(store: SqlStore) -> None:
    """Session rows follow this version's rules; rows from other versions are rebuilt."""
    lives = MACHINE.folded(one.fact for one in store.facts(MACHINE.kind, SUBJECT, limit=1_000_000))  # type: ignore[misc]
    if lives is not None and lives.version not in ("", __version__):
        log.info("the store was served by rekindle %s; %d sessions were updated", lives.version, store.renew())


async def sweep(sessions: str) -> None:
    """Remove half-written files of daemons before this one, in the background."""
    try:
        removed = await asyncio.to_thread(kept_environment.sweep, sessions, _BEGAN)
    except OSError as error:
        log.warning("%s cannot be looked through: %s", sessions, error)
    else:
        if removed:
            log.info("removed %d half-written files of a daemon that was killed", removed)
    await asyncio.Event().wait()
