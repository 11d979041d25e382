"""What was said and done in sessions, over all their attempts, as rekindle has kept it: one stream for everybody."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from rekindle.agents.base.conversation import ConversationEntry


class FollowedConversation(Protocol):
    """One session's conversation as it grows."""

    def poll(self) -> list[ConversationEntry]:
        """Entries that have not been given out yet, in order: each prompt before what was said to it."""
        ...

    @property
    def ended(self) -> frozenset[int]:
        """The attempts that were read to their end: nothing will come of them any more."""
        ...


class Conversations(Protocol):
    """Belongs to one store. Reads only, and needs no daemon. A session that is not known has said nothing."""

    def follow(self, session: str, attempts: Collection[int] | None = None) -> FollowedConversation:
        """A session's conversation from its beginning; with `attempts`, only these."""
        ...

    def read(self, session: str, attempts: Collection[int] | None = None) -> list[ConversationEntry]:
        """All that there is of it now."""
        ...

    def is_in_terminal(self, session: str) -> bool:
        """Whether the session's agent is used as an interactive program."""
        ...
