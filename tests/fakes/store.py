"""A store in memory that keeps the promises of the port; held to them by the conformance suite."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rekindle.adapters.sql_store.codec import decode_fact, decode_session, encode, encode_data, encode_fact
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.state import Session
from rekindle.ports.store import OutboxEntry, Recorded, StaleGeneration


@dataclass
class Content:
    """What is in the store. A commit works on a copy that takes its place at the end."""

    facts: list[tuple[int, str, str]] = field(default_factory=list)
    sessions: dict[str, tuple[int, str]] = field(default_factory=dict)
    offsets: dict[str, dict[str, int]] = field(default_factory=dict)
    outbox: dict[str, tuple[OutboxEntry, str]] = field(default_factory=dict)
    settled: set[str] = field(default_factory=set)

    def copy(self) -> Content:
        return Content(
            list(self.facts),
            dict(self.sessions),
            {session: dict(names) for session, names in self.offsets.items()},
            dict(self.outbox),
            set(self.settled),
        )


class FakeStore:
    """Text in lists. Two fakes over the same `Disk` are two connections to one store."""

    def __init__(self, disk: Disk | None = None) -> None:
        self._disk = disk or Disk()

    def point(self, name: str) -> None:
        """Where a test may crash the writer."""

    def commit(
        self,
        session: Session,
        facts: Sequence[AnyFact],
        *,
        generation: int,
        outbox: Sequence[OutboxEntry] = (),
        offsets: Mapping[str, int] | None = None,
    ) -> int:
        self.point("before commit")
        bodies = [encode_fact(fact) for fact in facts]
        entries = [(entry, encode_data(entry.data)) for entry in outbox]
        content = self._disk.content.copy()
        stored, _ = content.sessions.get(session.id, (0, ""))
        if generation < stored:
            raise StaleGeneration(f"Session {session.id} is at generation {stored}; this writer has {generation}.")
        content.sessions[session.id] = (max(stored, generation, session.generation), encode(session))
        content.facts += [(len(content.facts) + n, session.id, body) for n, body in enumerate(bodies, 1)]
        names = content.offsets.setdefault(session.id, {})
        for name, read in (offsets or {}).items():
            names[name] = read
        for entry, data in entries:
            content.outbox.setdefault(entry.id, (entry, data))
        self._disk.content = content
        self.point("after commit")
        return content.facts[-1][0] if content.facts else 0

    def session(self, session: str) -> Session | None:
        found = self._disk.content.sessions.get(session)
        return None if found is None else decode_session(found[1])

    def sessions(self) -> list[Session]:
        found = [decode_session(body) for _, body in self._disk.content.sessions.values()]
        return sorted(found, key=lambda one: (one.created_at, one.id))

    def named(self, prefix: str) -> list[str]:
        return sorted(name for name in self._disk.content.sessions if name.startswith(prefix))

    def facts(self, session: str | None = None, *, after: int = 0, limit: int = 1000) -> list[Recorded]:
        found = [
            Recorded(seq, owner, decode_fact(body))
            for seq, owner, body in self._disk.content.facts
            if seq > after and session in (None, owner)
        ]
        return found[:limit]

    def offsets(self, session: str) -> dict[str, int]:
        return dict(self._disk.content.offsets.get(session, {}))

    def outbox(self, limit: int = 100) -> list[OutboxEntry]:
        content = self._disk.content
        found = [pair for name, pair in content.outbox.items() if name not in content.settled]
        return [replace(entry, data=json.loads(data)) for entry, data in found[:limit]]

    def settle(self, ids: Sequence[str]) -> None:
        self._disk.content.settled.update(ids)

    def close(self) -> None:
        pass


@dataclass
class Disk:
    """What outlives a store object."""

    content: Content = field(default_factory=Content)
