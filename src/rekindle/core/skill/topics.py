"""Whether two skill sessions are about the same topic, and why that is thought. Pure.

Compared are the words of the folders' names and the words of the logs' headings. A name alone can mislead, so the
words that both have are shown, and a person decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from rekindle.core.skill.artifacts import headings_of

_WORD: Final = re.compile(r"[^\W\d_]{3,}", re.UNICODE)
#: Words that name no topic.
_COMMON: Final = frozenset(
    {
        *("the", "and", "for", "with", "from", "into", "that", "this", "are", "was", "session", "sessions", "work"),
        *("new", "add", "fix", "update", "change", "changes", "log", "entry", "start", "started", "done", "resume"),
        *("resumed", "manual", "context", "overflow", "restart", "phase", "step", "note", "decision", "found", "task"),
        *("block", "setup", "plan", "planning", "build", "test", "tests", "testing", "debrief", "synthesis", "close"),
    }
)


class SameTopic(msgspec.Struct, frozen=True):
    """Another session on the same topic: the words that both have, and how much they have in common (0 to 1)."""

    folder: str
    score: float
    by_name: tuple[str, ...]
    by_log: tuple[str, ...]

    @property
    def why(self) -> str:
        """Why it is thought to be the same topic."""
        told = [f"folder names share: {', '.join(self.by_name)}"] if self.by_name else []
        told += [f"logs share: {', '.join(self.by_log)}"] if self.by_log else []
        return "; ".join(told)


def words_of(texts: Iterable[str]) -> frozenset[str]:
    """The words that name a topic."""
    found = (one.casefold() for text in texts for one in _WORD.findall(text))
    return frozenset(word for word in found if word not in _COMMON)


def compare(folder: str, log: str, other: str, other_log: str) -> SameTopic | None:
    """Whether another folder is on the same topic: half the words of a name, or a third of those of the headings."""
    by_name, of_names = _shared(words_of([folder]), words_of([other]))
    by_log, of_logs = _shared(words_of(headings_of(log)), words_of(headings_of(other_log)))
    is_same = of_names >= 0.5 or (of_logs >= 1 / 3 and len(by_log) >= 2)
    if not is_same:
        return None
    return SameTopic(other, max(of_names, of_logs), by_name, by_log)


def _shared(one: frozenset[str], other: frozenset[str]) -> tuple[tuple[str, ...], float]:
    both = one & other
    smaller = min(len(one), len(other))
    return tuple(sorted(both)), len(both) / smaller if smaller else 0.0
