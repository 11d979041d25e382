"""Attends to one session: append, evolve, plan, act, outcome, repeat. Effects are carried out one at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from rekindle.core.effects import Answer, Cancel, Effect, End, Launch, Open, RunGate, Say, Wait
from rekindle.core.governor.admission import Admission
from rekindle.core.session import facts as f
from rekindle.core.session.overflow import asks_for_summary
from rekindle.core.session.starting import next_look
from rekindle.core.session.state import Session
from rekindle.core.session.timing import by_clock
from rekindle.ports.errors import RekindleError
from rekindle.ports.keepers import KeeperLost, NoRoomForTurn
from rekindle.ports.store import DamagedStore, StaleGeneration, StoreError
from rekindle.runtime.engine import Decision
from rekindle.runtime.hearing import Attendance, Hearing
from rekindle.runtime.talk import Talk

log = logging.getLogger(__name__)


class Attendant:
    """Belongs to one session, as long as that session needs attention."""

    def __init__(self, session: str, house: Attendance, failed: Callable[[BaseException], None]) -> None:
        """`failed` is called with errors that this attendant cannot fix itself."""
        self._session = session
        self._house = house
        self._engine = house.engine
        self._failed = failed
        self._acting = asyncio.Lock()
        self.speaking = asyncio.Lock()
        self._performed: set[str] = set()
        #: effects that are tried again in a moment
        self._again: set[str] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._gates: dict[str, asyncio.Task[Any]] = {}
        self._follower: asyncio.Task[Any] | None = None
        self._hearing: Hearing | None = None
        #: the attempt that was followed before, and since when its agent was silent
        self._silence: tuple[int, float] = (0, 0.0)
        self._recording = 0
        self._is_due_later = False
        self._anew = 0

    @property
    def talk(self) -> Talk | None:
        """The conversation with the agent, while it is followed."""
        return self._hearing.talk if self._hearing is not None else None

    @property
    def is_idle(self) -> bool:
        """Whether this is idle: no agent is followed, and nothing is in progress or waited for."""
        return self._hearing is None and not self._tasks and not self._recording and not self._acting.locked()

    @property
    def is_acting(self) -> bool:
        """Whether due effects are being carried out right now."""
        return self._acting.locked()

    async def close(self) -> None:
        """Release everything. The agent keeps running in its keeper."""
        for task in list(self._tasks):
            task.cancel()
        for task in list(self._tasks):
            await asyncio.wait([task])

    async def record(self, *facts: f.AnyFact) -> Session:
        """Record facts and carry out what follows from them."""
        return await self.decide(lambda _now: facts)

    async def decide(self, decision: Decision) -> Session:
        """The same, with facts decided from the session's state when its turn comes."""
        facts: list[f.AnyFact] = []

        def decided(now: Session) -> list[f.AnyFact]:
            facts.extend(decision(now))
            return facts

        self._recording += 1
        try:
            await self._engine.decide(self._session, decided)
            if any(isinstance(fact, f.ResumeAsked) for fact in facts):
                # retry what was postponed
                self._performed -= {name for name in self._performed if name.startswith("launch-")}
            await self.advance()
            return self._engine.session(self._session)
        finally:
            self._recording -= 1

    async def decide_quietly(self, decision: Decision) -> Session:
        """The same, while nothing is said to the agent: what is decided about a queued prompt comes before or after."""
        async with self.speaking:
            await self._engine.decide(self._session, decision)
        await self.advance()
        return self._engine.session(self._session)

    async def advance(self) -> None:
        """Carry out due effects until none are left. What failed is retried in a moment."""
        anew = self._anew
        async with self._acting:
            if anew != self._anew:
                return  # somebody has just failed at it, and it is tried again in a moment
            try:
                await self._carry_out()
            except DamagedStore:
                raise
            except (StoreError, OSError):
                log.exception("%s: what is due could not be done; trying again", self._session)
                self._take_up_anew()

    async def listen(self) -> None:
        """Check what the silence of an agent in a terminal means by now."""
        if self._hearing is not None:
            await self._hearing.listen()

    def let_go(self, hearing: Hearing) -> None:
        """The attempt is no longer followed."""
        hearing.is_over = True
        if self._hearing is hearing:
            self._silence = (hearing.talk.attempt, hearing.talk.silent_since)
            self._hearing = None
            self._follower = None
            self._performed = set()

    def overtaken(self) -> None:
        """A newer daemon has taken the session over."""
        self._failed(StaleGeneration(f"session {self._session} was taken over"))

    def background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[Any]:
        """Run something in the background."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or (failure := task.exception()) is None:
            return
        log.error("%s: a task of its attendant failed", self._session, exc_info=failure)
        if isinstance(failure, StoreError | OSError) and not isinstance(failure, DamagedStore):
            self._take_up_anew()  # a full disk is not our fault, and may pass
        elif isinstance(failure, StaleGeneration | DamagedStore) or not isinstance(failure, RekindleError):
            self._failed(failure)

    def _take_up_anew(self) -> None:
        """What could not be recorded may be half done. As after a crash, the spools show how far it got."""
        follower = self._follower
        if self._hearing is not None:
            self.let_go(self._hearing)
        if follower is not None:
            follower.cancel()
        self.put_off()

    def put_off(self) -> None:
        """Do what is due again in a moment, and nothing of it before."""
        self._performed = set()
        self._anew += 1
        if not self._is_due_later:  # each new attempt fails in several tasks: one of them is enough to try again
            self._is_due_later = True
            self.background(self._advance_later())

    async def _advance_later(self) -> None:
        await asyncio.sleep(self._house.pause_seconds)
        self._is_due_later = False
        await self.advance()

    async def _carry_out(self) -> None:
        anew = self._anew
        while anew == self._anew:  # what could not be recorded waits for its time
            await self._engine.settle(self._session)  # what was recorded although the store complained counts
            self._end_gates()
            if self._engine.is_clock_set(self._session):
                await self._engine.record(self._session)  # what is due depends on it
            await self._attach()
            performed = self._performed
            due = [effect for effect in self._engine.due(self._session) if effect.id not in performed]
            if not due:
                return
            for effect in due:
                performed.add(effect.id)
                if self._is_put_off(effect) or not await self._is_admitted(effect):
                    continue
                if effect not in self._engine.due(self._session):  # somebody has decided otherwise in the meantime
                    performed.discard(effect.id)
                    continue
                try:
                    await self._perform(effect)
                except NoRoomForTurn as error:
                    message = f"{error.message} ({error.hint})"
                    await self._engine.record(self._session, f.Noticed(at=self._engine.clock(), message=message))
                    self._retry_soon(effect)
                except KeeperLost:
                    self._retry_soon(effect)
                finally:
                    self._house.governing.done(self._session)

    def _is_put_off(self, effect: Effect) -> bool:
        """Whether there is no point in a start yet: it is no restart until something is tried. If so, look again."""
        if not isinstance(effect, Launch) or not self._house.launcher.is_put_off(effect):
            return False
        state = self._engine.session(self._session)
        self._retry_soon(effect, next_look(state, self._engine.clock()))
        return True

    async def _is_admitted(self, effect: Effect) -> bool:
        """Whether an effect may be carried out now, for all that concerns other sessions. If not, ask again later."""
        found = await self._house.governing.admit(self._engine.session(self._session), effect)
        if not found.is_granted:
            self.background(self._ask_again(effect, found))
        return found.is_granted

    async def _ask_again(self, effect: Effect, found: Admission) -> None:
        await self._house.governing.wait(self._session, found)
        self._performed.discard(effect.id)
        await self.advance()

    async def _attach(self) -> None:
        """Follow the session's attempt, if it has one that is not followed yet."""
        state, house = self._engine.session(self._session), self._house
        attempt = state.attempt
        if attempt is None or attempt.status in ("launching", "gone") or self._hearing is not None:
            return
        before, since = self._silence
        talk = Talk(
            state,
            attempt.number,
            house.launcher.kind(state),
            clock=self._engine.clock,
            resolve=house.workplace.resolve,
            heard_at=by_clock(state, house.keepers.heard_at(self._session, attempt.number)),
            steady=self._engine.steady,
            silent_since=since if before == attempt.number else None,
        )
        connected = await house.keepers.connect(self._session, attempt.number, state.generation)
        hearing = Hearing(talk, self._session, house, self)
        step = await hearing.heard_so_far(connected=connected)
        self._hearing = hearing
        self._performed = set()
        try:
            await hearing.begin(step)
        except BaseException:
            self.let_go(hearing)
            raise
        self._follower = self.background(hearing.follow())

    async def _perform(self, effect: Effect) -> None:
        match effect:
            case Launch():
                if not await self._house.launcher.launch(effect):
                    self._performed.discard(effect.id)
            case Open():
                if (hearing := self._hearing) is not None:
                    async with self.speaking:
                        for message in hearing.talk.open(effect.how, effect.token or hearing.talk.token):
                            await hearing.send(message)
            case Say():
                await self._say(effect)
            case Cancel():
                if (hearing := self._hearing) is not None:
                    async with self.speaking:  # an agent may answer before we know that it has got this
                        for message in hearing.talk.wire.cancel(effect.prompt):
                            await hearing.send(message)
            case Answer():
                if (hearing := self._hearing) is not None:
                    async with self.speaking:
                        reply = hearing.talk.wire.answer(effect.request, effect.option)
                        if reply is not None:
                            await hearing.send(reply)
            case End():
                await self._house.keepers.end(effect.session, effect.attempt, effect.reason)
            case Wait():
                self.background(self._wake(effect))
            case RunGate():
                if effect.gate not in self._gates or self._gates[effect.gate].done():
                    self._gates[effect.gate] = self.background(self._run_gate(effect))

    async def _say(self, effect: Say) -> None:
        hearing = self._hearing
        if hearing is None:
            return
        wire = hearing.talk.wire
        typed = wire.approach(effect.prompt, effect.text)
        if typed and not hearing.talk.is_quiet():  # somebody is using it: Escape would interrupt them
            self._retry_soon(effect)
            return
        for keys in typed:
            await hearing.send(keys.message)
            await asyncio.sleep(keys.seconds)
        async with self.speaking:
            if effect not in self._engine.due(self._session):  # a person has withdrawn or changed it meanwhile
                self._performed.discard(effect.id)
                return
            number = await hearing.send(wire.say(effect.prompt, effect.text))
            sent = f.PromptSent(
                at=self._engine.clock(),
                attempt=effect.attempt,
                prompt=effect.prompt,
                message=number,
                text=effect.text,
            )
            now = await self._engine.record(effect.session, sent)
        if asks_for_summary(now, effect.prompt):
            self.background(self._house.comeback.rehydration.asked(now))

    def _end_gates(self) -> None:
        """End the commands of gates that nobody waits for any more."""
        wanted = self._engine.session(self._session).gate
        for name, task in list(self._gates.items()):
            if wanted is None or wanted.id != name:
                del self._gates[name]
                if task is not asyncio.current_task():
                    task.cancel()

    async def _run_gate(self, effect: RunGate) -> None:
        """Run the command of a gate, once. What it said is recorded as soon as the store takes it."""
        done = await self._house.workplace.run_gate(self._engine.session(self._session), effect.run)
        while True:
            at = self._engine.clock()
            ran = f.GateRan(at=at, gate=effect.gate, passed=done.passed, output=done.output, commit=done.commit)
            try:
                await self.record(ran)
            except DamagedStore:
                raise
            except StoreError as error:
                log.warning("%s: what its gate said could not be recorded yet: %s", self._session, error.message)
                await asyncio.sleep(self._house.pause_seconds)
            else:
                return

    def _retry_soon(self, effect: Effect, pause: float | None = None) -> None:
        """Try an effect again in a moment. One that is to be tried again already is not tried twice."""
        if effect.id not in self._again:
            self._again.add(effect.id)
            self.background(self._try_again(effect, self._house.pause_seconds if pause is None else pause))

    async def _try_again(self, effect: Effect, pause: float) -> None:
        await asyncio.sleep(pause)
        self._again.discard(effect.id)
        self._performed.discard(effect.id)
        await self.advance()

    async def _wake(self, effect: Wait) -> None:
        while effect in self._engine.due(self._session):
            left = effect.until - self._engine.clock()
            await asyncio.sleep(min(max(left, 0.0), 30.0))  # the wall clock may be set, and the machine may sleep
        self._performed.discard(effect.id)
        await self.advance()
