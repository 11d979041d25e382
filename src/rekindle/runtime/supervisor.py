"""The registry of attendants: one for each session that needs attention.

Startup is not a special case: every session that may have an agent is resumed from where its facts and its keeper say
it is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from rekindle.agents.base.kind import AgentKind
from rekindle.core.governor.places import sleeps_for_others
from rekindle.core.governor.room import MachineReading
from rekindle.core.governor.rules import UNLIMITED, GovernorRules
from rekindle.core.session import facts as f
from rekindle.core.session.state import OURS, Session
from rekindle.ports.errors import RekindleError
from rekindle.ports.keepers import Keepers
from rekindle.ports.notes import ContextNotes
from rekindle.ports.records import Records
from rekindle.ports.store import DamagedStore, StaleGeneration, StoreError
from rekindle.ports.workplace import Workplace
from rekindle.runtime.attendant import Attendant
from rekindle.runtime.comeback import Comeback
from rekindle.runtime.engine import Decision, Engine
from rekindle.runtime.governing import Governing
from rekindle.runtime.hearing import Attendance
from rekindle.runtime.launching import Launcher
from rekindle.runtime.leases import Leases

log = logging.getLogger(__name__)

#: The generation of a session that another host has; None if none has it.
Elsewhere = Callable[[str], Awaitable[int | None]]
#: How long an agent must be silent before all it remembers counts as shown.
SETTLE_SECONDS = 0.25
#: How long to wait before retrying what failed.
PAUSE_SECONDS = 1.0
_AT_ONCE = 16


class Supervisor:
    """Owns every agent of one store."""

    def __init__(
        self,
        engine: Engine,
        keepers: Keepers,
        workplace: Workplace,
        kinds: Mapping[str, AgentKind],
        records: Records,
        *,
        settle_seconds: float = SETTLE_SECONDS,
        pause_seconds: float = PAUSE_SECONDS,
        governor_rules: Callable[[], GovernorRules] = lambda: UNLIMITED,
        load: Callable[[], MachineReading | None] = lambda: None,
        notes: ContextNotes | None = None,
        elsewhere: Elsewhere | None = None,
        leases: Leases | None = None,
    ) -> None:
        """`elsewhere`: other hosts use the same store, and may take one session over without taking them all.

        `leases`: agents of the fleet's jobs live on this host only as long as its engine lets them.
        """
        self._elsewhere = elsewhere
        self.engine = engine
        self._keepers = keepers
        comeback = Comeback(records, workplace, kinds, notes)
        launcher = Launcher(engine, keepers, workplace, kinds, comeback, leases)
        barred = leases.barred if leases is not None else lambda _session: ""
        self.governing = Governing(
            engine.store, engine.clock, engine.at_hand, governor_rules, steady=engine.steady, load=load, barred=barred
        )
        self.governing.placing.put_to_sleep = self._put_to_sleep
        engine.listeners.append(self.governing.listen)
        self._house = Attendance(
            engine, keepers, workplace, records, comeback, launcher, settle_seconds, pause_seconds, self.governing
        )
        #: called with a session whose agent has said something
        self.heard = self._house.heard
        self._attendants: dict[str, Attendant] = {}
        self._began = 0.0
        #: handled in the background: sessions without an agent that may need one started
        self._rest: list[asyncio.Future[None]] = []
        #: a newer daemon serves this store: this one has to leave
        self.superseded = asyncio.Event()
        #: one of our tasks ended unexpectedly: what this supervisor leaves undone is unknown
        self.broken = asyncio.Event()
        self.fault: BaseException | None = None

    async def start(self) -> None:
        """Take up every session that has or had an agent. A bad one does not hold up the others.

        Everything else that is due (perhaps hundreds of agents to start) comes afterwards: `settled` waits for it. No
        agent is started before it is known which sessions were interrupted: the most urgent comes first.
        """
        self.governing.placing.hold()
        await self.engine.open()
        self._began = self.engine.clock()
        running = await self._recover()
        limit, sessions = asyncio.Semaphore(_AT_ONCE), self.engine.at_hand()
        await asyncio.gather(*(self._take_up(one, limit) for one in sessions if one.is_up))
        up = [(one.id, one.attempt.number) for one in self.engine.at_hand() if one.is_up and one.attempt is not None]
        gone = [one for one in up if one not in running]
        while not self._is_over() and any(
            self._is_up(name, number) and not self.is_alive(name) for name, number in gone
        ):
            await asyncio.sleep(0.01)  # how they ended is on disk; the first request may ask about them
        self.governing.placing.let_go()
        self._rest = [asyncio.ensure_future(self._take_up_beside(one, limit)) for one in sessions if not one.is_up]

    async def settled(self) -> None:
        """Wait until everything due at startup has been started."""
        await asyncio.gather(*self._rest)

    async def _put_to_sleep(self, session: str) -> None:
        """An agent that has nothing to do makes room for one that has."""
        asleep = f.StopAsked(at=self.engine.clock(), by=OURS, to="asleep")
        await self.decide(session, lambda now: [asleep] if sleeps_for_others(now) else [])

    async def _take_up(self, session: Session, limit: asyncio.Semaphore) -> None:
        async with limit:
            try:
                if session.is_up:
                    adopted = f.Adopted(at=self.engine.clock(), generation=session.generation + 1)
                    await self.engine.record(session.id, adopted)
                if self.engine.in_memory(session.id) is not None:  # else somebody else has handled it meanwhile
                    await self.advance(session.id)
            except StaleGeneration as error:
                self._failed(session.id, error)
            except DamagedStore:
                raise
            except StoreError:  # a disk that does not work now may work in a moment
                log.exception("%s could not be taken up; trying again", session.id)
                self._attendant(session.id).background(self._take_up_later(session.id, limit))
            except RekindleError as error:
                await self._notice(session.id, error.message)
            except Exception as error:  # whatever it is, the other sessions must not suffer
                log.exception("%s could not be taken up", session.id)
                await self._notice(session.id, f"it could not be taken up ({type(error).__name__}: {error})")

    async def _take_up_beside(self, session: Session, limit: asyncio.Semaphore) -> None:
        try:
            await self._take_up(session, limit)
        except Exception as error:  # nobody waits for this: as with an attendant's own tasks
            log.exception("%s could not be taken up", session.id)
            self._failed(session.id, error)

    async def _notice(self, session: str, message: str) -> None:
        await self.engine.record(session, f.Noticed(at=self.engine.clock(), message=message))

    async def _take_up_later(self, session: str, limit: asyncio.Semaphore) -> None:
        await asyncio.sleep(self._house.pause_seconds)
        await self._take_up(self.engine.session(session), limit)

    async def _recover(self) -> set[tuple[str, int]]:
        """The attempts that have a live agent. Agents that no session knows are reported and left alone."""
        instances = self._keepers.recover_instances()  # no requests are served yet, so nobody is held up
        known = {session.id for session in self.engine.at_hand()}
        for one in instances:
            if one.session not in known and one.session not in await self.engine.named(one.session):
                log.warning("an agent runs that no session knows of: %s, pid %s", one.session, one.pid)
                await self._end_here(one.session, one.attempt)
            elif one.state == "alive" and one.pid is not None and not one.answers:
                log.warning("the keeper of %s, attempt %s, does not answer", one.session, one.attempt)
        return {(one.session, one.attempt) for one in instances if one.state == "alive"}

    async def close(self) -> None:
        """Release everything. Agents keep working in their keepers."""
        for task in self._rest:
            task.cancel()
        await asyncio.gather(*self._rest, return_exceptions=True)
        await self.governing.placing.close()
        for attendant in list(self._attendants.values()):
            await attendant.close()
        await self.engine.close()

    def is_alive(self, session: str) -> bool:
        """Whether the session's agent is alive: its keeper's lock is held. A session with an agent is in memory."""
        found = self.engine.in_memory(session)
        attempt = found.attempt if found is not None else None
        return attempt is not None and self._keepers.look(session, attempt.number) == "alive"

    def is_followed(self, session: str) -> bool:
        """Whether the session's agent is alive and we speak for it."""
        found = self._attendants.get(session)
        return found is not None and found.talk is not None

    def is_launching(self, session: str) -> bool:
        """Whether the session's agent is being started right now: its keeper has no lock yet."""
        found, attendant = self.engine.in_memory(session), self._attendants.get(session)
        attempt = found.attempt if found is not None else None
        is_new = attempt is not None and attempt.status == "launching"
        return is_new and attendant is not None and attendant.is_acting

    def has_just_died(self, session: Session) -> bool:
        """Whether its agent is gone, and that is not recorded yet. One that is being started is not gone."""
        return session.is_up and not self.is_alive(session.id) and not self.is_launching(session.id)

    def seen_seconds_ago(self, session: str) -> float | None:
        """How long ago the keeper of an unfollowed session answered or wrote; None if it has no keeper.

        A keeper that we have just begun to look for may still answer, so the time counts from then at the earliest.
        """
        if self.is_launching(session):
            return 0.0
        found = self.engine.in_memory(session)
        attempt = found.attempt if found is not None else None
        if attempt is None or not self.is_alive(session):
            return None
        wrote = self._keepers.heard_at(session, attempt.number) or 0.0
        return max(0.0, self.engine.clock() - max(wrote, self._began, attempt.opened_at))

    def silent_seconds(self, session: str) -> float:
        """How long the session's agent has been silent when it should not be."""
        found = self._attendants.get(session)
        talk = found.talk if found is not None else None
        return talk.silent_seconds() if talk is not None else 0.0

    def forgive_silence(self) -> None:
        """Restart every agent's silence from now."""
        for attendant in self._attendants.values():
            if attendant.talk is not None:
                attendant.talk.forgive_silence()

    def _is_over(self) -> bool:
        return self.broken.is_set() or self.superseded.is_set()

    def _is_up(self, session: str, number: int) -> bool:
        """Whether this very attempt is up, as far as we know, and is being followed."""
        found = self.engine.in_memory(session)
        attempt = found.attempt if found is not None else None
        is_it = attempt is not None and attempt.number == number and attempt.status != "gone"
        return is_it and self.is_followed(session)

    async def settle_doubts(self) -> None:
        """Handle what was recorded although the caller was told that it was not. Raises RekindleError."""
        for session in await self.engine.settle_doubts():
            await self.advance(session)

    async def listen(self, session: str) -> None:
        """Check what the silence of an agent in a terminal, and its own record, mean by now."""
        found = self._attendants.get(session)
        if found is not None:
            await found.listen()

    async def record(self, session: str, *facts: f.AnyFact) -> Session:
        """Record facts from outside and carry out what follows from them."""
        return await self._attendant(session).record(*facts)

    async def decide(self, session: str, decision: Decision) -> Session:
        """The same, with facts decided from the session's state when its turn comes: see `Engine.decide`."""
        return await self._attendant(session).decide(decision)

    async def decide_quietly(self, session: str, decision: Decision) -> Session:
        """The same, while nothing is said to its agent: see `Attendant.decide_quietly`."""
        return await self._attendant(session).decide_quietly(decision)

    async def advance(self, session: str) -> None:
        """Carry out what is due about a session in memory."""
        await self._attendant(session).advance()

    def release(self) -> None:
        """Drop sessions that need no attention from memory: they are read again on demand."""
        for session in self.engine.at_hand():
            attendant = self._attendants.get(session.id)
            if attendant is None or attendant.is_idle:
                self.engine.forget(session.id)
        known = {session.id for session in self.engine.at_hand()}
        self._attendants = {name: one for name, one in self._attendants.items() if name in known or not one.is_idle}

    def _attendant(self, session: str) -> Attendant:
        if session not in self._attendants:
            self._attendants[session] = Attendant(session, self._house, partial(self._failed, session))
        return self._attendants[session]

    async def give_up(self, session: str) -> None:
        """Another host has the session: end what still runs of it here, and forget it. Its files stay."""
        found, attendant = self.engine.in_memory(session), self._attendants.pop(session, None)
        if attendant is not None:
            await attendant.close()
        self.engine.let_go(session)
        if found is not None and found.attempt is not None:
            log.warning("%s was taken over by another host; its agent here is ended, its files stay", session)
            await self._end_here(session, found.attempt.number)

    async def _end_here(self, session: str, attempt: int) -> None:
        """End an agent whose session another host has. Its keeper is told of the generation that counts there."""
        try:
            generation = await self._elsewhere(session) if self._elsewhere is not None else None
            if generation is None:
                return
            await self._keepers.connect(session, attempt, generation)
            await self._keepers.end(session, attempt, "another host has taken the session over")
        except (RekindleError, OSError) as error:
            log.warning("%s: its agent could not be ended: %s", session, error)

    def _failed(self, session: str, failure: BaseException) -> None:
        if isinstance(failure, StaleGeneration) and self._elsewhere is not None:
            self._rest.append(asyncio.ensure_future(self.give_up(session)))
        elif isinstance(failure, StaleGeneration):
            self.superseded.set()
        else:
            self.fault = self.fault or failure
            self.broken.set()
