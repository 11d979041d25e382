"""Sessions as lists show them: from the daemon or, while none answers, from the store and the keepers' locks.

Changes nothing, and starts no daemon, except on a host of a fleet, whose store is elsewhere. An agent learns no more
here than the daemon would tell it. Light standard library only, except for one session in full.
"""

from __future__ import annotations

import json
import time

from rekindle.app.session_names import meant
from rekindle.core.inside import harmless
from rekindle.ports.daemon import DaemonSilent, NoDaemon

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rekindle.ports.ancestry import Ancestry
    from rekindle.ports.daemon import Daemon
    from rekindle.ports.kept_sessions import KeptSessions

    #: A session in short, with the keys of `rekindle.core.session.listing.Listed` and the columns of the store.
    Row = dict[str, Any]

#: What is missing in rows that an earlier version wrote: the next daemon rebuilds them.
_UNTOLD = dict.fromkeys(
    ("repository", "branch", "task", "turn_since", "usage", "receipt", "receipt_may_change", "context")
)
_COLUMNS = ("id", "agent", "state", "title", "cwd", "feature", "changed_at")


class SessionList:
    """The user's sessions, as far as they can be read now."""

    def __init__(
        self, daemon: Daemon, kept: KeptSessions, ancestry: Ancestry, is_shared: Callable[[], bool] = lambda: False
    ) -> None:
        """`is_shared`: hosts of a fleet share the store, which only a daemon can read."""
        self._daemon = daemon
        self._is_shared = is_shared
        self._kept = kept
        self._ancestry = ancestry
        #: what spans sessions, as the daemon told with the last list; None: there was no daemon
        self.governor: Row | None = None
        #: the name of this host in its fleet, as the daemon told with the last list; empty: there is no fleet
        self.host = ""

    def listed(self) -> tuple[list[Row], str]:
        """All sessions, and a sentence if a daemon runs but does not answer; else empty."""
        if self._daemon.is_served():
            try:
                return self._told(self._daemon.ask("list", start=False)), ""
            except NoDaemon:
                if not self._is_shared():
                    return self.offline(), ""  # it is about to come or to go
            except DaemonSilent as error:
                if self._is_shared():
                    raise
                told = f"{error.message}. This list is from the store, as it was last written ({error.hint})"
                return self.offline(), told
        if self._is_shared():
            return self._told(self._daemon.ask("list")), ""
        return self.offline(), ""

    def rows(self) -> list[Row]:
        """All sessions."""
        return self.listed()[0]

    def meant(self, prefix: str) -> str:
        """The session that an id, or the beginning of one, means. Raises NoSuchSession."""
        return meant([row["id"] for row in self.rows()], prefix)

    def row(self, prefix: str) -> Row:
        """The same, with its list entry."""
        found = {row["id"]: row for row in self.rows()}
        return found[meant(found, prefix)]

    def own_row(self, prefix: str, what: str) -> Row:
        """The same, for what can be done on the session's own host only. Raises PlacedElsewhere."""
        found = self.row(prefix)
        host = found.get("host") or self.host
        if host != self.host:
            from rekindle.ports.placements import on_its_host

            raise on_its_host(found["id"], host, what)
        return found

    def elsewhere(self) -> list[Row]:
        """The sessions that other hosts of the fleet have; none on one machine, without a look at anything."""
        if not self._is_shared():
            return []
        return [row for row in self.rows() if (row.get("host") or self.host) != self.host]

    def _told(self, found: Row) -> list[Row]:
        self.governor, self.host = found.get("governor"), found.get("host") or ""
        return list(found["sessions"])

    def offline(self) -> list[Row]:
        """All sessions from the store alone. An agent whose lock is held is alive, whatever the store says."""
        found = []
        for row in self._kept.rows():
            alive = self._kept.is_alive(row["id"])
            shown = {key: row[key] for key in _COLUMNS}
            listed = json.loads(row["if_dead"])
            listed = {**_UNTOLD, **listed, **(json.loads(row["if_alive"]) if alive else {})}
            tokens = listed.pop("tokens", 0)
            listed["usage"] = {**listed["usage"], "tokens": tokens} if listed["usage"] is not None else None
            until = listed["waits_until"]
            listed["waits_until"] = until if alive and until is not None and until > time.time() else None
            found.append({**shown, **listed})
        return [harmless(row) for row in found] if found and self._ancestry.is_inside() else found

    def shown(self, prefix: str) -> Row:
        """One session in full, from the daemon or, while none runs, from the store. Starts nothing."""
        if self._daemon.is_served():
            try:
                return self._daemon.ask("show", start=False, session=prefix)
            except NoDaemon:
                pass  # it is about to come or to go
        if self._is_shared():
            return self._daemon.ask("show", session=prefix)
        return self._shown_offline(prefix)

    def _shown_offline(self, prefix: str) -> Row:
        import msgspec

        from rekindle.app.session_view import WholeSession, find, more, shown
        from rekindle.core.session.state import Session
        from rekindle.core.session.status import presumed_dead

        session = find((msgspec.json.decode(body, type=Session) for body in self._kept.bodies()), prefix)
        alive = self._kept.is_alive(session.id)
        session = session if alive else presumed_dead(session)
        about = shown(session, time.time(), alive=alive, seen_seconds_ago=None, served=False)
        return dict(msgspec.to_builtins(more(WholeSession, about, session=session)))
