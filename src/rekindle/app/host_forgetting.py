"""Forgets a host of a fleet that is gone for good: it leaves the list of hosts. Nothing of any session is deleted."""

from __future__ import annotations

import asyncio

import msgspec

from rekindle.core.fleet.forgetting import FORGOTTEN_AFTER, LeftSession, unended
from rekindle.core.session.status import word
from rekindle.ports.errors import UsageError
from rekindle.ports.hosts import Hosts
from rekindle.ports.placements import Placement, Placements

_MOST = 10


class ForgottenHost(msgspec.Struct, frozen=True):
    """A host that was forgotten. `sessions`: those that have ended on it, which stay in the store.

    `uncopied`: those of them of which it may have something that is nowhere else.
    """

    host: str
    seen_seconds_ago: float
    sessions: list[str]
    uncopied: list[str]


class HostForgetting:
    """Raises RekindleError."""

    def __init__(self, hosts: Hosts, placements: Placements) -> None:
        self._hosts = hosts
        self._placements = placements

    async def forget(self, *, host: str) -> ForgottenHost:
        """Take a host off the list, if it was not seen for long and has no session that somebody still needs."""
        known = {one.host: one for one in await asyncio.to_thread(self._hosts.everything)}
        if host not in known:
            raise UsageError(f"the fleet has no host {host!r}", "`rekindle fleet status` lists the hosts")
        silent = known[host].seen_seconds_ago
        if silent < FORGOTTEN_AFTER:
            raise _seen_lately(host, silent)
        every = await asyncio.to_thread(self._placements.everything)
        placed = [one for one in every if one.host == host]
        left = unended([_left(one) for one in placed])
        if left:
            raise _needed(host, left)
        if not await asyncio.to_thread(self._hosts.forget, host, FORGOTTEN_AFTER):
            raise _seen_lately(host, 0.0)
        late = [one.session.id for one in placed if (one.copied_at or 0.0) < one.session.changed_at]
        return ForgottenHost(host, silent, [one.session.id for one in placed], late)


def _left(one: Placement) -> LeftSession:
    session = one.session
    return LeftSession(session.id, word(session, alive=session.is_up), session.job)


def _seen_lately(host: str, seconds: float) -> UsageError:
    return UsageError(
        f"host {host} was seen {seconds:.0f} s ago",
        f"only a host that was not seen for {FORGOTTEN_AFTER / 60:.0f} minutes can be forgotten: it may come back",
    )


def _needed(host: str, left: list[LeftSession]) -> UsageError:
    named = ", ".join(f"{one.id} ({one.status})" for one in left[:_MOST])
    more = f" and {len(left) - _MOST} more" if len(left) > _MOST else ""
    commands = dict.fromkeys(one.command for one in left[:_MOST])
    return UsageError(
        f"host {host} has {'a session' if len(left) == 1 else 'sessions'} that nobody has taken over: {named}{more}",
        f"continue {'it' if len(left) == 1 else 'them'} on another host first: {'; '.join(commands)}",
        details={"sessions": [one.id for one in left]},
    )
