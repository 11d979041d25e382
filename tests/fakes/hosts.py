"""Hosts in memory, that share one `Fleet`. See `rekindle.ports.hosts.Hosts`."""

from __future__ import annotations

import time

import msgspec

from rekindle.ports.hosts import HostReport, HostState, SeenHost
from tests.fakes.placements import Fleet


class FakeHosts:
    def __init__(self, fleet: Fleet, host: str) -> None:
        self.host = host
        self._fleet = fleet

    def tell(self, report: HostReport) -> HostState:
        state = self._fleet.hosts[self.host][0] if self.host in self._fleet.hosts else "ready"
        self._fleet.hosts[self.host] = (state, time.monotonic(), report)
        return state

    def change(self, state: HostState) -> None:
        _, at, report = self._fleet.hosts.get(self.host, ("", time.monotonic(), HostReport()))
        self._fleet.hosts[self.host] = (state, at, report)

    def everything(self) -> list[SeenHost]:
        now = time.monotonic()
        return [
            SeenHost(
                host=name,
                state=state,
                seen_seconds_ago=now - at,
                report=msgspec.json.decode(msgspec.json.encode(report), type=HostReport),
                sessions=sum(one.host == name for one in self._fleet.placed.values()),
            )
            for name, (state, at, report) in sorted(self._fleet.hosts.items())
        ]

    def forget(self, host: str, silent: float) -> bool:
        _, at, _ = self._fleet.hosts.get(host, ("ready", float("inf"), HostReport()))
        if time.monotonic() - at < silent:
            return False
        del self._fleet.hosts[host]
        return True

    def close(self) -> None:
        pass
