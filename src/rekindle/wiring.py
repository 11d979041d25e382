"""The composition root of the command line: each use case with its adapters, put together when it is asked for.

Everything is imported where it is used, so that no command pays for the others.
"""

from __future__ import annotations

from rekindle.doors.cli.use_cases import UseCases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from rekindle.places import Places
    from rekindle.ports.ancestry import Ancestry
    from rekindle.ports.daemon import Daemon


class Wired(UseCases):
    """The use cases on this machine, for the user with this environment."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def _places(self) -> Places:
        from rekindle.places import Places
        from rekindle.settings import load

        return Places(load(self._environment, None))

    def daemon(self) -> Daemon:
        from rekindle.adapters.daemon_socket.client import DaemonClient

        return DaemonClient(self._places())

    def ancestry(self) -> Ancestry:
        from rekindle.adapters.machine import ancestry

        return ancestry

    def serve(self, *, on_demand: bool) -> int:
        from rekindle.daemon import serve

        return serve(self._environment, on_demand=on_demand)
