"""The answers to requests that carried a key, so that a request that is sent again is not carried out again."""

from __future__ import annotations

from typing import Protocol

import msgspec


class KeptAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a request. `digest` is that of its body. `status` 0: nobody knows how it ended."""

    digest: str
    status: int = 0
    kind: str = ""
    body: bytes = b""


class KeptAnswers(Protocol):
    """Blocking. What was put is on disk when `put` returns. Raises OSError."""

    def get(self, name: str) -> KeptAnswer | None:
        """The answer of that name."""
        ...

    def put(self, name: str, answer: KeptAnswer) -> None:
        """Keep an answer for a day; one of the same name is replaced."""
        ...

    def drop(self, name: str) -> None:
        """Forget an answer."""
        ...
