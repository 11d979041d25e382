"""Why a turn failed, as a person says it: the class of an error is for rules, not for a list. Pure.

Facts and sessions keep the class, because runbooks match it. Only what is shown goes through here.
"""

from __future__ import annotations

import re
from typing import Final

from rekindle.core.runbook.triggers import ErrorClass

#: For each class: its words, and what a message that says the same already has in it.
_WORDS: Final[dict[ErrorClass, tuple[str, str]]] = {
    "rate_limited": ("a limit was reached", r"limit|quota|too many"),
    "overloaded": ("the model's service is overloaded", r"overload"),
    "out_of_credits": ("out of credits", r"credit|billing|balance|quota"),
    "unauthorized": ("the login was refused", r"log ?in|authenti|unauthori"),
    "no_internet": ("the model's service cannot be reached", r"reach|network|connect|internet"),
    "context_overflow": ("the conversation is too long", r"too long|context"),
    "session_lost": ("the conversation was not found", r"no conversation|not found|session"),
    "other": ("", r""),
}
_CLASS: Final = re.compile(rf"({'|'.join(_WORDS)}): (?=\S)")


def plain(told: str) -> str:
    """`rate_limited: Rate limit reached` as `Rate limit reached`; what does not begin with a class stays as it is."""
    found = _CLASS.match(told)
    if found is None:
        return told
    words, same = _WORDS[found[1]]  # type: ignore[index]
    message = told[found.end() :]
    return message if re.search(same, message, re.IGNORECASE) else f"{words}: {message}"
