"""The sessions that those who only look read: of all hosts of a fleet, from the store that they share; else of one."""

from __future__ import annotations

from collections.abc import Mapping

from rekindle.adapters.machine.fleet_settings import fleet_settings
from rekindle.adapters.session_folder.kept import SessionsOnDisk
from rekindle.places import Places
from rekindle.ports.kept_sessions import KeptSessions


def kept_by_all(places: Places, environment: Mapping[str, str], *, is_whole: bool = True) -> KeptSessions:
    """`is_whole`: of all hosts, not of this one only. Raises UsageError and StoreError."""
    settings = fleet_settings(environment)
    if settings is None:
        return SessionsOnDisk(places)
    from rekindle.adapters.off_host.shared_sessions import SharedSessions
    from rekindle.adapters.off_host.ways import shared_place

    return SharedSessions(places, shared_place(settings)[0], settings.host, is_whole=is_whole)
