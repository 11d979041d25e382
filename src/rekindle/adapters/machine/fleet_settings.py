"""What the user's settings say about a fleet. Read once, when the daemon starts: a host does not change its fleet."""

from __future__ import annotations

import platform
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

from rekindle.adapters.machine.settings_file import UserFile
from rekindle.core.fleet.spelling import is_host
from rekindle.core.quantities import seconds_in
from rekindle.core.setting_keys import SettingValue, fleet_keys
from rekindle.ports.errors import UsageError
from rekindle.settings import user_file

#: Where bytes are kept if no folder is named.
IN_STORE = "postgresql"
HEARTBEAT = 30.0


@dataclass(frozen=True)
class TemporalSettings:
    """How the fleet's engine is reached. TLS is used if a file for it, or an API key, is named."""

    address: str
    namespace: str = "default"
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    api_key_file: str | None = None

    @property
    def has_tls(self) -> bool:
        """Whether the connection is encrypted."""
        return any((self.tls_ca, self.tls_cert, self.api_key_file))


@dataclass(frozen=True)
class FleetSettings:
    """`blobs` is a folder that all hosts mount, or None: in the store. `sources` are NAME=ADDRESS of repositories.

    `temporal` is None if the fleet has no engine. `heartbeat` is in seconds. `is_plain_allowed`: something that
    cannot be seen from here protects connections that are not encrypted.
    """

    store_url: str
    password_file: str | None
    host: str
    key_file: str
    blobs: str | None
    sources: tuple[str, ...]
    labels: tuple[str, ...] = ()
    heartbeat: float = HEARTBEAT
    temporal: TemporalSettings | None = None
    is_plain_allowed: bool = False


def fleet_settings(environment: Mapping[str, str]) -> FleetSettings | None:
    """The fleet that this host belongs to; None: this is one machine. Raises UsageError."""
    file = user_file(environment)
    table = tomllib.loads(UserFile(file).read() or "")  # it was checked when the settings were loaded
    keys = {key.name: key for key in fleet_keys()}
    found: dict[str, SettingValue] = {}
    for name, key in keys.items():
        value = environment.get(key.variable or "") or table.get(name)
        if value is None:
            continue
        if not key.is_valid(value):
            place = key.variable if environment.get(key.variable or "") else file
            raise UsageError(
                f"{place}: {name} is not valid", f"use {key.expected}", details={"file": file, "key": name}
            )
        found[name] = value
    if "store_url" not in found:
        return None
    host = str(found.get("fleet_host") or platform.node())
    if not is_host(host):  # the machine's own name, perhaps
        raise UsageError(f"{host!r} cannot be the name of a host", "set fleet_host to letters, digits, dots and dashes")
    if "fleet_key_file" not in found:
        raise UsageError(
            "a fleet needs a key", "make one (rekindle fleet key FILE), copy it to every host, set fleet_key_file"
        )
    blobs = str(found.get("fleet_blobs", IN_STORE))
    password = found.get("store_password_file")
    return FleetSettings(
        store_url=str(found["store_url"]),
        password_file=None if password is None else str(password),
        host=host,
        key_file=str(found["fleet_key_file"]),
        blobs=None if blobs == IN_STORE else blobs,
        sources=tuple(shlex.split(str(found.get("fleet_repositories", "")))),
        labels=tuple(str(found.get("fleet_labels", "")).split()),
        heartbeat=seconds_in(str(found.get("fleet_heartbeat", ""))) or HEARTBEAT,
        temporal=_temporal(found),
        is_plain_allowed=found.get("fleet_plain_connections") == "on",
    )


def _temporal(found: Mapping[str, SettingValue]) -> TemporalSettings | None:
    address = found.get("temporal_address")
    if address is None:
        return None
    files = {name: found.get(f"temporal_{name}") for name in ("tls_ca", "tls_cert", "tls_key", "api_key_file")}
    named = {name: None if value is None else str(value) for name, value in files.items()}
    if (named["tls_cert"] is None) != (named["tls_key"] is None):
        raise UsageError("temporal_tls_cert and temporal_tls_key belong together", "set both, or neither")
    return TemporalSettings(str(address), str(found.get("temporal_namespace", "default")), **named)
