"""The registry of attendants: one for each session that needs somebody.

Starting up is nothing special: every session that may have an agent is taken up where its facts and its keeper say that
it is.
"""

from __future__ import annotations

import asyncio
import logging

from rekindle.agents.base.kind import AgentKind
from rekindle.core.session import facts as f
from rekindle.core.session.state import Session
from rekindle.ports.errors import RekindleError
from rekindle.ports.keepers import Keepers
from rekindle.ports.records import Records
from rekindle.ports.store import StaleGeneration
from rekindle.ports.workplace import Workplace
from rekindle.runtime.attendant import Attendant
from rekindle.runtime.comeback import Comeback
from rekindle.runtime.engine import Decision, Engine
from rekindle.runtime.hearing import Attendance
from rekindle.runtime.launching import Launcher

log = logging.getLogger(__name__)

#: How long an agent must be silent to have shown all that it remembers.
SETTLE_SECONDS = 0.25
#: How long to wait before something is tried again that could not be done.
PAUSE_SECONDS = 1.0
_AT_ONCE = 16


class Supervisor:
    """Owns every agent of one store."""

    def __init__(
        self,
        engine: Engine,
        keepers: Keepers,
        workplace: Workplace,
        kinds: dict[str, AgentKind],
        records: Records,
        *,
        settle_seconds: float = SETTLE_SECONDS,
        pause_seconds: float = PAUSE_SECONDS,
    ) -> None:
        self.engine = engine
        self._keepers = keepers
        comeback = Comeback(records, workplace, kinds)
        launcher = Launcher(engine, keepers, workplace, kinds, comeback)
        self._house = Attendance(engine, keepers, workplace, records, comeback, launcher, settle_seconds, pause_seconds)
        self._attendants: dict[str, Attendant] = {}
        #: a newer daemon serves this store: this one has to leave
        self.superseded = asyncio.Event()
        #: a task of ours ended that should not have: nobody knows what this supervisor leaves undone
        self.broken = asyncio.Event()
        self.fault: BaseException | None = None

    async def start(self) -> None:
        """Take up every session that may have an agent, and see to what is due. A bad one holds nobody up."""
        await self.engine.open()
        limit = asyncio.Semaphore(_AT_ONCE)

        async def take_up(session: Session) -> None:
            async with limit:
                try:
                    if session.is_up:
                        adopted = f.Adopted(at=self.engine.clock(), generation=session.generation + 1)
                        await self.engine.record(session.id, adopted)
                    await self.advance(session.id)
                except StaleGeneration:
                    self.superseded.set()
                except RekindleError as error:
                    await self.engine.record(session.id, f.Noticed(at=self.engine.clock(), message=error.message))
                except Exception as error:  # whatever it is, the other sessions have done nothing
                    log.exception("%s could not be taken up", session.id)
                    message = f"it could not be taken up ({type(error).__name__}: {error})"
                    await self.engine.record(session.id, f.Noticed(at=self.engine.clock(), message=message))

        await asyncio.gather(*(take_up(session) for session in self.engine.at_hand()))
        up = [(one.id, one.attempt.number) for one in self.engine.at_hand() if one.is_up and one.attempt is not None]
        gone = [(name, number) for name, number in up if not self.is_alive(name)]
        while not self._is_over() and any(self._is_up(name, number) for name, number in gone):
            await asyncio.sleep(0.01)  # how they ended is on disk; the first question may be about them

    async def close(self) -> None:
        """Let go of everything. Agents go on in their keepers."""
        for attendant in list(self._attendants.values()):
            await attendant.close()
        await self.engine.close()

    def is_alive(self, session: str) -> bool:
        """Whether the session's agent lives: its keeper's lock is held. Who has one is in memory."""
        found = self.engine.in_memory(session)
        attempt = found.attempt if found is not None else None
        return attempt is not None and self._keepers.look(session, attempt.number) == "alive"

    def is_followed(self, session: str) -> bool:
        """Whether the session's agent is alive and we speak for it."""
        found = self._attendants.get(session)
        return found is not None and found.talk is not None

    def is_launching(self, session: str) -> bool:
        """Whether the session's agent is being started just now: its keeper has no lock yet."""
        found, attendant = self.engine.in_memory(session), self._attendants.get(session)
        attempt = found.attempt if found is not None else None
        is_new = attempt is not None and attempt.status == "launching"
        return is_new and attendant is not None and attendant.is_acting

    def silent_seconds(self, session: str) -> float:
        """How long the session's agent has said nothing, as far as it should have."""
        found = self._attendants.get(session)
        talk = found.talk if found is not None else None
        return talk.silent_seconds(self.engine.clock()) if talk is not None else 0.0

    def forgive_silence(self) -> None:
        """Count every agent's silence from now on."""
        for attendant in self._attendants.values():
            if attendant.talk is not None:
                attendant.talk.forgive_silence(self.engine.clock())

    def _is_over(self) -> bool:
        return self.broken.is_set() or self.superseded.is_set()

    def _is_up(self, session: str, number: int) -> bool:
        """Whether this very attempt is up, as far as we have heard, and somebody listens to it."""
        found = self.engine.in_memory(session)
        attempt = found.attempt if found is not None else None
        is_it = attempt is not None and attempt.number == number and attempt.status != "gone"
        return is_it and self.is_followed(session)

    async def listen(self, session: str) -> None:
        """See what the silence of an agent in a terminal, and its own record, say by now."""
        found = self._attendants.get(session)
        if found is not None:
            await found.listen()

    async def record(self, session: str, *facts: f.AnyFact) -> Session:
        """Take in facts from outside and do what follows from them."""
        return await self._attendant(session).record(*facts)

    async def decide(self, session: str, decision: Decision) -> Session:
        """The same, with what follows from how the session is when its turn comes: see `Engine.decide`."""
        return await self._attendant(session).decide(decision)

    async def advance(self, session: str) -> None:
        """Carry out what is due about a session in memory."""
        await self._attendant(session).advance()

    def release(self) -> None:
        """Let go of sessions that need nobody: they are read again when they are asked for."""
        for session in self.engine.at_hand():
            attendant = self._attendants.get(session.id)
            if attendant is None or attendant.is_idle:
                self.engine.forget(session.id)
        known = {session.id for session in self.engine.at_hand()}
        self._attendants = {name: one for name, one in self._attendants.items() if name in known or not one.is_idle}

    def _attendant(self, session: str) -> Attendant:
        if session not in self._attendants:
            self._attendants[session] = Attendant(session, self._house, self._failed)
        return self._attendants[session]

    def _failed(self, failure: BaseException) -> None:
        if isinstance(failure, StaleGeneration):
            self.superseded.set()
        else:
            self.fault = self.fault or failure
            self.broken.set()
