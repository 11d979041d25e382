"""Network namespaces for the hosts of a fleet: each has its own, with one link to a bridge that the servers listen on.

They need root and iproute2. Where that is not given, the tests that need them are skipped, and counted;
REKINDLE_NETNS_REQUIRED=1 makes that a failure.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import pytest


def _ip(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(("ip", *words), capture_output=True, text=True, check=check)


@cache
def _why_not() -> str:
    """Why there can be no namespaces here; empty: there can."""
    if shutil.which("ip") is None:
        return "iproute2 is not installed"
    if os.getuid() != 0:
        return "network namespaces need root"
    name = f"rk{secrets.token_hex(3)}"
    try:
        _ip("netns", "add", name)
        _ip("link", "add", name, "type", "bridge")
    except subprocess.CalledProcessError as error:
        return f"network namespaces cannot be made here: {error.stderr.strip()}"
    finally:
        _ip("link", "del", name, check=False)
        _ip("netns", "del", name, check=False)
    return ""


def need_namespaces() -> None:
    """Skip the test if there can be no namespaces."""
    if (why := _why_not()) == "":
        return
    if os.environ.get("REKINDLE_NETNS_REQUIRED"):
        pytest.fail(f"network namespaces are required: {why}")
    pytest.skip(f"SKIPPED: {why}")


@dataclass
class Network:
    """A bridge with an address, and hosts behind it."""

    name: str
    subnet: str
    hosts: dict[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Where the servers listen."""
        return f"{self.subnet}.1"

    def add(self, host: str) -> str:
        """A namespace for a host, with a link to the bridge; returns its address there."""
        number = len(self.hosts) + 2
        space, link = f"{self.name}-{host}", f"{self.name}{number}"
        self.hosts[host] = link
        _ip("netns", "add", space)
        _ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space)
        _ip("link", "set", link, "master", self.name, "up")
        _ip("-n", space, "addr", "add", f"{self.subnet}.{number}/24", "dev", "eth0")
        _ip("-n", space, "link", "set", "eth0", "up")
        _ip("-n", space, "link", "set", "lo", "up")
        return f"{self.subnet}.{number}"

    def inside(self, host: str) -> tuple[str, ...]:
        """What runs a command in the namespace of a host. It is replaced by the command: the pid stays."""
        return ("ip", "netns", "exec", f"{self.name}-{host}")

    def link(self, host: str, state: str) -> None:
        """Take the link of a host `down`, or `up` again."""
        _ip("link", "set", self.hosts[host], state)


@contextlib.contextmanager
def network() -> Iterator[Network]:
    """A bridge of its own. Nothing of it is left."""
    need_namespaces()
    number = secrets.randbelow(64 * 256)
    made = Network(f"rk{number:04x}", f"10.{64 + number // 256}.{number % 256}")
    _ip("link", "add", made.name, "type", "bridge")
    try:
        _ip("addr", "add", f"{made.address}/24", "dev", made.name)
        _ip("link", "set", made.name, "up")
        yield made
    finally:
        for host in made.hosts:
            _ip("netns", "del", f"{made.name}-{host}", check=False)
        _ip("link", "del", made.name, check=False)
