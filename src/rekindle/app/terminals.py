"""The terminal of an agent that runs as an interactive program, for people who want to look at it."""

from __future__ import annotations

import msgspec

from rekindle.app.session_list import SessionList
from rekindle.ports.conversations import Conversations
from rekindle.ports.errors import UsageError
from rekindle.ports.terminals import AgentTerminals, NoTerminal


class Screen(msgspec.Struct, frozen=True):
    """The text on the screen of a session."""

    id: str
    screen: str


class TerminalUse:
    """Looks at terminals."""

    def __init__(self, sessions: SessionList, conversations: Conversations, terminals: AgentTerminals) -> None:
        self._sessions = sessions
        self._conversations = conversations
        self._terminals = terminals

    def capture(self, prefix: str, history: int) -> Screen:
        """What is on the screen now."""
        session = self._sessions.meant(prefix)
        if not self._conversations.is_in_terminal(session):
            raise UsageError(
                f"session {session} is not used in a terminal", f"see what was said: rekindle logs {session}"
            )
        self._require(session)
        return Screen(session, self._terminals.screen(session, history=history))

    def way_in(self, session: str) -> tuple[str, ...]:
        """The command that takes a person into the terminal."""
        self._require(session)
        return self._terminals.attach(session)

    def _require(self, session: str) -> None:
        self._terminals.require()
        if not self._terminals.is_open(session):
            raise NoTerminal(f"session {session} has no terminal now", f"bring it back: rekindle resume {session}")
