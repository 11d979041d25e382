"""Which names a door answers to: its Host and Origin. Anything else is somebody else's page. Pure."""

from __future__ import annotations

import ipaddress

import msgspec

from rekindle.ports.errors import UsageError

_LOCAL_NAMES = ("localhost",)


class DoorPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a door is. `behind` are the names under which a TLS proxy offers it; `cert` and `key` are its own TLS."""

    address: str = "127.0.0.1"
    port: int = 0
    behind: tuple[str, ...] = ()
    cert: str = ""
    key: str = ""

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return ipaddress.ip_address(self.address).is_loopback

    @property
    def scheme(self) -> str:
        """http or https."""
        return "https" if self.cert else "http"

    @property
    def url(self) -> str:
        """What a browser on this machine opens."""
        return f"{self.scheme}://{_bracketed(self.address)}:{self.port}/"

    @property
    def outside_url(self) -> str:
        """What another device opens: the proxy's name if there is one."""
        return f"https://{self.behind[0]}/" if self.behind else self.url


def parsed(given: str, behind: tuple[str, ...] = (), cert: str = "", key: str = "") -> DoorPlace:
    """ADDRESS:PORT as typed; either may be left out. Raises UsageError for what would be open to others without TLS."""
    address, port = _split(given)
    if bool(cert) != bool(key):
        raise UsageError("TLS needs a certificate and its key", "give both --cert FILE and --key FILE")
    place = DoorPlace(address=address, port=port, behind=tuple(_name(one) for one in behind), cert=cert, key=key)
    if not place.is_loopback and not cert and not behind:
        raise UsageError(
            f"{address} can be reached from other machines, and HTTP there can be read by others",
            "give --cert FILE and --key FILE, or --behind NAME for a TLS proxy that you run",
        )
    return place


def hosts(place: DoorPlace) -> frozenset[str]:
    """Every Host header that is ours."""
    own = {place.address} if not _is_any(place.address) else set()
    if place.is_loopback:
        own |= {"127.0.0.1", "::1", *_LOCAL_NAMES}
    found = {f"{_bracketed(one)}:{place.port}" for one in own}
    return frozenset({*found, *place.behind, *(f"{one}:443" for one in place.behind if ":" not in one)})


def origins(place: DoorPlace) -> frozenset[str]:
    """Every Origin that is ours."""
    behind = set(place.behind)
    direct = {f"{place.scheme}://{one}" for one in hosts(place) if one.removesuffix(":443") not in behind}
    return frozenset({*direct, *(f"https://{one}" for one in behind)})


def _split(given: str) -> tuple[str, int]:
    address, _, port = (
        given.rpartition(":") if ":" in given else ("", "", given) if given.isdigit() else (given, "", "")
    )
    address = address.strip("[]") or "127.0.0.1"
    if address == "localhost":
        address = "127.0.0.1"
    try:
        ipaddress.ip_address(address)
    except ValueError as error:
        raise UsageError(
            f"{address!r} is not an IP address", "give ADDRESS:PORT, for example 127.0.0.1:8400"
        ) from error
    if port and not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise UsageError(f"{port!r} is not a port", "give a number up to 65535; 0 takes a free one")
    return address, int(port or 0)


def _name(given: str) -> str:
    name = given.strip().lower().removeprefix("https://").rstrip("/")
    host, _, port = name.partition(":")
    fits = bool(host) and all(char.isascii() and (char.isalnum() or char in ".-") for char in host)
    if not fits or (port and not (port.isascii() and port.isdigit())):
        raise UsageError(
            f"{given!r} is not a host name", "give the name that the proxy has, for example work.example.net"
        )
    return name.removesuffix(":443")


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _is_any(address: str) -> bool:
    return ipaddress.ip_address(address).is_unspecified
