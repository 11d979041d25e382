"""The supervisor: the loop around the engine. Append, evolve, plan, intend, act, outcome, and again.

There is one task per live attempt that follows its keeper, and one lock per session under which effects are carried
out. Starting up is nothing special: every session that may have an agent is taken up where its facts and its keeper
say it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Coroutine
from functools import partial
from typing import Any

from rekindle.agents.base import observation as o
from rekindle.agents.base.dialect import CallbackRefused, Outgoing
from rekindle.agents.base.kind import AgentKind
from rekindle.core.effects import Answer, Cancel, Effect, End, Launch, Open, Say, Wait
from rekindle.core.session import facts as f
from rekindle.core.session.starting import next_look
from rekindle.core.session.state import Session
from rekindle.ports.errors import RekindleError
from rekindle.ports.keepers import Ended, KeeperLost, Keepers, Lost, NoRoomForTurn, Output, Sent
from rekindle.ports.records import Records
from rekindle.ports.store import DamagedStore, StaleGeneration, StoreError
from rekindle.ports.workplace import Workplace
from rekindle.runtime.comeback import Comeback
from rekindle.runtime.engine import Engine
from rekindle.runtime.launching import Launcher, StartPutOff
from rekindle.runtime.proof import compacted, compared, has_worked, last_words, may_compare
from rekindle.runtime.talk import Step, Talk

log = logging.getLogger(__name__)

#: An agent may show more of the past after it said that it had loaded it; so long must it be silent.
SETTLE_SECONDS = 0.25
_AT_ONCE = 16
#: So often the record of an agent that works again is looked at before nothing is said about it.
_LOOKS = 20
_PAUSE = 1.0
_MUCH = 1024 * 1024


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
    ) -> None:
        self.engine = engine
        self._keepers = keepers
        self._workplace = workplace
        self._records = records
        self._comeback = Comeback(records, workplace, kinds)
        self._launcher = Launcher(engine, keepers, workplace, kinds, self._comeback)
        self._settle_seconds = settle_seconds
        self._locks: dict[str, asyncio.Lock] = {}
        self._talks: dict[str, Talk] = {}
        self._speaking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._performed: dict[str, set[str]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._followers: dict[str, asyncio.Task[Any]] = {}
        self._serving: dict[str, set[asyncio.Task[Any]]] = {}
        #: a newer daemon serves this store: this one has to leave
        self.superseded = asyncio.Event()
        #: a task of ours ended that should not have: nobody knows what this supervisor leaves undone
        self.broken = asyncio.Event()
        self.fault: BaseException | None = None

    async def start(self) -> None:
        """Take up every session that may have an agent, and see to what is due. A bad one holds nobody up."""
        limit = asyncio.Semaphore(_AT_ONCE)

        async def take_up(session: Session) -> None:
            async with limit:
                try:
                    if session.is_up:
                        adopted = f.Adopted(at=self.engine.clock(), generation=session.generation + 1)
                        self.engine.record(session.id, adopted)
                    await self.advance(session.id)
                except StaleGeneration:
                    self.superseded.set()
                except RekindleError as error:
                    self.engine.record(session.id, f.Noticed(at=self.engine.clock(), message=error.message))

        await asyncio.gather(*(take_up(session) for session in self.engine.sessions()))
        gone = [session.id for session in self.engine.sessions() if session.is_up and not self.is_alive(session.id)]
        while not self.broken.is_set() and any(name in self._talks for name in gone):
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

    def silent_seconds(self, session: str) -> float:
        """How long the session's agent has said nothing, as far as it should have."""
        talk = self._talks.get(session)
        return talk.silent_seconds(self.engine.clock()) if talk is not None else 0.0

    def forgive_silence(self) -> None:
        """Count every agent's silence from now on."""
        for talk in self._talks.values():
            talk.forgive_silence(self.engine.clock())

    def is_followed(self, session: str) -> bool:
        """Whether the session's agent is alive and we speak for it."""
        return session in self._talks

    async def listen(self, session: str) -> None:
        """See what the silence of an agent in a terminal, and its own record, say by now."""
        talk = self._talks.get(session)
        if talk is None:
            return
        state = self.engine.session(session)
        known = talk.token if talk.wants_record(state) else None
        record = await self._records.read(state, known) if known is not None else None
        if self._talks.get(session) is talk:
            await self._take_in(session, talk, talk.listen(self.engine.session(session), record))

    async def record(self, session: str, *facts: f.AnyFact) -> Session:
        """Take in facts from outside and do what follows from them."""
        self.engine.record(session, *facts)
        if any(isinstance(fact, f.ResumeAsked) for fact in facts):
            done = self._performed.get(session, set())
            done -= {name for name in done if name.startswith("launch-")}  # what was put off is tried now
        await self.advance(session)
        return self.engine.session(session)

    async def advance(self, session: str) -> None:
        """Carry out what is due until nothing is. What could not be done is tried again in a moment."""
        async with self._locks.setdefault(session, asyncio.Lock()):
            try:
                await self._carry_out(session)
            except DamagedStore:
                raise
            except (StoreError, OSError):
                log.exception("%s: what is due could not be done; trying again", session)
                self._take_up_anew(session)

    async def _carry_out(self, session: str) -> None:
        while True:
            await self._attach(session)
            performed = self._performed.setdefault(session, set())
            due = [effect for effect in self.engine.due(session) if effect.id not in performed]
            if not due:
                return
            for effect in due:
                performed.add(effect.id)
                try:
                    await self._perform(effect)
                except StartPutOff:
                    state = self.engine.session(session)
                    self._background(session, self._try_again(effect, next_look(state, self.engine.clock())))
                except (KeeperLost, NoRoomForTurn) as error:
                    self._put_off(effect, error)

    def _put_off(self, effect: Effect, error: RekindleError) -> None:
        if isinstance(error, NoRoomForTurn):
            message = f"{error.message} ({error.hint})"
            self.engine.record(effect.session, f.Noticed(at=self.engine.clock(), message=message))
        self._background(effect.session, self._try_again(effect))

    def _take_up_anew(self, session: str) -> None:
        """What could not be written down may be half done: as after a crash, the spools tell how far it is."""
        self._talks.pop(session, None)
        self._performed.pop(session, None)
        if (follower := self._followers.pop(session, None)) is not None:
            follower.cancel()
        self._background(session, self._advance_later(session))

    async def _advance_later(self, session: str) -> None:
        await asyncio.sleep(_PAUSE)
        await self.advance(session)

    async def _perform(self, effect: Effect) -> None:
        match effect:
            case Launch():
                if not await self._launcher.launch(effect):
                    self._performed.get(effect.session, set()).discard(effect.id)
            case Open():
                talk = self._talks.get(effect.session)
                if talk is not None:
                    async with self._speaking[effect.session]:
                        for message in talk.open(effect.how, effect.token or talk.token):
                            await self._send(talk, effect.session, message)
            case Say():
                await self._say(effect)
            case Cancel():
                talk = self._talks.get(effect.session)
                for message in talk.wire.cancel(effect.prompt) if talk is not None else []:
                    await self._send(talk, effect.session, message)
            case Answer():
                talk = self._talks.get(effect.session)
                reply = talk.wire.answer(effect.request, effect.option) if talk is not None else None
                if talk is not None and reply is not None:
                    await self._send(talk, effect.session, reply)
            case End():
                await self._keepers.end(effect.session, effect.attempt, effect.reason)
            case Wait():
                self._background(effect.session, self._wake(effect))

    async def _attach(self, session: str) -> None:
        """Follow the session's attempt, if it has one that nobody follows yet."""
        state = self.engine.session(session)
        attempt = state.attempt
        if attempt is None or attempt.status in ("launching", "gone") or session in self._talks:
            return
        talk = Talk(
            state,
            attempt.number,
            self._launcher.kind(state),
            clock=self.engine.clock,
            resolve=self._workplace.resolve,
            heard_at=self._keepers.heard_at(session, attempt.number),
        )
        connected = await self._keepers.connect(session, attempt.number, state.generation)
        step = await self._rebuilt(talk, list(self._keepers.sent(session, attempt.number)), self._heard_so_far(state))
        if not connected:
            step.callbacks.clear()  # what a dead agent asked for is nobody's wish any more
        self._talks[session] = talk
        self._performed[session] = set()
        if talk.token is not None:
            self._records.follow(state, talk.token)
        await self._take_in(session, talk, step)
        self._followers[session] = self._background(session, self._follow(session, talk))

    async def _rebuilt(self, talk: Talk, sent: list[Sent], heard: bytes) -> Step:
        """What was said before we came. Much of it is read beside the loop: others are served meanwhile."""
        if len(heard) < _MUCH:
            return talk.rebuild(sent, heard)
        return await asyncio.to_thread(talk.rebuild, sent, heard)

    def _heard_so_far(self, session: Session) -> bytes:
        assert session.attempt is not None
        return self._keepers.heard(session.id, session.attempt.number)

    async def _follow(self, session: str, talk: Talk) -> None:
        """Follow one attempt to its end. Whatever goes wrong, somebody follows it again."""
        try:
            async for item in self._keepers.follow(session, talk.attempt, talk.offset):
                if isinstance(item, Output):
                    async with self._speaking[session]:
                        await self._take_in(session, talk, talk.feed(item.data))
                elif isinstance(item, Lost):
                    message = f"something shortened the agent's output: {item.bytes} bytes of it may be lost"
                    self.engine.record(session, f.Noticed(at=self.engine.clock(), message=message))
                else:
                    await self._gone(session, talk, item)
        except StaleGeneration:
            log.error("%s: a newer daemon has taken it over", session)
            self.superseded.set()
            return
        except (RekindleError, OSError):
            log.exception("%s: following it failed; trying again", session)
            self._talks.pop(session, None)
            await asyncio.sleep(_PAUSE)
        await self.advance(session)

    async def _take_in(self, session: str, talk: Talk, step: Step) -> None:
        for message in step.outgoing:
            with contextlib.suppress(KeeperLost, NoRoomForTurn):
                await self._send(talk, session, message)
        if step.facts:
            now = self.engine.record(session, *step.facts)
            worked = any(isinstance(fact, f.TurnBegan | f.TurnFinished) for fact in step.facts)
            if worked and talk.wire.token is not None:
                self._records.follow(now, talk.wire.token)  # a new conversation has a record from now on
            self._background(session, self.advance(session))
            if any(isinstance(fact, f.TurnFinished | f.TurnFailed) for fact in step.facts):
                self._background(session, self._look_for_compaction(session, talk))
            if may_compare(now, talk, step.facts):
                self._background(session, self._compare(session, talk))
        for asked in step.callbacks:
            self._background(session, self._serve(session, talk, asked))
        if step.opening:
            self._background(session, self._settle(session, talk))

    async def _gone(self, session: str, talk: Talk, ended: Ended) -> None:
        for task in self._serving.pop(session, set()):
            task.cancel()
        await self._workplace.end_terminals(self.engine.session(session))
        opened = talk.opened()
        # One that dies while it shows its past may not have shown all of it: nothing is concluded from that.
        facts: list[f.AnyFact] = [opened] if opened is not None and opened.how == "new" else []
        facts += talk.catch_up(self._keepers.sent(session, talk.attempt))
        state = self.engine.record(session, *facts) if facts else self.engine.session(session)
        try:
            await self._records.copy(state)
        except RekindleError as error:
            self.engine.record(session, f.Noticed(at=self.engine.clock(), message=error.message))
        self._records.unfollow(session)
        if talk.kind.proof == "transcript" and has_worked(self.engine.session(session), talk.attempt):
            # the last moment at which its record can prove anything
            found = await compared(self._records, self.engine.session(session), talk, self.engine.clock())
            self.engine.record(session, found)
        record = await last_words(self._records, self.engine.session(session))
        self.engine.record(session, talk.ended(ended, self.engine.session(session), record))
        self._talks.pop(session, None)
        self._followers.pop(session, None)
        self._performed.pop(session, None)

    async def _settle(self, session: str, talk: Talk) -> None:
        """Wait until the agent has shown what it remembers, then say that the conversation is open."""
        if talk.wire.open.opened == "load":
            before = -1
            while before != talk.offset:
                before = talk.offset
                await asyncio.sleep(self._settle_seconds)
        opened = talk.opened()
        if opened is None:
            return
        found = await self._comeback.verdict(self.engine.session(session), opened, talk.shown, self.engine.clock())
        if self._talks.get(session) is talk:
            state = await self.record(session, found)
            if found is opened:
                self._records.follow(state, opened.token)

    async def _compare(self, session: str, talk: Talk) -> None:
        """Look at the agent's own record until it has grown: it is written a moment after the words are said."""
        for _ in range(_LOOKS):
            found = await compared(self._records, self.engine.session(session), talk, self.engine.clock())
            if found.extends is not None:
                break
            await asyncio.sleep(self._settle_seconds)
        if self._talks.get(session) is talk and not self.engine.session(session).attempts[-1].compared:
            await self.record(session, found)

    async def _look_for_compaction(self, session: str, talk: Talk) -> None:
        found = await compacted(self._records, self.engine.session(session), talk, self.engine.clock())
        if found is not None and self._talks.get(session) is talk:
            self.engine.record(session, found)

    async def _say(self, effect: Say) -> None:
        talk = self._talks.get(effect.session)
        if talk is None:
            return
        typed = talk.wire.approach(effect.prompt, effect.text)
        if typed and not talk.is_quiet():  # somebody uses it: Escape would end what they do
            self._background(effect.session, self._try_again(effect))
            return
        for keys in typed:
            await self._send(talk, effect.session, keys.message)
            await asyncio.sleep(keys.seconds)
        async with self._speaking[effect.session]:  # an answer is not heard before it is known what was said
            number = await self._send(talk, effect.session, talk.wire.say(effect.prompt, effect.text))
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

    async def _try_again(self, effect: Effect, pause: float | None = None) -> None:
        await asyncio.sleep(_PAUSE if pause is None else pause)
        self._performed.get(effect.session, set()).discard(effect.id)
        await self.advance(effect.session)

    async def _wake(self, effect: Wait) -> None:
        while (left := effect.until - self.engine.clock()) > 0:
            await asyncio.sleep(min(left, 30.0))  # the wall clock may jump, and the machine may sleep
        self._performed.get(effect.session, set()).discard(effect.id)
        await self.advance(effect.session)

    async def _serve(self, session: str, talk: Talk, asked: o.CallbackAsked) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.setdefault(session, set()).add(task)
        try:
            result = await self._workplace.serve(self.engine.session(session), talk.attempt, asked)
        except (RekindleError, OSError, ValueError) as error:
            result = CallbackRefused("failed", str(error))
        finally:
            self._serving.get(session, set()).discard(task)
        reply = talk.wire.reply(asked, result)
        while reply is not None and self._talks.get(session) is talk:
            try:
                await self._send(talk, session, reply)
                return
            except KeeperLost:
                return
            except NoRoomForTurn:
                await asyncio.sleep(_PAUSE)

    async def _send(self, talk: Talk | None, session: str, message: Outgoing) -> int:
        assert talk is not None
        number = await self._keepers.send(session, talk.attempt, message.message_id, message.line)
        talk.wire.sent(message.message_id, message.line)
        return number

    def _background(self, session: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[Any]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(partial(self._finished, session))
        return task

    def _finished(self, session: str, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or (failure := task.exception()) is None:
            return
        log.error("%s: a task of the supervisor failed", session, exc_info=failure)
        if isinstance(failure, StaleGeneration):
            self.superseded.set()
        elif isinstance(failure, DamagedStore) or not isinstance(failure, RekindleError | OSError):
            self.fault = self.fault or failure
            self.broken.set()
        elif isinstance(failure, StoreError | OSError):  # a full disk is no fault of ours, and may pass
            self._take_up_anew(session)
