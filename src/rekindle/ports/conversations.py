"""What was said and done in sessions, across all their attempts, as rekindle has kept it: one stream for everybody."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from rekindle.agents.base.conversation import ConversationEntry


class FollowedConversation(Protocol):
    """One session's conversation as it grows."""

    def poll(self) -> list[ConversationEntry]:
        """Entries that have not been returned yet, in order: each prompt before its answer."""
        ...

    def wait(self, seconds: float) -> None:
        """Wait until there may be more, at most this long. Does not wait if more has come since the last `poll`."""
        ...

    @property
    def source(self) -> str:
        """What is read if it is not the original, for people: whose copy, and how old. Empty: it is the original."""
        ...

    @property
    def ended(self) -> frozenset[int]:
        """The attempts that were read to their end: nothing more will come from them."""
        ...


class Conversations(Protocol):
    """Belongs to one store. Reads only, and needs no daemon. An unknown session has said nothing."""

    def follow(self, session: str, attempts: Collection[int] | None = None) -> FollowedConversation:
        """A session's conversation from its beginning; with `attempts`, only these."""
        ...

    def read(self, session: str, attempts: Collection[int] | None = None) -> list[ConversationEntry]:
        """All of it so far."""
        ...

    def is_in_terminal(self, session: str) -> bool:
        """Whether the session's agent is used as an interactive program."""
        ...
