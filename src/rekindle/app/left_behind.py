"""What conversations left behind when they were dehydrated: shown, and searched by words. Reads only.

The old conversation is still there in full, in the session's folder; only the agent no longer has it. An agent may
search what its own session left behind, and nobody else's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from rekindle.agents.base.conversation import ConversationEntry
from rekindle.core.session.history import TITLE
from rekindle.ports.ancestry import Ancestry, refusal
from rekindle.ports.conversations import Conversations

_SAID: Final = ("prompt", "told", "said", "tool", "tool_done", "plan", "question", "error")


class LeftEntry(msgspec.Struct, frozen=True):
    """One thing that was said or done, and in which attempt."""

    attempt: int
    kind: str
    text: str


class LeftBehind(msgspec.Struct, frozen=True):
    """What a session's newest conversation does not have. `entries` are those that were asked for, of `total`."""

    session: str
    entries: list[LeftEntry]
    total: int
    conversations: int


class DroppedConversations:
    """`named` finds the session that a word means; `own` is the session of the agent that asks, if it is one."""

    def __init__(
        self, conversations: Conversations, ancestry: Ancestry, named: Callable[[str], str], own: str = ""
    ) -> None:
        self._conversations = conversations
        self._ancestry = ancestry
        self._named = named
        self._own = own

    def of(self, word: str, search: str = "") -> LeftBehind:
        """What a session left behind; with `search`, the entries that have all of these words."""
        name = self._named(word)
        if name != self._own and self._ancestry.is_inside():
            raise refusal("look at what another session left behind")
        every = self._conversations.read(name)
        starts = [one.attempt for one in every if one.kind in ("prompt", "told") and one.text.startswith(TITLE)]
        left = _joined([one for one in every if one.kind in _SAID and one.attempt < max(starts, default=0)])
        words = search.casefold().split()
        found = [one for one in left if all(word in one.text.casefold() for word in words)]
        return LeftBehind(name, found, len(left), len(set(starts)))


def _joined(entries: Sequence[ConversationEntry]) -> list[LeftEntry]:
    """Pieces of one text are one entry."""
    found: list[LeftEntry] = []
    for one in entries:
        last = found[-1] if found else None
        if last is not None and one.kind == "said" and (last.kind, last.attempt) == ("said", one.attempt):
            found[-1] = LeftEntry(one.attempt, "said", last.text + one.text)
        else:
            found.append(LeftEntry(one.attempt, one.kind, one.text))
    return [one for one in found if one.text.strip()]


def excerpt(text: str, search: str, most: int = 300) -> str:
    """A part of a text with the first of the words that were searched for."""
    flat = " ".join(text.split())
    if len(flat) <= most:
        return flat
    low = flat.casefold()
    at = min((low.find(word) for word in search.casefold().split() if word in low), default=0)
    begin = max(0, min(at - most // 3, len(flat) - most))
    return f"{'…' * (begin > 0)}{flat[begin : begin + most]}{'…' * (begin + most < len(flat))}"
