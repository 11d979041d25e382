"""Which of a fleet's connections others on the network could read, or pretend to be the other end of. Pure.

A connection that may be unencrypted is refused, unless the user says that something else protects it (a tunnel, a
private network): nobody sees that from here. One that is encrypted, but does not prove who answers, is only named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Final

#: The modes of libpq that encrypt whatever the server says, and the one that also proves who the server is.
_ENCRYPTED: Final = ("require", "verify-ca", "verify-full")
_PROVED: Final = "verify-full"
_ALLOWED: Final = "fleet_plain_connections allows that"
_TUNNEL: Final = (
    "or, if a tunnel or a private network protects that way: rekindle config set fleet_plain_connections on"
)


@dataclass(frozen=True)
class StoreWay:
    """How the store is reached, as libpq has it. No host, or a path: by a socket of this machine."""

    hosts: Sequence[str] = ()
    sslmode: str = ""
    channel_binding: str = ""


@dataclass(frozen=True)
class Exposed:
    """A connection that is not as safe as it could be, as a sentence, and what to do. `is_refused`: it is not made."""

    what: str
    remedy: str
    is_refused: bool = False


def is_local(host: str) -> bool:
    """Whether what is said to this host never leaves the machine: a socket, or a loopback address."""
    name = host.strip("[]").lower()
    if name.startswith(("/", "@")) or name in ("", "localhost") or name.endswith(".localhost"):
        return True
    try:
        address = ip_address(name.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback


def exposed(store: StoreWay, engine_address: str, *, engine_tls: bool, is_plain_allowed: bool) -> list[Exposed]:
    """What to tell the user about the ways to the store and to the engine (HOST:PORT, or empty); nothing: all is well.

    `is_plain_allowed`: the user says that something else protects unencrypted connections.
    """
    told: list[Exposed] = []
    far = [one for one in store.hosts if not is_local(one)]
    if far and store.sslmode not in _ENCRYPTED:
        what = f"the connection to the store on {', '.join(far)} may be unencrypted"
        remedy = "add sslmode=verify-full and sslrootcert=FILE to store_url"
        told.append(_plain(what, remedy, is_plain_allowed=is_plain_allowed))
    elif far and store.sslmode != _PROVED and store.channel_binding != "require":
        what = f"the connection to the store on {', '.join(far)} is encrypted, but does not prove that it is the store"
        told.append(Exposed(what, f"use sslmode=verify-full in store_url, not {store.sslmode}"))
    engine_host = engine_address.rpartition(":")[0]
    if not is_local(engine_host) and not engine_tls:
        what = f"the connection to Temporal on {engine_host} is unencrypted"
        told.append(_plain(what, "set temporal_tls_ca", is_plain_allowed=is_plain_allowed))
    return told


def _plain(what: str, remedy: str, *, is_plain_allowed: bool) -> Exposed:
    if is_plain_allowed:
        return Exposed(f"{what}; {_ALLOWED}", f"{remedy}, and unset fleet_plain_connections")
    return Exposed(what, f"{remedy}; {_TUNNEL}", is_refused=True)
