"""The supervisor: the loop around the engine. Append, evolve, plan, intend, act, outcome, and again.

There is one task per live attempt that follows its keeper, and one lock per session under which effects are carried
out. Starting up is nothing special: every session that may have an agent is taken up where its facts and its keeper
say it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from rekindle.agents import observation as o
from rekindle.agents.acp.messages import Outgoing
from rekindle.agents.kind import AgentKind
from rekindle.core.effects import Answer, Cancel, Effect, End, Launch, Open, Say, Wait
from rekindle.core.session import facts as f
from rekindle.core.session.machine import Session
from rekindle.ports.errors import RekindleError
from rekindle.ports.keepers import Ended, KeeperLost, Keepers, Lost, NoRoomForTurn, Order, Output
from rekindle.ports.workplace import Workplace
from rekindle.runtime.engine import Engine
from rekindle.runtime.talk import Step, Talk

log = logging.getLogger(__name__)

START_SECONDS = 60.0
#: An agent may show more of the past after it said that it had loaded it; so long must it be silent.
SETTLE_SECONDS = 0.25


class Supervisor:
    """Owns every agent of one store."""

    def __init__(
        self,
        engine: Engine,
        keepers: Keepers,
        workplace: Workplace,
        kinds: dict[str, AgentKind],
        *,
        start_seconds: float = START_SECONDS,
        settle_seconds: float = SETTLE_SECONDS,
    ) -> None:
        self.engine = engine
        self._keepers = keepers
        self._workplace = workplace
        self._kinds = kinds
        self._start_seconds = start_seconds
        self._settle_seconds = settle_seconds
        self._locks: dict[str, asyncio.Lock] = {}
        self._talks: dict[str, Talk] = {}
        self._performed: dict[str, set[str]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._crash: BaseException | None = None
        self.watchers: list[Callable[[str, o.Observation], None]] = []

    async def start(self) -> None:
        """Take up every session that may have an agent, and see to what is due."""
        for session in self.engine.sessions():
            if session.is_up:
                self.engine.record(session.id, f.Adopted(at=self.engine.clock(), generation=session.generation + 1))
            await self.advance(session.id)
        gone = [session.id for session in self.engine.sessions() if session.is_up and not self.is_alive(session.id)]
        while self._crash is None and any(name in self._talks for name in gone):
            await asyncio.sleep(0.01)  # how they ended is on disk; the first question may be about them

    def is_alive(self, session: str) -> bool:
        """Whether the session's agent lives: its keeper's lock is held."""
        attempt = self.engine.session(session).attempt
        return attempt is not None and self._keepers.look(session, attempt.number) == "alive"

    async def close(self) -> None:
        """Let go of everything. Agents go on in their keepers."""
        for task in list(self._tasks):
            task.cancel()
        for task in list(self._tasks):
            await asyncio.wait([task])

    def crashed(self) -> BaseException | None:
        """What ended a task of ours that should not have ended, if any did."""
        return self._crash

    def is_followed(self, session: str) -> bool:
        """Whether the session's agent is alive and we speak for it."""
        return session in self._talks

    async def record(self, session: str, *facts: f.AnyFact) -> Session:
        """Take in facts from outside and do what follows from them."""
        self.engine.record(session, *facts)
        await self.advance(session)
        return self.engine.session(session)

    async def advance(self, session: str) -> None:
        """Carry out what is due until nothing is."""
        async with self._locks.setdefault(session, asyncio.Lock()):
            while True:
                await self._attach(session)
                performed = self._performed.setdefault(session, set())
                due = [effect for effect in self.engine.due(session) if effect.id not in performed]
                if not due:
                    return
                for effect in due:
                    performed.add(effect.id)
                    await self._perform(effect)

    async def _perform(self, effect: Effect) -> None:
        match effect:
            case Launch():
                await self._launch(effect)
            case Open():
                talk = self._talks.get(effect.session)
                if talk is not None:
                    for message in talk.open(effect.how, effect.token):
                        await self._send(talk, effect.session, message)
                    self._background(self._mind_the_start(effect.session, effect.attempt))
            case Say():
                await self._say(effect)
            case Cancel():
                talk = self._talks.get(effect.session)
                for message in talk.cancel(effect.prompt) if talk is not None else []:
                    await self._send(talk, effect.session, message)
            case Answer():
                talk = self._talks.get(effect.session)
                reply = talk.answer(effect.request, effect.option) if talk is not None else None
                if talk is not None and reply is not None:
                    await self._send(talk, effect.session, reply)
            case End():
                await self._keepers.end(effect.session, effect.attempt, effect.reason)
            case Wait():
                self._background(self._wake(effect))

    async def _launch(self, effect: Launch) -> None:
        session = self.engine.intend(effect)
        kind = self._kinds.get(session.agent)
        attempt = effect.attempt
        try:
            if kind is None:
                raise RekindleError(f"there is no agent {session.agent!r}", "`rekindle run --help` names them")
            order = Order(
                session=session.id,
                attempt=attempt,
                generation=session.generation,
                argv=kind.argv(tuple(session.arguments)),
                cwd=session.cwd,
                env=self._workplace.environment(session),
            )
            await self._workplace.end_terminals(session)
            running = await self._keepers.launch(order)
        except RekindleError as error:
            self.engine.record(
                session.id, f.LaunchFailed(at=self.engine.clock(), attempt=attempt, message=error.message)
            )
            return
        self.engine.record(
            session.id,
            f.Launched(at=self.engine.clock(), attempt=attempt, folder=running.folder, pid=running.pid),
        )

    async def _attach(self, session: str) -> None:
        """Follow the session's attempt, if it has one that nobody follows yet."""
        state = self.engine.session(session)
        attempt = state.attempt
        if attempt is None or attempt.status in ("launching", "gone") or session in self._talks:
            return
        talk = Talk(state, attempt.number, clock=self.engine.clock, resolve=self._workplace.resolve)
        self._talks[session] = talk
        self._performed[session] = set()
        await self._keepers.connect(session, attempt.number, state.generation)
        records = list(self._keepers.sent(session, attempt.number))
        await self._heard(session, talk, talk.rebuild(records, self._keepers.heard(session, attempt.number)))
        self._background(self._follow(session, talk))

    async def _follow(self, session: str, talk: Talk) -> None:
        async for item in self._keepers.follow(session, talk.attempt, talk.offset):
            if isinstance(item, Output):
                await self._heard(session, talk, talk.feed(item.data))
            elif isinstance(item, Lost):
                message = f"something shortened the agent's output: {item.bytes} bytes of it may be lost"
                self.engine.record(session, f.Noticed(at=self.engine.clock(), message=message))
            else:
                await self._workplace.end_terminals(self.engine.session(session))
                self._gone(session, talk, item)
        await self.advance(session)

    async def _heard(self, session: str, talk: Talk, step: Step) -> None:
        for message in step.outgoing:
            with contextlib.suppress(KeeperLost):
                await self._send(talk, session, message)
        if step.facts:
            self.engine.record(session, *step.facts)
        for asked in step.callbacks:
            self._background(self._serve(session, talk, asked))
        for seen in step.observations:
            for watcher in self.watchers:
                watcher(session, seen)
        if step.opening:
            self._background(self._settle(session, talk))
        if step.facts:
            self._background(self.advance(session))

    def _gone(self, session: str, talk: Talk, ended: Ended) -> None:
        opened = talk.opened()
        state = self.engine.session(session)
        if opened is not None and state.attempt is not None and state.attempt.status == "up":
            state = self.engine.record(session, opened)  # it was open before it ended
        self.engine.record(session, talk.ended(ended, state))
        self._talks.pop(session, None)
        self._performed.pop(session, None)

    async def _settle(self, session: str, talk: Talk) -> None:
        """Wait until the agent has shown what it remembers, then say that the conversation is open."""
        if talk.wire.open.opened == "load":
            before = -1
            while before != talk.offset:
                before = talk.offset
                await asyncio.sleep(self._settle_seconds)
        opened = talk.opened()
        if opened is not None and self._talks.get(session) is talk:
            await self.record(session, opened)

    async def _mind_the_start(self, session: str, attempt: int) -> None:
        await asyncio.sleep(self._start_seconds)
        newest = self.engine.session(session).attempt
        if newest is None or newest.number != attempt or newest.status != "up":
            return
        now = self.engine.clock()
        message = f"the agent was not ready after {self._start_seconds:g} s"
        await self.record(
            session,
            f.OpenRefused(at=now, attempt=attempt, how=newest.how, problem="timeout", message=message),
            f.StopAsked(at=now, by="rekindle", to="failed"),
        )

    async def _say(self, effect: Say) -> None:
        talk = self._talks.get(effect.session)
        if talk is None:
            return
        try:
            number = await self._send(talk, effect.session, talk.say(effect.prompt, effect.text))
        except NoRoomForTurn as error:
            message = f"{error.message} ({error.hint})"
            self.engine.record(effect.session, f.Noticed(at=self.engine.clock(), message=message))
            self._background(self._try_again(effect))
            return
        except KeeperLost:
            return
        self.engine.record(
            effect.session,
            f.PromptSent(
                at=self.engine.clock(),
                attempt=effect.attempt,
                prompt=effect.prompt,
                message=number,
                text=effect.text,
            ),
        )

    async def _try_again(self, effect: Say) -> None:
        await asyncio.sleep(1.0)
        self._performed.get(effect.session, set()).discard(effect.id)
        await self.advance(effect.session)

    async def _wake(self, effect: Wait) -> None:
        while (left := effect.until - self.engine.clock()) > 0:
            await asyncio.sleep(min(left, 30.0))  # the wall clock may jump, and the machine may sleep
        self._performed.get(effect.session, set()).discard(effect.id)
        await self.advance(effect.session)

    async def _serve(self, session: str, talk: Talk, asked: o.CallbackAsked) -> None:
        reply = await self._workplace.serve(self.engine.session(session), talk.attempt, asked)
        if reply is not None:
            with contextlib.suppress(KeeperLost):
                await self._send(talk, session, reply)

    async def _send(self, talk: Talk | None, session: str, message: Outgoing) -> int:
        assert talk is not None
        number = await self._keepers.send(session, talk.attempt, message.message_id, message.line)
        talk.wire.sent(message.message_id, message.line)
        return number

    def _background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            self._crash = self._crash or failure
            log.error("a task of the supervisor failed", exc_info=failure)
