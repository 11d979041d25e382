"""Conversations on a host of a fleet: its own from their folders, others from what was copied off their hosts.

See `rekindle.ports.conversations.Conversations`. The daemon brings the copies; the reader is the same for both.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any

from rekindle.adapters.session_folder.conversation import FolderConversations, open_conversation
from rekindle.adapters.session_folder.session_file import is_in_terminal
from rekindle.agents.base.conversation import ConversationEntry
from rekindle.ports.conversations import FollowedConversation
from rekindle.ports.daemon import Daemon
from rekindle.ports.errors import RekindleError

#: How often to ask for what was copied since.
_AGAIN_SECONDS = 0.3


class CopiedConversations:
    """`own` has the sessions of this host."""

    def __init__(self, own: FolderConversations, daemon: Daemon) -> None:
        self._own = own
        self._daemon = daemon

    def follow(self, session: str, attempts: Collection[int] | None = None) -> FollowedConversation:
        """A session's conversation from its beginning."""
        told = self._copy(session)
        if told is None or told["here"]:
            return self._own.follow(session, attempts)
        return _CopiedConversation(self._daemon, told, attempts)

    def read(self, session: str, attempts: Collection[int] | None = None) -> list[ConversationEntry]:
        """All that there is of it now."""
        return self.follow(session, attempts).poll()

    def is_in_terminal(self, session: str) -> bool:
        """Whether the session's agent is used as an interactive program."""
        told = self._copy(session)
        if told is None or told["here"]:
            return self._own.is_in_terminal(session)
        return is_in_terminal(told["folder"])

    def _copy(self, session: str) -> dict[str, Any] | None:
        """Where it can be read; None if there is no such session."""
        try:
            return self._daemon.ask("fleet_copy", session=session)
        except RekindleError as error:
            if error.code != "no_such_session":
                raise
            return None


class _CopiedConversation:
    """Goes on with the copy wherever the session moves: whoever has it copies it. If nobody can be asked, it waits."""

    def __init__(self, daemon: Daemon, told: dict[str, Any], attempts: Collection[int] | None) -> None:
        self._daemon = daemon
        self._told = told
        self._at = time.monotonic()
        self._read = open_conversation(told["folder"], attempts)

    @property
    def ended(self) -> frozenset[int]:
        """The attempts that were read to their end."""
        return self._read.ended

    @property
    def source(self) -> str:
        """Whose copy it is, and how old."""
        late = self._told["behind"]
        host = self._told["host"]
        if late is None:
            return f"host {host}'s session, of which nothing was copied yet"
        return f"a copy from host {host}, " + ("with all there is" if late == 0 else f"as of {max(late, 1):.0f} s ago")

    def poll(self) -> list[ConversationEntry]:
        """Entries that have not been given out yet, in order."""
        if time.monotonic() - self._at >= _AGAIN_SECONDS:
            self._at = time.monotonic()
            try:
                self._told = self._daemon.ask("fleet_copy", session=self._told["id"], even_here=True)
            except RekindleError:
                return self._read.poll()  # the next look may be luckier
        return self._read.poll()

    def wait(self, seconds: float) -> None:
        """Wait until there may be more, at most so long."""
        time.sleep(max(0.0, min(seconds, self._at + _AGAIN_SECONDS - time.monotonic())))
