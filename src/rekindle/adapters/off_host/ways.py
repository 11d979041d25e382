"""The ways from this host to its fleet's store and engine: looked at before the first byte is sent."""

from __future__ import annotations

import sqlalchemy as sa

from rekindle.adapters.machine.fleet_settings import FleetSettings
from rekindle.adapters.machine.secret_file import read_secret
from rekindle.adapters.sql_store import postgres
from rekindle.core.fleet.exposure import Exposed, StoreWay, exposed
from rekindle.ports.errors import UsageError


def shared_place(settings: FleetSettings) -> tuple[sa.URL, list[Exposed]]:
    """The address of the shared store, and what is not safe about the ways to it and to the engine.

    Raises UsageError, also if a way may be unencrypted, and the user has not said that something else protects it.
    """
    file = settings.password_file
    url = postgres.parsed(settings.store_url, read_secret(file, "store_password_file") if file is not None else None)
    engine = settings.temporal
    found = exposed(
        StoreWay(**postgres.way_to(url)),
        engine.address if engine is not None else "",
        engine_tls=engine is not None and engine.has_tls,
        is_plain_allowed=settings.is_plain_allowed,
    )
    for one in found:
        if one.is_refused:
            raise UsageError(f"{one.what}, so rekindle does not use it", one.remedy)
    return url, found
