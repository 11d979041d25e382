"""Which limit of its service an agent has reached, read from its words, if it does not report it as data.

Sessions that wait for the same limit come back one by one; those that wait for another one are not held up by them.
"""

from __future__ import annotations

import re
from typing import Final

#: The names that Claude Code's `rate_limit_event` uses. The more special wording comes first.
_WORDS: Final = (
    ("seven_day_opus", r"opus"),
    ("seven_day_sonnet", r"sonnet"),
    ("seven_day", r"weekly|7.day|seven.day"),
    ("five_hour", r"session limit|5.hour|five.hour"),
    ("overage", r"extra usage"),
)


def limit_in(text: str) -> str:
    """The name of the limit; empty: the text does not say."""
    return next((name for name, pattern in _WORDS if re.search(pattern, text[:2000], re.IGNORECASE)), "")
