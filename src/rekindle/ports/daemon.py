"""The daemon as those see it who ask it for something."""

from __future__ import annotations

from typing import Any, Protocol

from rekindle.ports.errors import RekindleError


class NoDaemon(RekindleError):
    """Nobody serves this store."""

    code = "no_daemon"


class DaemonSilent(RekindleError):
    """The daemon is there and does not answer, because somebody has stopped its process."""

    code = "daemon_stopped"

    def __init__(self, pid: int, *, asked: bool) -> None:
        heard = "what was asked may still be done when it goes on" if asked else "nothing was asked of it"
        super().__init__(
            f"the daemon (pid {pid}) is stopped and does not answer; {heard}. Agents go on in their keepers",
            f"let it go on: kill -CONT {pid}"
            + ("   (then look at `rekindle ps` before you ask again)" if asked else ""),
        )


class Daemon(Protocol):
    """One line to the daemon of a store. Blocking. Raises NoDaemon, DaemonSilent, and what the daemon answers."""

    def ask(self, op: str, *, start: bool = True, **values: Any) -> dict[str, Any]:
        """Ask the daemon, and wait for its answer as long as that takes. `start`: begin one if there is none."""
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
