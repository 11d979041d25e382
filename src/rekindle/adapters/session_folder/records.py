"""The agents' records on this machine: the Records port on the vault, the follower and the agents' dialects."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rekindle import files
from rekindle.adapters.session_folder.layout import session_folder
from rekindle.adapters.session_folder.record_places import RecordPlaces
from rekindle.adapters.session_folder.spool_files import spools
from rekindle.adapters.session_folder.spools import heard_lines
from rekindle.adapters.vault import preflight, record_files
from rekindle.adapters.vault.follower import RESCAN_SECONDS, Follower
from rekindle.adapters.vault.vault import Vault, transcript
from rekindle.agents.base.acknowledged import Lacking, Spoken
from rekindle.agents.base.kind import AgentKind, DatabaseDialect
from rekindle.agents.base.transcript import Record, TranscriptDialect
from rekindle.core.session.state import Session
from rekindle.ports.errors import RekindleError
from rekindle.ports.records import Checked, RecordComparison, RecordsError

log = logging.getLogger(__name__)

_PATIENCE = 30.0
_MOMENT = 0.1


class VaultRecords:
    """See `rekindle.ports.records.Records`. `run` has to be kept running for the following to follow.

    `dialects` tells how an agent's record is read; None, or no entry, for an agent whose record nobody understands, or
    which keeps it in a database: `databases` tells how that is read.
    """

    def __init__(
        self,
        sessions: str,
        environment: Callable[[Session], Mapping[str, str]],
        dialects: Mapping[str, TranscriptDialect | None],
        databases: Mapping[str, DatabaseDialect] | None = None,
        *,
        clock: Callable[[], float] = time.time,
        rescan_seconds: float = RESCAN_SECONDS,
    ) -> None:
        self._sessions = sessions
        self._places = RecordPlaces(sessions, environment, dialects, databases or {})
        self._clock = clock
        self._follower = Follower(self._changed, rescan_seconds=rescan_seconds)
        self._locks: dict[str, threading.Lock] = {}
        self._open: dict[str, Vault] = {}
        self._followed: dict[str, str] = {}  # path -> session
        self._paths: dict[str, str] = {}  # session -> path
        self._told: set[tuple[str, str]] = set()

    @classmethod
    def of(
        cls, sessions: str, environment: Callable[[Session], Mapping[str, str]], kinds: Mapping[str, AgentKind]
    ) -> VaultRecords:
        """The records of all these agents."""
        dialects = {name: kind.transcript for name, kind in kinds.items()}
        databases = {name: kind.database for name, kind in kinds.items() if kind.database is not None}
        return cls(sessions, environment, dialects, databases)

    async def run(self) -> None:
        """Follow the registered records, forever."""
        await self._follower.run()

    def close(self) -> None:
        """Close every vault."""
        for session in {*self._open, *self._paths}:
            self.unfollow(session)

    def follow(self, session: Session, token: str) -> None:
        """Copy the agent's record as it grows."""
        path = self._places.place(session, token)
        if path is None or path in self._followed:
            return
        self.unfollow(session.id)
        self._followed[path] = session.id
        self._paths[session.id] = path
        self._follower.add(path)

    def unfollow(self, session: str) -> None:
        """Stop following."""
        path = self._paths.pop(session, None)
        if path is not None:
            del self._followed[path]
            self._follower.remove(path)
        lock = self._locks.setdefault(session, threading.Lock())
        if lock.acquire(timeout=_MOMENT):  # a longer holder closes the vault itself
            try:
                vault = self._open.pop(session, None)
                if vault is not None:
                    vault.close(durable=False)
            finally:
                lock.release()

    async def copy(self, session: Session) -> None:
        """Copy all that can be copied now."""
        await asyncio.to_thread(self._copy, session)

    async def check(self, session: Session, token: str) -> Checked:
        """The pre-flight: the agent's record is checked, repaired, or put back, before the agent opens it."""
        found = self._places.understood(session, token, thorough=True)
        if found is None:
            rows = await asyncio.to_thread(self._places.rows, session, token)
            note = f"the record of {session.agent} cannot be checked"
            return Checked("unsupported", notes=(note,), compactions=rows.compactions if rows is not None else 0)
        dialect, path = found

        def check() -> Checked:
            expected = self._acknowledged(session, token, dialect)
            with self._vault(session.id) as vault:
                preflight.put_aside(vault.folder, [one for one in self._places.shells(session, token) if one != path])
                return preflight.check(vault, dialect, path, token, self._clock, expected)

        return await asyncio.to_thread(check)

    async def foresee(self, session: Session, token: str) -> Checked:
        """What the pre-flight would find."""
        found = self._places.understood(session, token, thorough=True)
        if found is None:
            return await self.check(session, token)  # nothing is done about a record that nobody understands

        def foresee() -> Checked:
            expected = self._acknowledged(session, token, found[0])
            return preflight.foresee(self.folder(session.id), *found, expected)

        return await asyncio.to_thread(foresee)

    def checked(self, session: Session, token: str) -> Checked | None:
        """What the last check found."""
        return preflight.last_check(self.folder(session.id), token)

    async def compare(self, session: Session, token: str, before: Checked) -> RecordComparison:
        """Whether the record continues from what it was."""
        found = self._places.understood(session, token)
        if found is None:
            return RecordComparison(None, (), f"the record of {session.agent} cannot be read")
        dialect, path = found
        newest = session.attempt.number if session.attempt is not None else 0

        def compare() -> RecordComparison:
            expected = self._acknowledged(session, token, dialect, until=newest)
            return preflight.compare(self.folder(session.id), dialect, path, before, expected)

        return await asyncio.to_thread(compare)

    async def read(self, session: Session, token: str) -> Record | None:
        """The record as it is now."""
        found = self._places.understood(session, token)
        return await (
            asyncio.to_thread(record_files.read, *found)
            if found
            else asyncio.to_thread(self._places.rows, session, token)
        )

    async def lacking(self, session: Session, token: str) -> Lacking:
        """What the record lacks of what was said."""
        return await asyncio.to_thread(self._lacking, session, token)

    def folder(self, session: str) -> str:
        """Where a session's vault is."""
        return session_folder(self._sessions, session).vault

    def copied(self, path: str) -> int:
        """How much of a record that is followed is in its vault."""
        vault = self._open.get(self._followed.get(path, ""))
        return vault.copied(transcript(path)) if vault is not None else 0

    def _copy(self, session: Session) -> None:
        tokens = {(session.agent, session.token), *((one.agent, one.token) for one in session.attempts)}
        places = [self._places.place(session, token, agent, thorough=True) for agent, token in tokens if token]
        try:
            with self._vault(session.id) as vault:
                self._copy_spools(vault, session.id)
                for path in places:
                    if path is not None and not preflight.is_blocked(path):
                        vault.copy(transcript(path), thorough=True)
                vault.sync()
        except OSError as error:
            raise RecordsError(
                f"{session.id}: what was said could not be copied to the vault ({error.strerror})",
                "check room and permissions",
            ) from error

    def _changed(self, paths: list[str], thorough: bool) -> None:
        """In the follower's thread. A copy that fails now is tried again at the next look, and told once."""
        for path in paths:
            session = self._followed.get(path)
            if session is None:
                continue
            try:
                with self._vault(session, patience=0.0) as vault:
                    vault.copy(transcript(path), thorough=thorough)
                    if thorough:
                        self._copy_spools(vault, session)
                        vault.sync()
            except (OSError, RekindleError) as error:
                if (session, str(error)) not in self._told:
                    self._told.add((session, str(error)))
                    log.warning("%s: %s", session, error)

    def _copy_spools(self, vault: Vault, session: str) -> None:
        for source in spools(session_folder(self._sessions, session)):
            vault.copy(source)

    @contextmanager
    def _vault(self, session: str, *, patience: float = _PATIENCE) -> Iterator[Vault]:
        """The session's vault, for one at a time; it stays open while the session is followed."""
        with self._locks.setdefault(session, threading.Lock()):
            vault = self._open.get(session)
            if vault is None:
                vault = Vault(self.folder(session), session, self._clock, patience=patience)
            self._open[session] = vault
            try:
                yield vault
            finally:
                if session not in self._paths:
                    self._open.pop(session).close()

    def _lacking(self, session: Session, token: str) -> Lacking:
        found = self._places.understood(session, token, thorough=True)
        if found is None:
            return Lacking()
        dialect, path = found
        expected = self._acknowledged(session, token, dialect)
        try:
            return dialect.lacks(files.read(path), expected, frozenset()) if expected else Lacking()
        except OSError as error:
            raise RecordsError(f"{path}: cannot be read ({error.strerror})", "check its permissions") from error

    def _acknowledged(
        self, session: Session, token: str, dialect: TranscriptDialect, *, until: int | None = None
    ) -> tuple[Spoken, ...]:
        """What the agent reported of this conversation in attempts before `until`, without those of other agents."""
        own = [one for one in session.attempts if one.token == token and one.agent in ("", session.agent)]
        folder = session_folder(self._sessions, session.id)
        numbers = [one.number for one in own if until is None or one.number < until]
        return dialect.acknowledged(heard_lines(folder.attempt(one)) for one in numbers)
