"""Messages to sessions from any host of a fleet: what one says, and whether an interrupted one was carried out. Pure.

The host that has the session carries a message out. It may be killed after that and before it says so. Then the message
is carried out again. For a prompt and an answer that changes nothing: they have names of their own. For the others the
session's facts tell whether it was done.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

import msgspec

from rekindle.core.fact import Fact
from rekindle.core.session import facts as f

#: What can be asked of a session from another host.
MailKind = Literal["send", "answer", "hold", "hurry", "stop", "cancel", "resume"]
#: These make sense only at the moment at which somebody asks: nobody carries them out an hour later.
_MOMENTARY: Final = frozenset({"hurry", "cancel"})
#: What shows that a message was carried out.
_TRACES: Final[dict[str, tuple[type[Fact], ...]]] = {
    "hold": (f.HoldAsked,),
    "hurry": (f.Hurried,),
    "stop": (f.StopAsked,),
    "resume": (f.ResumeAsked, f.HoldLifted),
}


class MailTold(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a message: the answer of the use case, or its error, as a client of the daemon gets them."""

    answer: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


def is_momentary(kind: MailKind) -> bool:
    """Whether a message that nobody has taken in time is withdrawn."""
    return kind in _MOMENTARY


def was_carried_out(kind: MailKind, by: str, since: Iterable[Fact]) -> bool:
    """Whether the facts since a message was taken show that it was carried out. `by` names its sender and no other."""
    traces = _TRACES.get(kind, ())
    return any(isinstance(one, traces) and getattr(one, "by", None) == by for one in since)


def signed(by: str, host: str) -> str:
    """Who asks, as other hosts see it."""
    return f"{by} on host {host}" if by else f"somebody on host {host}"


def waiting(what: str, session: str, host: str, *, taken: bool) -> str:
    """What is known of a message that nothing has come of yet."""
    if taken:
        return f"the {what} for session {session} is recorded, and host {host} has taken it; nothing has come of it yet"
    return f"the {what} for session {session} is recorded; host {host} has not taken it yet"
