"""Full-text search over what was said in all conversations."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, Protocol

from rekindle.core.search import Hit

SearchOrder = Literal["best", "newest"]


class ConversationIndex(Protocol):
    """Every search brings it up to date."""

    def search(
        self,
        query: str,
        now: int,
        *,
        sessions: Collection[str] | None = None,
        limit: int = 20,
        order: SearchOrder = "best",
    ) -> list[Hit]:
        """Add what is new (`now` in nanoseconds), then search in all sessions or in some. Raises RekindleError.

        `query` is what `rekindle.core.search.expression` makes of a person's words.
        """
        ...
