"""Conversations in memory: spools without files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

from rekindle.agents.base.conversation import ConversationEntry, beginning, cut_off, entries
from rekindle.agents.base.exchange import Exchange, SpooledMessage
from rekindle.agents.registry import AGENTS


@dataclass
class FakeAttempt:
    """The spools of one attempt, and how it ended."""

    messages: list[SpooledMessage] = field(default_factory=list)
    out: bytes = b""
    ended: str | None = None


class _Reader:
    def __init__(self, agent: str, number: int, attempt: FakeAttempt) -> None:
        self._number = number
        self._attempt = attempt
        self._dialect = AGENTS[agent].dialect(number, "", None)
        self._exchange = Exchange(self._dialect)
        self._messages = 0
        self.ended = False

    def poll(self) -> list[ConversationEntry]:
        if self.ended:
            return []
        self._exchange.sent(self._attempt.messages[self._messages :])
        self._messages = len(self._attempt.messages)
        steps = (
            step
            for part in (self._exchange.heard(self._attempt.out[self._exchange.offset :]), self._exchange.settle())
            for step in part
        )
        found = [entry for step in steps for entry in entries(step, self._number)]
        if self._attempt.ended is not None:
            self.ended = True
            found += [cut_off(self._number, self._attempt.ended)] if self._dialect.is_prompting else []
        return found


class FakeConversation:
    """See `rekindle.ports.conversations.FollowedConversation`."""

    source = ""

    def __init__(self, agent: str, attempts: dict[int, FakeAttempt], wanted: Collection[int] | None) -> None:
        self._agent = agent
        self._attempts = attempts
        self._wanted = wanted
        self._readers: dict[int, _Reader] = {}

    @property
    def ended(self) -> frozenset[int]:
        return frozenset(number for number, reader in self._readers.items() if reader.ended)

    def poll(self) -> list[ConversationEntry]:
        found: list[ConversationEntry] = []
        for number in sorted(self._attempts):
            if self._wanted is not None and number not in self._wanted:
                continue
            if number not in self._readers:
                self._readers[number] = _Reader(self._agent, number, self._attempts[number])
                found += beginning(number)
            found += self._readers[number].poll()
        return found

    def wait(self, seconds: float) -> None:
        """Nothing comes while somebody waits here."""


class FakeConversations:
    """See `rekindle.ports.conversations.Conversations`. `sessions` is what there is of each, by attempt."""

    def __init__(self, agent: str, *, terminals: Collection[str] = ()) -> None:
        self._agent = agent
        self._terminals = terminals
        self.sessions: defaultdict[str, dict[int, FakeAttempt]] = defaultdict(dict)

    def follow(self, session: str, attempts: Collection[int] | None = None) -> FakeConversation:
        return FakeConversation(self._agent, self.sessions[session], attempts)

    def read(self, session: str, attempts: Collection[int] | None = None) -> list[ConversationEntry]:
        return self.follow(session, attempts).poll()

    def is_in_terminal(self, session: str) -> bool:
        return session in self._terminals
