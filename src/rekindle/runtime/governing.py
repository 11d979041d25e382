"""The governor at work: hears what happens to sessions, decides what they may do automatically, and asks people.

Its state is folded from facts in a stream of its own, as a session's is. What it waits for is in the state and in the
sessions, so no timer is lost with the daemon: whoever was not allowed to do something asks again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import tzinfo
from typing import Final

from rekindle.core.effects import Effect
from rekindle.core.governor import facts as g
from rekindle.core.governor.admission import Admission, AutomaticStep, admission, next_step, waiting_for, wanted
from rekindle.core.governor.asking import due, taken
from rekindle.core.governor.hearing import KINDS, heard
from rekindle.core.governor.machine import evolve, newest
from rekindle.core.governor.room import MachineReading
from rekindle.core.governor.rules import UNLIMITED, GovernorRules
from rekindle.core.governor.state import SUBJECT, Governor
from rekindle.core.session.state import Session
from rekindle.core.streams import GOVERNOR, SESSION, kind_of
from rekindle.ports.errors import RekindleError
from rekindle.ports.store import Recorded, Store, StoreAccess, StoreChange, StoreError
from rekindle.runtime.clock_watch import ClockWatch
from rekindle.runtime.placing import Placing

log = logging.getLogger(__name__)

_GRANTED: Final = Admission(True)
#: After how many facts all that they have led to is written down, so that the next daemon starts fast.
_KEPT_AFTER: Final = 2000
_PAGE: Final = 1000
#: Somebody who may not go on asks again after this many seconds at the latest: the clock may have been set.
_ASK_AGAIN: Final = 30.0
#: So much later than that it may be, on a busy machine.
_LATE: Final = 10.0
#: Facts after which nobody may do more than before.
_QUIET: Final = (g.RestartCounted, g.TurnPaid, g.Returned, g.GovernorKept, g.ProgressHeard, g.RestartsStopped)


class Governing:
    """Belongs to one supervisor. Raises StoreError if something cannot be recorded."""

    def __init__(
        self,
        store: StoreAccess,
        clock: Callable[[], float],
        sessions: Callable[[], Sequence[Session]],
        rules: Callable[[], GovernorRules] = lambda: UNLIMITED,
        zone: tzinfo | None = None,
        steady: Callable[[], float] | None = None,
        load: Callable[[], MachineReading | None] = lambda: None,
        barred: Callable[[Session], str] = lambda _session: "",
    ) -> None:
        """`sessions` gives those in memory. `zone` None: this machine's. `steady`: see `ClockWatch`.

        `load` says what the machine has, `barred` why an agent may not be started here.
        """
        self._store = store
        self._clock = clock
        self._sessions = sessions
        self._rules = rules
        self._zone = zone
        self._watch = ClockWatch(clock, steady)
        #: by how much the clock was set last, and the clocks' reading then. If that could not be recorded, it still was
        self._setting: tuple[float, float] | None = None
        self._state = Governor()
        self._is_loaded = False
        self._since_kept = 0
        self._turn = asyncio.Lock()
        #: the newest fact of a session that concerns all of them, and how far they were read
        self._newest = 0
        self._read_to = 0
        #: the sessions that want to go on and are not allowed to yet, and when they last asked
        self._asking: dict[str, float] = {}
        #: one for each session that waits: it asks again when this is set
        self._bells: dict[str, asyncio.Event] = {}
        self.placing = Placing(clock, sessions, rules, load, self._ring, barred)
        #: called with the state whenever it changes
        self.listeners: list[Callable[[Governor], None]] = []

    @property
    def rules(self) -> GovernorRules:
        """What the user has set."""
        return self._rules()

    @property
    def zone(self) -> tzinfo | None:
        """The zone of the user's days and nights; None: this machine's."""
        return self._zone

    async def state(self) -> Governor:
        """All that is known now."""
        async with self._turn:
            await self._catch_up()
            return self._state

    async def shown(self) -> Governor:
        """The same for somebody who only looks: on a full disk, what was known last."""
        try:
            return await self.state()
        except StoreError as error:
            log.warning("what concerns all sessions could not be recorded: %s", error.message)
            return self._state

    def listen(self, session: Session, recorded: Sequence[Recorded]) -> None:
        """A listener of the engine: notes that there is something to hear. It is read from the store, in order."""
        told = (one.seq for one in recorded if heard(session.id, one.seq, one.fact) is not None)
        self._newest = max(self._newest, *told, 0)
        self.placing.heard(session)

    async def admit(self, session: Session, effect: Effect) -> Admission:
        """Whether an effect may be carried out now. What is allowed is recorded first.

        Whoever is told no waits (`wait`), and asks again. Whoever may go on says so when it is `done`.
        """
        step = wanted(session, effect)
        if step is None:
            return self._told(session.id, self.placing.ask(session, effect, is_automatic=False))
        async with self._turn:
            await self._catch_up()
            self._asking[session.id] = self._clock()
            found = self._judged(step)
            if not found.is_granted:
                self.placing.leave(session.id)  # it waits for something else, and holds up nobody
                return self._told(session.id, found)
            has_room = self._told(session.id, self.placing.ask(session, effect, is_automatic=True))
            if not has_room.is_granted:
                return has_room
            del self._asking[session.id]
            try:
                await self._record(found.facts)
            except BaseException:
                self.placing.done(session.id)
                raise
        return _GRANTED

    def done(self, session: str) -> None:
        """An effect that was admitted was carried out, or has failed."""
        self.placing.done(session)

    def _told(self, session: str, found: Admission) -> Admission:
        """Whoever may not go on waits for a bell that cannot be missed: it is there before anybody can ring it."""
        if not found.is_granted:
            self._bells[session] = asyncio.Event()
        return found

    def outlook(self, session: Session) -> Admission:
        """What is known about the next automatic step of a session, without deciding anything."""
        step = next_step(session)
        return _GRANTED if step is None else self._judged(step)

    def foresee(self, session: Session, effects: Sequence[Effect]) -> Admission:
        """Why what is due about a session may not be done now; granted, if it may or nothing is due."""
        for effect in effects:
            step = wanted(session, effect)
            found = self._judged(step) if step is not None else _GRANTED
            if found.is_granted:
                found = self.placing.outlook(session, effect, is_automatic=step is not None)
            if not found.is_granted:
                return found
        return self.outlook(session)

    async def wait(self, session: str, found: Admission) -> None:
        """Wait until it makes sense to ask again."""
        left = _ASK_AGAIN if found.until is None else min(max(found.until - self._clock(), 0.0), _ASK_AGAIN)
        bell = self._bells.get(session)
        if bell is None:
            return  # it has rung already
        try:
            async with asyncio.timeout(left):
                await bell.wait()
        except TimeoutError:
            if self._bells.get(session) is bell:
                del self._bells[session]

    async def tell(self, decide: Callable[[Governor], Sequence[g.GovernorFact]]) -> Governor:
        """Record facts from outside, decided from the state when their turn comes, and what follows from them."""
        async with self._turn:
            await self._catch_up()
            await self._record(decide(self._state))
            return self._state

    async def look(self) -> None:
        """Write down what was heard, and see whether something has to be asked, or is over."""
        async with self._turn:
            await self._catch_up()
            await self._record(due(self._state, self.rules, self._clock(), self._zone))

    async def keep_watch(self, seconds: float = 1.0) -> None:
        """Look forever."""
        rules = self.rules
        while True:
            await asyncio.sleep(seconds)
            try:
                await self.look()
            except RekindleError as error:
                log.warning("what concerns all sessions could not be recorded: %s", error.message)
            if self.placing.look():
                self._wake()
            if self.rules != rules:
                rules = self.rules
                self._wake()

    def _judged(self, step: AutomaticStep) -> Admission:
        waiting = waiting_for(step.limit, self._sessions(), self._state, self._in_line()) if step.limit else []
        return admission(self._state, self.rules, step, waiting, self._clock(), self._zone)

    def _in_line(self) -> set[str]:
        """Those that want to go on now. One that has not asked again in time wants to no more, and holds up nobody."""
        oldest = self._clock() - _ASK_AGAIN - _LATE
        return {name for name, at in self._asking.items() if at > oldest}

    async def _catch_up(self) -> None:
        """Everything that was recorded about sessions so far is known afterwards."""
        if not self._is_loaded:
            before = self._state.clock_sets
            self._state, self._since_kept = await self._store.ask(_folded)
            self._is_loaded, self._read_to = True, self._state.heard
            if self._setting is None:
                self._watch.read(SUBJECT, newest(self._state))
            elif self._state.clock_sets > before:  # it was recorded after all
                self._clock_is_set(*self._setting)
            await self._mind_clock()
            await self._hear()
            for listener in self.listeners:
                listener(self._state)
            return
        await self._mind_clock()
        if self._newest > self._read_to:
            await self._hear()

    async def _mind_clock(self) -> None:
        """If the clock was set, what was heard before stays as long ago as it was, and limits as far away."""
        reading = self._watch.reading()
        if by := self._watch.set_by(SUBJECT, newest(self._state)):
            self._setting = (by, reading)
            await self._record([g.GovernorClockSet(at=self._clock(), by=by, number=self._state.clock_sets + 1)])
            self._clock_is_set(by, reading)

    def _clock_is_set(self, by: float, reading: float) -> None:
        self._watch.is_right(SUBJECT, reading)
        now = self._clock()
        self._asking = {name: min(at + by, now) for name, at in self._asking.items()}

    async def _hear(self) -> None:
        """Hear what has happened to sessions since the last time."""
        while True:
            newest = self._newest
            page = await self._store.ask(_since(self._read_to))
            found = [heard(one.subject, one.seq, one.fact) for one in page]
            await self._record([one for one in found if one is not None])
            self._read_to = page[-1].seq if page else max(self._read_to, newest)
            if len(page) < _PAGE:
                self._read_to = max(self._read_to, newest)
                return

    async def _record(self, facts: Sequence[g.GovernorFact]) -> None:
        if not facts:
            return
        state, kept = taken(self._state, facts, self.rules, self._zone)
        if not kept:
            return
        self._since_kept += len(kept)
        if self._since_kept > _KEPT_AFTER:
            kept.append(g.GovernorKept(at=self._clock(), state=state))
            self._since_kept = 0
        try:
            await self._store.commit(StoreChange(GOVERNOR.kind, SUBJECT, kept))
        except StoreError:
            self._is_loaded = False  # it may have been recorded after all
            raise
        self._state = state
        for listener in self.listeners:
            listener(state)
        if any(not isinstance(one, _QUIET) for one in kept):
            self._wake()

    def _wake(self) -> None:
        """Everybody who waits asks again."""
        self._ring(list(self._bells))

    def call(self, session: str) -> None:
        """Something that a session waits for has come: it asks again."""
        self._ring([session])

    def _ring(self, sessions: Sequence[str]) -> None:
        """These ask again."""
        for name in sessions:
            if (bell := self._bells.pop(name, None)) is not None:
                bell.set()


def _since(after: int) -> Callable[[Store], list[Recorded]]:
    return lambda store: store.facts(SESSION.kind, kinds=KINDS, after=after, limit=_PAGE)


def _folded(store: Store) -> tuple[Governor, int]:
    """The state in the store, and how many facts were read since it was last written down as a whole."""
    whole = [str(g.GovernorKept.__struct_config__.tag)]
    kept = store.facts(GOVERNOR.kind, SUBJECT, kinds=whole, limit=1, newest=True)
    after, state, count = (kept[0].seq - 1, Governor(), 0) if kept else (0, Governor(), 0)
    while page := store.facts(GOVERNOR.kind, SUBJECT, after=after, limit=_PAGE):
        for one in page:
            assert isinstance(one.fact, g.GovernorFact), kind_of(one.fact)
            state = evolve(state, one.fact)
        after, count = page[-1].seq, count + len(page)
    return state, count
