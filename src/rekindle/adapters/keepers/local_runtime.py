"""This machine as a runtime: whose keeper lives, and whether it answers. See `rekindle.ports.runtimes.Runtime`."""

from __future__ import annotations

import os

from rekindle.adapters.machine.process_identity import is_stopped
from rekindle.adapters.session_folder.layout import session_folder
from rekindle.keeper import launch, lockfile
from rekindle.keeper.client import Client
from rekindle.keeper.errors import FrameError, KeeperGone, Refused
from rekindle.keeper.identity import Identity
from rekindle.keeper.processes import is_running
from rekindle.ports.runtimes import Instance

_ANSWER_SECONDS = 2.0


class LocalRuntime:
    """The sessions of one folder, on this machine."""

    def __init__(self, sessions: str) -> None:
        self._sessions = sessions

    def recover_instances(self) -> list[Instance]:
        """What still runs, by session."""
        try:
            names = sorted(os.listdir(self._sessions))
        except FileNotFoundError:
            return []
        return [found for name in names if (found := self._instance(name)) is not None]

    def _instance(self, session: str) -> Instance | None:
        own = session_folder(self._sessions, session)
        if not lockfile.is_held(own.lock):
            return None
        for number in reversed(own.attempts()):
            folder = own.attempt(number)
            if not launch.is_alive(folder):
                continue
            identity = launch.read_identity(folder)
            if identity is None:
                return Instance(session, number, "alive")
            return Instance(
                session,
                number,
                "alive" if is_running(identity.agent) else "ending",
                identity.agent.pid,
                identity.started_at,
                _answers(identity),
                identity.guard.pid,
            )
        return None


def _answers(identity: Identity) -> bool:
    """Ask as an observer: that changes nothing, and takes the keeper from nobody."""
    if not is_running(identity.keeper) or is_stopped(identity.keeper.pid):
        return False
    try:
        with Client(identity.socket, timeout=_ANSWER_SECONDS) as keeper:
            told = keeper.status()
    except (KeeperGone, FrameError, Refused):
        return False
    return (told.get("session"), told.get("attempt")) == (identity.session, identity.attempt)
