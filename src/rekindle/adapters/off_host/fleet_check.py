"""Whether this host can be a member of its fleet: its key, the shared store, the engine. Changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from rekindle.adapters.machine.fleet_settings import TemporalSettings, fleet_settings
from rekindle.ports.errors import UsageError


def fleet_check(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What there is to say, each with what would be better (empty: it is right). None: this is one machine.

    Raises RekindleError for the first thing that is wrong.
    """
    settings = fleet_settings(environment)
    if settings is None:
        return
    from rekindle.adapters.blobs.sealed import read_key
    from rekindle.adapters.off_host.ways import shared_place
    from rekindle.adapters.sql_store import databases

    read_key(settings.key_file)
    url, exposed = shared_place(settings)
    yield from ((one.what, one.remedy) for one in exposed)
    engine = databases.make_engine(url)
    try:
        with databases.transaction(engine, databases.shown_place(url)) as connection:
            connection.exec_driver_sql("SELECT 1")
    finally:
        engine.dispose()
    yield f"host {settings.host} of a fleet: its key can be read, and {databases.shown_place(url)} answers", ""
    if settings.temporal is None:
        yield "the fleet has no engine (temporal_address): jobs with --fleet cannot be submitted", ""
        return
    asyncio.run(_asked(settings.temporal, settings.host))
    how = " over TLS" if settings.temporal.has_tls else ""
    yield f"the fleet's engine: Temporal at {settings.temporal.address} answers{how}", ""


async def _asked(settings: TemporalSettings, host: str) -> None:
    try:
        from rekindle.adapters.temporal.connecting import connected, namespace_id
    except ModuleNotFoundError as error:
        words = "jobs of a fleet need temporalio, which is not installed"
        raise UsageError(words, "pip install 'rekindle[fleet]'") from error
    await namespace_id(await connected(settings, host), settings)
