"""The one shape of a question, whoever asks it: an agent, rekindle about a session, or the run of a feature. Pure.

Every list and every answer shows this shape, so that no client has to know who asks.
"""

from __future__ import annotations

from typing import Any

import msgspec


class QuestionOption(msgspec.Struct, frozen=True):
    """One possible answer. `kind` says what it does, for clients that show options in colours or groups."""

    id: str
    label: str
    kind: str


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """Something that asks a person.

    `recommended` is the id of an option, `otherwise` says what happens while nobody answers. `expires_at` is the time
    at which that happens by itself; None: it waits until what it asks about changes. `takes_text`: options that can
    be given words of your own.
    """

    id: str
    session: str | None
    feature: str | None
    kind: str
    title: str
    options: tuple[QuestionOption, ...]
    asked_at: float
    tool: str = ""
    detail: str = ""
    recommended: str | None = None
    otherwise: str = ""
    expires_at: float | None = None
    takes_text: tuple[str, ...] = ()
    repository: str | None = None

    @property
    def document(self) -> dict[str, Any]:
        """As lists and answers show it."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found
