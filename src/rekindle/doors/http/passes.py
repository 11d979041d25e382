"""Who may come in: the two secrets of a door, and the codes that stand for one of them for a minute, once.

A cookie would authenticate nothing here: cookies ignore ports, so that a server that an agent runs on another port of
this machine would be sent them.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from typing import Literal

import msgspec

Scope = Literal["all", "read"]
#: How long a code can be used.
CODE_SECONDS = 60.0
#: How long a code that is typed or scanned on another device can be used.
PAIR_SECONDS = 300.0
_MOST_CODES = 100


class DoorSecrets(msgspec.Struct, frozen=True):
    """The secrets of a door: one for everything, one for reading only."""

    all: str
    read: str

    @classmethod
    def new(cls) -> DoorSecrets:
        """Secrets that nobody has had before."""
        return cls(secrets.token_urlsafe(32), secrets.token_urlsafe(32))


class Passes:
    """Checks secrets in constant time, and gives out codes."""

    def __init__(self, known: DoorSecrets, clock: Callable[[], float]) -> None:
        self._known = known
        self._clock = clock
        self._codes: dict[str, tuple[float, Scope]] = {}

    def scope_of(self, secret: str) -> Scope | None:
        """What a secret allows; None: it is none of ours."""
        given = secret.encode("utf-8", "surrogatepass")
        is_all = hmac.compare_digest(given, self._known.all.encode())
        is_read = hmac.compare_digest(given, self._known.read.encode())
        return "all" if is_all else "read" if is_read else None

    def new_code(self, scope: Scope, seconds: float = CODE_SECONDS) -> str:
        """A code that can be exchanged for a secret, once, for a while."""
        now = self._clock()
        self._codes = {code: one for code, one in self._codes.items() if one[0] > now}
        while len(self._codes) >= _MOST_CODES:
            del self._codes[next(iter(self._codes))]
        code = secrets.token_urlsafe(18)
        self._codes[code] = (now + seconds, scope)
        return code

    def exchange(self, code: str) -> tuple[str, Scope] | None:
        """The secret that a code stands for; None: it was used, is too old, or is none of ours."""
        given = code.encode("utf-8", "surrogatepass")
        found = next((one for one in self._codes if hmac.compare_digest(one.encode(), given)), None)
        if found is None:
            return None
        until, scope = self._codes.pop(found)
        if until <= self._clock():
            return None
        return (self._known.all if scope == "all" else self._known.read), scope
