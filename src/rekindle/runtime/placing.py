"""Gives out the places for agents at work: keeps the line of those that wait, and calls the first when one is free.

Who is at work follows from the sessions' facts, and who waits asks again, so nothing here has to survive the daemon:
after a restart the line is made anew from all that was interrupted, before the first of them starts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from rekindle.core.effects import Effect
from rekindle.core.governor.admission import Admission
from rekindle.core.governor.places import (
    Census,
    PlaceWait,
    comes_back,
    is_at_work,
    needs_place,
    place_wait,
    placed,
    sleeps_for_others,
    starts_agent,
    wants_place,
)
from rekindle.core.governor.room import MachineReading, Room, room, shortage
from rekindle.core.governor.rules import GovernorRules
from rekindle.core.session.plan import plan
from rekindle.core.session.state import Session
from rekindle.ports.errors import RekindleError

log = logging.getLogger(__name__)

_GRANTED: Final = Admission(True)
#: Whoever has not asked again for so many seconds wants no place any more, and holds up nobody.
_STALE: Final = 40.0
#: How long what the machine said about itself holds, in seconds.
_READ_AGAIN: Final = 1.0

#: Puts the agent of a session to sleep, if it has nothing to do by then.
PutToSleep = Callable[[str], Awaitable[None]]


class Placing:
    """Belongs to one governor."""

    def __init__(
        self,
        clock: Callable[[], float],
        sessions: Callable[[], Sequence[Session]],
        rules: Callable[[], GovernorRules],
        load: Callable[[], MachineReading | None],
        ring: Callable[[Sequence[str]], None],
        barred: Callable[[Session], str] = lambda _session: "",
    ) -> None:
        """`ring` has these sessions ask again. `barred` says why the agent of one may not be started here at all."""
        self._barred = barred
        self._clock = clock
        self._sessions = sessions
        self._rules = rules
        self._load = load
        self._ring = ring
        #: who waits, and when each has last asked
        self._line: dict[str, tuple[PlaceWait, float]] = {}
        #: who was given a place and has not taken it yet
        self._promised: set[str] = set()
        self._last: float | None = None
        self._is_held = False
        self._read: tuple[float, MachineReading | None] | None = None
        self._was_short = False
        self._version = 0
        self._counted: tuple[tuple[int, int], Census] | None = None
        self._is_called = False
        self._tasks: set[asyncio.Future[None]] = set()
        #: set by the supervisor
        self.put_to_sleep: PutToSleep | None = None

    @property
    def room(self) -> Room | None:
        """How many agents may work at once; None: any number."""
        return room(self._rules(), self.reading)

    @property
    def has_room(self) -> bool:
        """Whether another agent may work now."""
        most = self.room
        return not self.shortage and (most is None or len(self.census().at_work) < most.most)

    @property
    def reading(self) -> MachineReading | None:
        """What the machine has, as read a moment ago."""
        now = self._clock()
        if self._read is None or not 0 <= now - self._read[0] < _READ_AGAIN:
            self._read = (now, self._load())
        return self._read[1]

    @property
    def shortage(self) -> str:
        """Why memory is short now; empty: it is not."""
        return shortage(self._rules(), self.reading)

    def hold(self) -> None:
        """Give out no place until it is known who was interrupted."""
        self._is_held = True

    def let_go(self) -> None:
        """All that was interrupted is known: it is put in line, and the first may start."""
        now = self._clock()
        for session in self._sessions():
            if wants_place(session, plan(session, now)):
                self._enter(session, now)
        self._is_held = False
        self._last = now - self._rules().start_spacing  # the first may start now, and the others after it
        self._ring(list(self._line))

    def ask(self, session: Session, effect: Effect, *, is_automatic: bool) -> Admission:
        """Whether an effect may be carried out, as far as room goes. If not, the session waits in line.

        If it may, its place is kept for it until it says that it is `done`: by then its facts show that it has one.
        """
        found = self._found(session, effect, is_automatic=is_automatic, enter=True)
        if found.is_granted:
            self.leave(session.id)
            self._give(session, effect, is_automatic=is_automatic)
        return found

    def outlook(self, session: Session, effect: Effect, *, is_automatic: bool) -> Admission:
        """The same, for somebody who only wants to know: nothing changes."""
        found = self._found(session, effect, is_automatic=is_automatic, enter=False)
        return found if found.why else _GRANTED

    def _found(self, session: Session, effect: Effect, *, is_automatic: bool, enter: bool) -> Admission:
        starts = starts_agent(session, effect)
        needs = is_automatic and needs_place(session, effect)
        now = self._clock()
        if starts and (why := self._barred(session)):
            return Admission(False, why=why)
        if needs and enter:
            self._enter(session, now)
        if needs and self._is_held:
            return Admission(False)
        if starts and (short := self.shortage):
            return Admission(False, why=f"it waits for memory: {short}")
        most = self.room
        if not needs or most is None:
            return _GRANTED
        census = self.census()
        if not any(one.session == session.id for one in census.waiting):
            census = Census(census.at_work, [*census.waiting, place_wait(session, now)], census.last)
        spacing = self._rules().start_spacing if comes_back(session) else 0.0
        return placed(session.id, census, most, spacing, now)

    def _give(self, session: Session, effect: Effect, *, is_automatic: bool) -> None:
        if not is_at_work(session) and (is_automatic or starts_agent(session, effect)):
            self._promised.add(session.id)
            self._version += 1
        if is_automatic and comes_back(session) and starts_agent(session, effect):
            self._last = self._clock()

    def done(self, session: str) -> None:
        """What was allowed was done, or failed: from now on the session's facts say whether it has its place."""
        if session in self._promised:
            self._promised.discard(session)
            self._changed()

    def leave(self, session: str) -> None:
        """A session does not wait for a place, or not only for a place: it holds up nobody."""
        if self._line.pop(session, None) is not None:
            self._changed()

    def heard(self, session: Session) -> None:
        """Something was recorded about a session."""
        self._version += 1
        if session.id in self._line and not wants_place(session, plan(session, self._clock())):
            self.leave(session.id)
        elif self._line:
            self._changed()

    def look(self) -> bool:
        """Call whoever may have a place by now. True: memory was short and is not any more, so that all may ask."""
        was_short, self._was_short = self._was_short, bool(self.shortage)
        self._call()
        return was_short and not self._was_short

    def census(self) -> Census:
        """Who is at work, and who waits."""
        now = self._clock()
        key = (self._version, int(now))
        if self._counted is None or self._counted[0] != key:
            # Whoever asked at a time that lies ahead, by a clock that was set back since, asks again soon.
            self._line = {name: one for name, one in self._line.items() if now - _STALE < one[1] <= now}
            at_work = frozenset(one.id for one in self._sessions() if is_at_work(one)) | self._promised
            waiting = [one for one, _ in self._line.values() if one.session not in at_work]
            self._counted = (key, Census(at_work, waiting, self._last))
        return self._counted[1]

    async def close(self) -> None:
        """Let go of what is under way."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _enter(self, session: Session, now: float) -> None:
        before = self._line.get(session.id)
        since = before[0].since if before is not None else now
        entry = place_wait(session, since)
        self._line[session.id] = (entry, now)
        if before is None or before[0] != entry:
            self._version += 1

    def _changed(self) -> None:
        """Look soon, once, however much has changed: many facts come together."""
        self._version += 1
        if self._line and not self._is_called:
            self._is_called = True
            asyncio.get_running_loop().call_soon(self._call)

    def _call(self) -> None:
        """Have those ask again who may have a place now. Agents that have nothing to do make room for the others."""
        self._is_called = False
        most = self.room
        if not self._line or self._is_held or most is None:
            return
        census = self.census()
        called = census.next_in_line(most, self._clock())
        if called:
            self._ring(called)
        left = len(census.waiting) - len(called)
        idle = [one.id for one in self._sessions() if sleeps_for_others(one)] if left else []
        for name in idle[:left]:
            self._send_to_sleep(name)

    def _send_to_sleep(self, session: str) -> None:
        if self.put_to_sleep is None:
            return
        task = asyncio.ensure_future(self._asleep(self.put_to_sleep, session))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _asleep(self, put_to_sleep: PutToSleep, session: str) -> None:
        try:
            await put_to_sleep(session)
        except RekindleError as error:
            log.warning("%s could not be put to sleep: %s", session, error.message)
