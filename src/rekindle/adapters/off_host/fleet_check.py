"""Whether this host can be a member of its fleet: its key, the shared store, the engine. Changes nothing."""

from __future__ import annotations

import socket
from collections.abc import Mapping

from rekindle.adapters.machine.fleet_settings import fleet_settings
from rekindle.adapters.machine.secret_file import read_secret
from rekindle.ports.errors import RekindleError

_SECONDS = 5.0


def fleet_check(environment: Mapping[str, str]) -> list[str]:
    """What is right, in sentences; none: this is one machine. Raises RekindleError for the first thing that is not."""
    settings = fleet_settings(environment)
    if settings is None:
        return []
    from rekindle.adapters.blobs.sealed import read_key
    from rekindle.adapters.sql_store import databases, postgres

    read_key(settings.key_file)
    file = settings.password_file
    url = postgres.parsed(settings.store_url, read_secret(file, "store_password_file") if file is not None else None)
    engine = databases.make_engine(url)
    try:
        with databases.transaction(engine, databases.shown_place(url)) as connection:
            connection.exec_driver_sql("SELECT 1")
    finally:
        engine.dispose()
    found = [f"host {settings.host} of a fleet: its key can be read, and {databases.shown_place(url)} answers"]
    if settings.temporal is None:
        return [*found, "the fleet has no engine (temporal_address): jobs with --fleet cannot be submitted"]
    name, _, port = settings.temporal.address.rpartition(":")
    try:
        socket.create_connection((name.strip("[]"), int(port)), _SECONDS).close()
    except OSError as error:
        raise RekindleError(
            f"the fleet's engine (Temporal at {settings.temporal.address}) cannot be reached: {error}",
            "see whether the server runs, and temporal_address",
        ) from error
    return [*found, f"the fleet's engine: something listens at {settings.temporal.address}"]
