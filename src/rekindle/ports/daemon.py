"""The daemon as its clients see it."""

from __future__ import annotations

from typing import Any, Protocol

from rekindle.ports.errors import RekindleError


class NoDaemon(RekindleError):
    """Nobody serves this store."""

    code = "no_daemon"


class DaemonSilent(RekindleError):
    """The daemon is there but does not answer, because somebody has stopped its process."""

    code = "daemon_stopped"

    def __init__(self, pid: int, *, asked: bool) -> None:
        heard = "the request may still be carried out when it continues" if asked else "no request was sent"
        super().__init__(
            f"the daemon (pid {pid}) is stopped and does not answer; {heard}. Agents keep working in their keepers",
            f"continue it: kill -CONT {pid}"
            + ("   (then look at `rekindle ps` before you ask again)" if asked else ""),
        )


class Daemon(Protocol):
    """A connection to a store's daemon. Blocking. Raises NoDaemon, DaemonSilent, and whatever the daemon answers."""

    def ask(self, op: str, *, start: bool = True, **values: Any) -> dict[str, Any]:
        """Ask the daemon, and wait for its answer as long as it takes. `start`: start a daemon if there is none."""
        ...

    def is_served(self) -> bool:
        """Whether a daemon holds the store."""
        ...

    def holder(self) -> int | None:
        """The pid of the daemon that holds the store; None if there is none."""
        ...

    def close(self) -> None:
        """Hang up."""
        ...
