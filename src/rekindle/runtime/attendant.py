"""Attends to one session: append, evolve, plan, act, outcome, and again. One effect is carried out after the other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from rekindle.core.effects import Answer, Cancel, Effect, End, Launch, Open, Say, Wait
from rekindle.core.session import facts as f
from rekindle.core.session.starting import next_look
from rekindle.core.session.state import Session
from rekindle.ports.errors import RekindleError
from rekindle.ports.keepers import KeeperLost, NoRoomForTurn
from rekindle.ports.store import DamagedStore, StaleGeneration, StoreError
from rekindle.runtime.engine import Decision
from rekindle.runtime.hearing import Attendance, Hearing
from rekindle.runtime.launching import StartPutOff
from rekindle.runtime.talk import Talk

log = logging.getLogger(__name__)


class Attendant:
    """Belongs to one session, for as long as that needs somebody."""

    def __init__(self, session: str, house: Attendance, failed: Callable[[BaseException], None]) -> None:
        """`failed` is told of what this attendant cannot put right itself."""
        self._session = session
        self._house = house
        self._engine = house.engine
        self._failed = failed
        self._acting = asyncio.Lock()
        self.speaking = asyncio.Lock()
        self._performed: set[str] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._follower: asyncio.Task[Any] | None = None
        self._hearing: Hearing | None = None
        self._recording = 0

    @property
    def talk(self) -> Talk | None:
        """The conversation with the agent, while it is followed."""
        return self._hearing.talk if self._hearing is not None else None

    @property
    def is_idle(self) -> bool:
        """Whether nothing goes on here: no agent is followed, and nothing is being done or waited for."""
        return self._hearing is None and not self._tasks and not self._recording and not self._acting.locked()

    @property
    def is_acting(self) -> bool:
        """Whether what is due is being carried out just now."""
        return self._acting.locked()

    async def close(self) -> None:
        """Let go of everything. The agent goes on in its keeper."""
        for task in list(self._tasks):
            task.cancel()
        for task in list(self._tasks):
            await asyncio.wait([task])

    async def record(self, *facts: f.AnyFact) -> Session:
        """Take in facts and do what follows from them."""
        return await self.decide(lambda _now: facts)

    async def decide(self, decision: Decision) -> Session:
        """The same, with what follows from how the session is when its turn comes."""
        facts: list[f.AnyFact] = []

        def decided(now: Session) -> list[f.AnyFact]:
            facts.extend(decision(now))
            return facts

        self._recording += 1
        try:
            await self._engine.decide(self._session, decided)
            if any(isinstance(fact, f.ResumeAsked) for fact in facts):
                # what was put off is tried now
                self._performed -= {name for name in self._performed if name.startswith("launch-")}
            await self.advance()
            return self._engine.session(self._session)
        finally:
            self._recording -= 1

    async def advance(self) -> None:
        """Carry out what is due until nothing is. What could not be done is tried again in a moment."""
        async with self._acting:
            try:
                await self._carry_out()
            except DamagedStore:
                raise
            except (StoreError, OSError):
                log.exception("%s: what is due could not be done; trying again", self._session)
                self._take_up_anew()

    async def listen(self) -> None:
        """See what the silence of an agent in a terminal says by now."""
        if self._hearing is not None:
            await self._hearing.listen()

    def let_go(self, hearing: Hearing) -> None:
        """The attempt is not followed any more."""
        hearing.is_over = True
        if self._hearing is hearing:
            self._hearing = None
            self._follower = None
            self._performed = set()

    def overtaken(self) -> None:
        """A newer daemon has taken the session over."""
        self._failed(StaleGeneration(f"session {self._session} was taken over"))

    def background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[Any]:
        """Have something done beside."""
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
            self._take_up_anew()  # a full disk is no fault of ours, and may pass
        elif isinstance(failure, StaleGeneration | DamagedStore) or not isinstance(failure, RekindleError):
            self._failed(failure)

    def _take_up_anew(self) -> None:
        """What could not be written down may be half done: as after a crash, the spools tell how far it is."""
        follower = self._follower
        if self._hearing is not None:
            self.let_go(self._hearing)
        self._performed = set()
        if follower is not None:
            follower.cancel()
        self.background(self._advance_later())

    async def _advance_later(self) -> None:
        await asyncio.sleep(self._house.pause_seconds)
        await self.advance()

    async def _carry_out(self) -> None:
        while True:
            await self._attach()
            performed = self._performed
            due = [effect for effect in self._engine.due(self._session) if effect.id not in performed]
            if not due:
                return
            for effect in due:
                performed.add(effect.id)
                try:
                    await self._perform(effect)
                except StartPutOff:
                    state = self._engine.session(self._session)
                    self.background(self._try_again(effect, next_look(state, self._engine.clock())))
                except NoRoomForTurn as error:
                    message = f"{error.message} ({error.hint})"
                    await self._engine.record(self._session, f.Noticed(at=self._engine.clock(), message=message))
                    self.background(self._try_again(effect))
                except KeeperLost:
                    self.background(self._try_again(effect))

    async def _attach(self) -> None:
        """Follow the session's attempt, if it has one that nobody follows yet."""
        state, house = self._engine.session(self._session), self._house
        attempt = state.attempt
        if attempt is None or attempt.status in ("launching", "gone") or self._hearing is not None:
            return
        talk = Talk(
            state,
            attempt.number,
            house.launcher.kind(state),
            clock=self._engine.clock,
            resolve=house.workplace.resolve,
            heard_at=house.keepers.heard_at(self._session, attempt.number),
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
                    for message in hearing.talk.wire.cancel(effect.prompt):
                        await hearing.send(message)
            case Answer():
                if (hearing := self._hearing) is not None:
                    reply = hearing.talk.wire.answer(effect.request, effect.option)
                    if reply is not None:
                        await hearing.send(reply)
            case End():
                await self._house.keepers.end(effect.session, effect.attempt, effect.reason)
            case Wait():
                self.background(self._wake(effect))

    async def _say(self, effect: Say) -> None:
        hearing = self._hearing
        if hearing is None:
            return
        wire = hearing.talk.wire
        typed = wire.approach(effect.prompt, effect.text)
        if typed and not hearing.talk.is_quiet():  # somebody uses it: Escape would end what they do
            self.background(self._try_again(effect))
            return
        for keys in typed:
            await hearing.send(keys.message)
            await asyncio.sleep(keys.seconds)
        async with self.speaking:
            number = await hearing.send(wire.say(effect.prompt, effect.text))
            sent = f.PromptSent(
                at=self._engine.clock(),
                attempt=effect.attempt,
                prompt=effect.prompt,
                message=number,
                text=effect.text,
            )
            await self._engine.record(effect.session, sent)

    async def _try_again(self, effect: Effect, pause: float | None = None) -> None:
        await asyncio.sleep(self._house.pause_seconds if pause is None else pause)
        self._performed.discard(effect.id)
        await self.advance()

    async def _wake(self, effect: Wait) -> None:
        while (left := effect.until - self._engine.clock()) > 0:
            await asyncio.sleep(min(left, 30.0))  # the wall clock may jump, and the machine may sleep
        self._performed.discard(effect.id)
        await self.advance()
