"""Who may look at what a session left behind when it was dehydrated."""

from __future__ import annotations

import pytest

from rekindle.agents.base.conversation import ConversationEntry
from rekindle.app.left_behind import DroppedConversations
from rekindle.core.session.history import TITLE
from rekindle.ports.conversations import FollowedConversation
from rekindle.ports.errors import InsideAgent


class _Inside:
    """Everybody runs inside an agent."""

    def began(self, pid: int) -> int | None:
        return 1

    def standing_of(self, pid: int, started: int | None = None, *, daemon: int | None = None) -> str:
        return "inside"

    def is_inside(self) -> bool:
        return True

    def refuse_inside(self, what: str, again: str) -> None:
        raise AssertionError


class _Two:
    """A conversation that was left, and the one after it."""

    def read(self, session: str) -> list[ConversationEntry]:
        old = ConversationEntry("said", "the port is 8443", 1)
        return [old, ConversationEntry("prompt", f"{TITLE}\nthe summary", 2), ConversationEntry("said", "I go on", 2)]

    def follow(self, session: str) -> FollowedConversation:
        raise AssertionError


def test_an_agent_finds_what_its_own_session_left_and_is_refused_anothers() -> None:
    dropped = DroppedConversations(_Two(), _Inside(), lambda word: word, own="mine")  # type: ignore[arg-type]
    assert [one.text for one in dropped.of("mine", "PORT").entries] == ["the port is 8443"]
    assert dropped.of("mine", "summary").entries == []
    with pytest.raises(InsideAgent) as refused:
        dropped.of("another")
    assert "an agent cannot look at what another session left behind" in refused.value.message
