"""The hosts of a fleet as each of them tells about itself. Who is dead is not decided here: the fleet's engine does."""

from __future__ import annotations

from typing import Final, Literal, Protocol

import msgspec

#: A host that was not seen for so long may be gone.
SILENT_SECONDS = 15.0
#: What a host was seen so long ago as whose time in the store is none: nobody knows when.
NEVER_SECONDS: Final = 1e9
#: Ready: it takes sessions. Cordoned: it takes no new ones. Draining: those it has leave when their turns are over.
HostState = Literal["ready", "cordoned", "draining"]


class RunningAttempt(msgspec.Struct, frozen=True):
    """Something that runs on a host, whatever the store says of it; see `rekindle.ports.runtimes.Instance`."""

    session: str
    attempt: int
    state: Literal["alive", "ending"]
    pid: int | None = None
    answers: bool = False


class HostReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a host says about itself. `capacity`: how many agents may work at once; None: it has set no limit.

    `is_worker`: whether it takes jobs of the fleet, and `agents` which it has for them; None: it has not told (earlier
    versions do not). `trouble`: why a worker cannot take any at the moment, as a sentence.
    """

    labels: tuple[str, ...] = ()
    capacity: int | None = None
    in_use: int = 0
    version: str = ""
    running: tuple[RunningAttempt, ...] = ()
    is_worker: bool | None = None
    agents: tuple[str, ...] | None = None
    trouble: str = ""


class SeenHost(msgspec.Struct, frozen=True, kw_only=True):
    """A host, and how many seconds ago it said so, by the clock of the store. `sessions`: how many it has.

    `state` is unknown if it is none that this version knows; what cannot be read of its report is left out.
    """

    host: str
    state: Literal["ready", "cordoned", "draining", "unknown"]
    seen_seconds_ago: float
    report: HostReport
    sessions: int = 0


class Hosts(Protocol):
    """Blocking. `host` is the caller's own name. Everything raises StoreError if the store cannot be reached."""

    @property
    def host(self) -> str:
        """The host in whose name something is told."""
        ...

    def tell(self, report: HostReport) -> HostState:
        """This host is there, and this is how it is. Returns its state, which stays as it was; a new host is ready.

        Of a state that nobody knows it is said that it is cordoned: it takes nothing until somebody says more.
        """
        ...

    def change(self, state: HostState) -> None:
        """Change the state of this host. It stays so until it is changed again, also while no daemon runs."""
        ...

    def everything(self) -> list[SeenHost]:
        """All hosts that have ever told something, by name."""
        ...

    def forget(self, host: str, silent: float) -> bool:
        """Leave a host out of `everything` until it tells something again. False: it was seen within `silent` seconds.

        Nothing else about it is forgotten. It is ready when it is back, whatever it was before.
        """
        ...

    def close(self) -> None:
        """Release the store."""
        ...
