"""The terminals of a store's sessions. See `rekindle.ports.terminals.AgentTerminals`."""

from __future__ import annotations

from rekindle.adapters.keepers import tmux
from rekindle.adapters.session_folder.layout import session_folder
from rekindle.keeper.launch import read_identity


class SessionTerminals:
    """A terminal belongs to a session if it is its newest attempt's guard that runs in it."""

    def __init__(self, socket: str, sessions: str) -> None:
        self._terminals = tmux.Terminals(socket)
        self._sessions = sessions

    def require(self) -> None:
        """Raises NoTerminal if there is no tmux."""
        tmux.require()

    def is_open(self, session: str) -> bool:
        """Whether the terminal of the session's newest attempt is there."""
        own = session_folder(self._sessions, session)
        newest = own.attempts()[-1:]
        identity = read_identity(own.attempt(newest[0])) if newest else None
        return identity is not None and self._terminals.is_open(session, identity.guard)

    def screen(self, session: str, *, history: int = 0) -> str:
        """What is on the screen, as text."""
        return self._terminals.screen(session, history=history)

    def attach(self, session: str) -> tuple[str, ...]:
        """The command that takes a person into the terminal."""
        return self._terminals.attach(session)
