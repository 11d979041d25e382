"""Searches all conversations. Secrets in the results are masked. Needs no daemon."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import msgspec

from rekindle.app.session_list import SessionList
from rekindle.core.masking import Masker
from rekindle.core.search import Hit, expression
from rekindle.ports.kept_sessions import KeptSessions
from rekindle.ports.search import ConversationIndex, SearchOrder


class SearchRequest(msgspec.Struct, frozen=True):
    """What to search for, in all sessions or in some. `session` may be the beginning of an id."""

    query: str
    session: str | None = None
    agent: str | None = None
    limit: int = 20
    order: SearchOrder = "best"


class FoundHit(msgspec.Struct, frozen=True):
    """A place where it was said, with the session's title and agent."""

    hit: Hit
    title: str
    agent: str


class Searching:
    """`masker` makes the masker for a session's texts."""

    def __init__(
        self,
        sessions: SessionList,
        kept: KeptSessions,
        index: ConversationIndex,
        masker: Callable[[str], Masker],
    ) -> None:
        self._sessions = sessions
        self._kept = kept
        self._index = index
        self._masker = masker

    def search(self, asked: SearchRequest) -> list[FoundHit]:
        """The results, the best or the newest first."""
        only = None
        if asked.session is not None:
            only = self._sessions.own_row(asked.session, "what was said is searched there")["id"]
        rows = {row["id"]: row for row in self._sessions.rows()}
        chosen = None
        if only is not None or asked.agent is not None:
            agent = asked.agent
            chosen = [row["id"] for row in rows.values() if only in (None, row["id"]) and agent in (None, row["agent"])]
        wanted = expression(asked.query)
        if wanted is None or not self._kept.has_folders():
            return []
        hits = self._index.search(wanted, time.time_ns(), sessions=chosen, limit=asked.limit, order=asked.order)
        return [self._about(one, rows.get(one.session)) for one in hits]

    def _about(self, hit: Hit, row: Mapping[str, str] | None) -> FoundHit:
        """A title is the beginning of a prompt, so it can hold a secret like any prompt."""
        if row is None:
            return FoundHit(hit, "", "")
        return FoundHit(hit, self._masker(hit.session).text(str(row["title"])), row["agent"])


def masker_of(environment: Mapping[str, str], kept: KeptSessions) -> Callable[[str], Masker]:
    """Masks the secrets in this user's environment now, and in a session's when it was started; empty: no session."""
    here = dict(environment)

    def make(session: str) -> Masker:
        return Masker({**here, **((kept.environment(session) if session else None) or {})})

    return make
