"""Agents' records in memory: what is in `lying` is what the agents have written, by token.

What is in `told` they have told us, by attempt. The conformance suite holds it to the promises of the port.
"""

from __future__ import annotations

import hashlib

from rekindle.agents.base.acknowledged import Lacking, Spoken
from rekindle.agents.base.preflight import decide
from rekindle.agents.base.transcript import Record, TranscriptDialect, extends
from rekindle.core.session.state import Session
from rekindle.ports.records import Checked, RecordComparison, RecordsError


class FakeRecords:
    """See `rekindle.ports.records.Records`. `dialect` None is an agent whose record nobody understands."""

    def __init__(self, dialect: TranscriptDialect | None = None) -> None:
        self.dialect = dialect
        self.lying: dict[str, bytes] = {}
        self.copied: dict[str, list[bytes]] = {}
        self.told: dict[int, bytes] = {}
        self.followed: dict[str, str] = {}
        self._checked: dict[str, Checked] = {}

    def follow(self, session: Session, token: str) -> None:
        if self.dialect is not None:
            self.followed[session.id] = token

    def unfollow(self, session: str) -> None:
        self.followed.pop(session, None)

    def grow(self) -> None:
        """Copy what is followed, as it is by now."""
        for token in self.followed.values():
            self._copy(token)

    async def copy(self, session: Session) -> None:
        for token in {session.token, *(attempt.token for attempt in session.attempts)}:
            if token is not None:
                self._copy(token)

    async def foresee(self, session: Session, token: str) -> Checked:
        there = FakeRecords(self.dialect)
        there.lying, there.told = dict(self.lying), self.told
        there.copied = {name: list(found) for name, found in self.copied.items()}
        return await there.check(session, token)

    async def check(self, session: Session, token: str) -> Checked:
        if self.dialect is None:
            return Checked("unsupported", notes=("nobody understands this record",))
        self._copy(token)
        current = self.lying.get(token)
        expected = self._acknowledged(session, token)
        decision = decide(self.dialect, current, self.copied.get(token, [])[::-1], expected)
        if decision.data is not None:
            self.lying[token] = decision.data
            self._copy(token)
        lies = self.lying.get(token, b"")
        self._checked[token] = Checked(
            decision.state,
            tuple(decision.record.prompts),
            len(decision.record.entries),
            decision.notes,
            f"kept/{token}" if decision.data is not None and current is not None else None,
            len(lies),
            hashlib.sha256(lies).hexdigest(),
            decision.record.compactions,
            decision.lacks,
        )
        return self._checked[token]

    def checked(self, session: Session, token: str) -> Checked | None:
        return self._checked.get(token)

    async def compare(self, session: Session, token: str, before: Checked) -> RecordComparison:
        current = self.lying.get(token)
        prompts = tuple(self.dialect.read(current or b"").prompts) if self.dialect is not None else ()
        if self.dialect is None or before.state in ("missing", "unsupported"):
            return RecordComparison(None, prompts, "there was no record to go on from")
        if current is None:
            return RecordComparison(False, (), "the record is gone")
        if hashlib.sha256(current).hexdigest() == before.digest:
            return RecordComparison(None, prompts, "nothing was added")
        older = next(
            copy[: before.size]
            for copy in self.copied[token]
            if hashlib.sha256(copy[: before.size]).hexdigest() == before.digest
        )
        if not extends(self.dialect.read(older), self.dialect.read(current)):
            return RecordComparison(False, prompts, "the record lacks something that it had")
        expected = self._acknowledged(session, token, until=len(session.attempts))
        lacks = self.dialect.lacks(current, expected, self.dialect.written(older)).words
        return RecordComparison(True, prompts, "compared line by line", lacks)

    async def read(self, session: Session, token: str) -> Record | None:
        return self.dialect.read(self.lying.get(token, b"")) if self.dialect is not None else None

    async def lacking(self, session: Session, token: str) -> Lacking:
        expected = self._acknowledged(session, token)
        if self.dialect is None or not expected:
            return Lacking()
        if token not in self.lying:
            raise RecordsError("the record cannot be read")
        return self.dialect.lacks(self.lying[token], expected, frozenset())

    def _acknowledged(self, session: Session, token: str, until: int | None = None) -> tuple[Spoken, ...]:
        numbers = [one.number for one in session.attempts if one.token == token]
        told = [self.told.get(number, b"") for number in numbers if until is None or number < until]
        return self.dialect.acknowledged(one.split(b"\n") for one in told) if self.dialect is not None else ()

    def _copy(self, token: str) -> None:
        data = self.lying.get(token)
        editions = self.copied.setdefault(token, [])
        if data is None:
            return
        if editions and data.startswith(editions[-1]):
            editions[-1] = data
        else:
            editions.append(data)
