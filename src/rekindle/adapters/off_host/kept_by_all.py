"""The sessions that those who only look read: of all hosts of a fleet, from the store that they share; else of one."""

from __future__ import annotations

from collections.abc import Mapping

from rekindle.adapters.machine.fleet_settings import fleet_settings
from rekindle.adapters.machine.secret_file import read_secret
from rekindle.adapters.session_folder.kept import SessionsOnDisk
from rekindle.places import Places
from rekindle.ports.kept_sessions import KeptSessions


def kept_by_all(places: Places, environment: Mapping[str, str], *, is_whole: bool = True) -> KeptSessions:
    """`is_whole`: of all hosts, not of this one only. Raises UsageError and StoreError."""
    settings = fleet_settings(environment)
    if settings is None:
        return SessionsOnDisk(places)
    from rekindle.adapters.off_host.shared_sessions import SharedSessions
    from rekindle.adapters.sql_store import postgres

    file = settings.password_file
    password = read_secret(file, "store_password_file") if file is not None else None
    return SharedSessions(places, postgres.parsed(settings.store_url, password), settings.host, is_whole=is_whole)
