"""What a line typed at a session means: an answer to the question on the screen, or a prompt. Pure.

A line answers only the question that was on the screen when it was typed. Nothing typed while a question is open
becomes a prompt. A question accepts no answer at the moment it appears: what is typed then was not meant for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rekindle.app.answering import option_typed
from rekindle.core.terminal_text import printable

#: How long a question is on the screen before a line can be its answer.
ARMED_AFTER = 0.4
_REPLACED = "the question before this one was answered elsewhere, so your line was not used"


@dataclass(frozen=True)
class TypedAnswer:
    """The line chooses this option of this question."""

    question: dict[str, Any]
    option: str

    @property
    def label(self) -> str:
        """The option as it was offered."""
        found = next(one for one in self.question["options"] if str(one["id"]) == self.option)
        return printable(found["label"] or found["id"])


@dataclass(frozen=True)
class TypedPrompt:
    """The line is for the agent."""

    text: str


@dataclass(frozen=True)
class UnusedLine:
    """The line does nothing, and why."""

    why: str


@dataclass(frozen=True)
class TooSoon:
    """The question on the screen has only just appeared: the line stays to be edited."""


class QuestionAtHand:
    """The question that one terminal shows, and what is typed about it."""

    def __init__(self, session: str) -> None:
        self._session = session
        #: the last question shown that nobody here has reacted to
        self._shown: dict[str, Any] | None = None
        self._is_open = False
        #: it replaced another one that nobody here has reacted to: the typed line may mean that one
        self._replaced = False
        self._armed_at = 0.0
        #: the question last answered here: it may still be listed as open for a moment
        self._given: str | None = None

    def takes_answers(self, now: float) -> bool:
        """Whether a question is open that has been on the screen long enough."""
        return self._is_open and now >= self._armed_at

    @property
    def open(self) -> dict[str, Any] | None:
        """The question on the screen, if it is still waiting for an answer."""
        return self._shown if self._is_open else None

    def see(self, asked: dict[str, Any] | None, now: float) -> bool:
        """Note the open question; returns whether it has to be shown because it is not on the screen yet."""
        if asked is not None and asked["id"] == self._given:
            asked = None
        before, self._is_open = self._shown, asked is not None
        if asked is None or (before is not None and before["id"] == asked["id"]):
            return False
        self._replaced = before is not None
        self._shown = asked
        self._armed_at = now + ARMED_AFTER
        return True

    def take(self, line: str, now: float) -> TypedAnswer | TypedPrompt | UnusedLine | TooSoon:
        """What a line typed just now means."""
        if self._is_open and now < self._armed_at:
            return TooSoon()
        question, is_open, replaced = self._shown, self._is_open, self._replaced
        option = option_typed(question, line) if question is not None else None
        if question is not None and option is None and is_open and question["kind"] == "permission":
            first = f"answer question {question['id']} first, or use: rekindle send {self._session} TEXT"
            return UnusedLine(f"not sent: the agent waits for an answer — {first}")
        self._shown, self._replaced = None, False
        if question is None or option is None:
            return TypedPrompt(line)
        if replaced:
            return UnusedLine(_REPLACED)
        self._given = question["id"]
        return TypedAnswer(question, option)

    def fail(self) -> None:
        """The answer was not accepted: show the question again if it is still open."""
        self._given = None
