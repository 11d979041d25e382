"""Whether this host fits into its fleet: what would harm the others if it were not the same everywhere.

Two machines with one name would each take the sessions of the other for their own, and start second agents. A host with
another key, or with another place for copies, would make copies that nobody can use. Two engines would each give the
same job to a host.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable

from rekindle import files
from rekindle.adapters.machine.fleet_settings import FleetSettings
from rekindle.ports.errors import UsageError
from rekindle.ports.fleet_engine import EngineError

#: Whether a value is what all hosts agree on, by the name of what it is.
Agreed = Callable[[str, str], bool]
_ID = "fleet-host-id"
_LONGEST = 100


def fit_in(agreed: Agreed, settings: FleetSettings, key: str, state: str) -> None:
    """Raises UsageError if this host cannot be one of this fleet, and StoreError. `key` is the mark of its key."""
    if not agreed(f"host {settings.host}", _own_id(state)):
        raise UsageError(
            f"the fleet has another machine with the name {settings.host}, or this one before its state was removed",
            "set fleet_host to a name that no other has; sessions of a machine that is gone: rekindle fleet takeover",
        )
    if not agreed("key", key):
        raise UsageError(
            f"{settings.key_file} is not the key of this fleet: its copies were sealed with another one",
            f"copy the file from another host. If that key is lost for good: {_anew('key')}",
        )
    kind = "postgresql" if settings.blobs is None else "folder"
    if not agreed("blobs", kind):
        raise UsageError(
            f"fleet_blobs is {settings.blobs or kind}, and the other hosts of this fleet keep their copies elsewhere",
            f"set it as they have it. If the fleet is to have another place: {_anew('blobs')}",
        )


def check_engine(agreed: Agreed, namespace: str) -> None:
    """Raises EngineError if this is not the engine of the fleet. `namespace` is the id that the server gave it."""
    if not agreed("engine", namespace):
        raise EngineError(
            "temporal_address and temporal_namespace lead to another engine than that of this fleet",
            f"set them as the other hosts have them. If the fleet is to have a new engine: {_anew('engine')}",
            code="another_engine",
        )


def _anew(name: str) -> str:
    return f"stop all hosts, then DELETE FROM fleet_terms WHERE name = '{name}'"


def _own_id(state: str) -> str:
    """What tells this machine from others: made once, and kept with its sessions."""
    path = os.path.join(state, _ID)
    try:
        found = files.read_short(path, _LONGEST).decode("ascii", "replace").strip()
    except FileNotFoundError:
        found = ""
    if found:
        return found
    made = secrets.token_hex(16)
    files.replace(path, f"{made}\n".encode(), mode=0o600, durable=True)
    return made
