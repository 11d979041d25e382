"""The one rule of what an id, or the beginning of one, means. Light standard library only."""

from __future__ import annotations

from rekindle.ports.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_NAMED = 5


class NoSuchSession(UsageError):
    """There is no session with that id."""

    code = "no_such_session"


def meant(known: Iterable[str], prefix: str) -> str:
    """The id given in full, or the only one that begins like this. An empty text matches nothing."""
    found = [one for one in known if one.startswith(prefix)] if prefix else []
    if prefix in found:
        return prefix
    if len(found) == 1:
        return found[0]
    if not found:
        raise NoSuchSession(
            f"there is no session {prefix!r}",
            "`rekindle ps --all` lists sessions, `rekindle features` the features here",
        )
    names = ", ".join(found[:_NAMED])
    raise NoSuchSession(f"{prefix!r} can mean {len(found)} sessions: {names}", "give more of the id")
