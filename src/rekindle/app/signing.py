"""Who says that they ask for something: nobody who comes in through a door may use a name that rekindle signs with.

What rekindle does by itself is governed and counted; what a person asks for is not. The name makes the difference.
"""

from __future__ import annotations

from typing import Final

from rekindle.core.feature.talks import is_signature
from rekindle.core.governor.asking import SETTINGS
from rekindle.core.session.state import OURS, PROMPT_SENDER, UNKNOWN
from rekindle.ports.errors import UsageError

_OWN: Final = frozenset((OURS, UNKNOWN, PROMPT_SENDER, SETTINGS))


def refuse_signature(by: str) -> None:
    """Raise UsageError if this is how rekindle itself, or a feature's run, signs; or if it is nobody's name."""
    name = by.strip()
    if not name:
        raise UsageError("nobody says who asks for this", "say who you are in `by`")
    if name.casefold() in _OWN:
        raise UsageError(f"{by!r} is how rekindle itself signs", "say who you are with another name")
    if is_signature(name):
        raise UsageError(f"{by!r} is how a feature's run signs", "say who you are with another name")
