"""Short texts for a report: one line each, of a sensible length. Pure."""

from __future__ import annotations

from typing import Final

from rekindle.core.terminal_text import printable

#: The longest text of a line, in characters, and of an agent's account of its work.
LONGEST: Final = 240
LONGEST_ACCOUNT: Final = 400
#: What is longer than this is no text for a person.
_BOUND: Final = 20_000


def in_words(text: str) -> str:
    """A text as one line. It is not shortened before it is masked: half a secret would not be recognised."""
    return " ".join(printable(text[:_BOUND]).split())


def shortened(text: str, most: int = LONGEST) -> str:
    """A text of a sensible length; a cut is marked."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def first_line(text: str) -> str:
    """The first line that says something."""
    return in_words(next((line for line in text.splitlines() if line.strip()), ""))


def span(seconds: float) -> str:
    """A stretch of time in its two largest units."""
    minutes, left = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (left if not hours else 0, "s")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 s"


def counted(number: int, word: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{number} {word}" + ("" if number == 1 else "s")
