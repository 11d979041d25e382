"""Follows one attempt: records its agent's output and serves its requests until it is gone.

Decides nothing: `talk` says what the bytes mean, the core what follows from a fact.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol

from msgspec.structs import replace

from rekindle.agents.base import observation as o
from rekindle.agents.base.dialect import CallbackRefused, Outgoing
from rekindle.core.session import facts as f
from rekindle.core.session.state import Session
from rekindle.ports.errors import RekindleError
from rekindle.ports.keepers import Ended, KeeperLost, Keepers, Lost, NoRoomForTurn, Output, Sent
from rekindle.ports.records import Records
from rekindle.ports.store import StaleGeneration
from rekindle.ports.workplace import Workplace
from rekindle.runtime.comeback import Comeback
from rekindle.runtime.engine import Engine
from rekindle.runtime.governing import Governing
from rekindle.runtime.launching import Launcher
from rekindle.runtime.proof import compacted, compared, is_uncompared, last_words, may_compare, stands
from rekindle.runtime.talk import Step, Talk

log = logging.getLogger(__name__)

#: How many times to check the record of an agent that works again before giving up on a verdict.
_LOOKS = 20
_MUCH = 1024 * 1024


@dataclass(frozen=True)
class Attendance:
    """What attending to sessions needs. `settle_seconds`: how long an agent is silent before its past counts as shown.

    It may show more of its past after reporting it as loaded.
    """

    engine: Engine
    keepers: Keepers
    workplace: Workplace
    records: Records
    comeback: Comeback
    launcher: Launcher
    settle_seconds: float
    #: how long to wait before retrying what failed
    pause_seconds: float
    governing: Governing
    #: called with a session whose agent has said something, after that was taken in
    heard: list[Callable[[str], None]] = field(default_factory=list)


class Attends(Protocol):
    """The session's attendant, as seen from here."""

    #: An answer is not heard before it is known what was said.
    speaking: asyncio.Lock

    async def advance(self) -> None:
        """Carry out what is due."""
        ...

    async def record(self, *facts: f.AnyFact) -> Session:
        """Record facts and carry out what follows from them."""
        ...

    def background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[Any]:
        """Run something in the background."""
        ...

    def let_go(self, hearing: Hearing) -> None:
        """This attempt is no longer followed."""
        ...

    def put_off(self) -> None:
        """Do what is due again in a moment, and nothing of it before."""
        ...

    def overtaken(self) -> None:
        """A newer daemon has taken the session over."""
        ...


class Hearing:
    """Belongs to one attempt of one session."""

    def __init__(self, talk: Talk, session: str, house: Attendance, attendant: Attends) -> None:
        self.talk = talk
        self._session = session
        self._house = house
        self._engine = house.engine
        self._keepers = house.keepers
        self._records = house.records
        self._attendant = attendant
        self._serving: set[asyncio.Task[Any]] = set()
        #: nobody follows this attempt any more: late findings about it are dropped
        self.is_over = False

    async def heard_so_far(self, *, connected: bool) -> Step:
        """What was said before we came."""
        number = self.talk.attempt
        sent = list(self._keepers.sent(self._session, number))
        step = await self._rebuilt(sent, self._keepers.heard(self._session, number))
        if not connected:
            step.callbacks.clear()  # a dead agent's requests no longer matter
        return step

    async def begin(self, step: Step) -> None:
        """Read what was said before we came, and follow the agent's own record."""
        if self.talk.token is not None:
            self._records.follow(self._engine.session(self._session), self.talk.token)
        await self.take_in(step)

    async def _rebuilt(self, sent: list[Sent], heard: bytes) -> Step:
        """Large amounts are read outside the loop, so that others are served meanwhile."""
        if len(heard) < _MUCH:
            return self.talk.rebuild(sent, heard)
        return await asyncio.to_thread(self.talk.rebuild, sent, heard)

    async def follow(self) -> None:
        """Follow the attempt to its end. Whatever goes wrong, it will be followed again."""
        session, talk = self._session, self.talk
        try:
            async for item in self._keepers.follow(session, talk.attempt, talk.offset):
                if isinstance(item, Output):
                    async with self._attendant.speaking:
                        await self.take_in(talk.feed(item.data))
                    for tell in self._house.heard:
                        tell(session)
                elif isinstance(item, Lost):
                    message = f"the agent's output was truncated: {item.bytes} bytes may be lost"
                    await self._notice(message)
                else:
                    await self._gone(item)
        except StaleGeneration:
            log.error("%s: a newer daemon has taken it over", session)
            self._attendant.overtaken()
            return
        except (RekindleError, OSError):
            log.exception("%s: following it failed; trying again", session)
            self._attendant.let_go(self)
            self._attendant.put_off()
            return
        await self._attendant.advance()

    async def take_in(self, step: Step) -> None:
        """Record what some bytes mean, and carry out what follows."""
        for message in step.outgoing:
            with contextlib.suppress(KeeperLost, NoRoomForTurn):
                await self.send(message)
        background = self._attendant.background
        if step.facts:
            facts = [await self._with_skill(one) for one in step.facts]
            now = await self._engine.record(self._session, *facts)
            worked = any(isinstance(fact, f.TurnBegan | f.TurnFinished) for fact in step.facts)
            if worked and self.talk.wire.token is not None:
                self._records.follow(now, self.talk.wire.token)  # a new conversation has a record from now on
            background(self._attendant.advance())
            if any(isinstance(fact, f.TurnFinished | f.TurnFailed) for fact in step.facts):
                background(self._look_for_compaction())
            if may_compare(now, self.talk, step.facts):
                background(self._compare())
        for asked in step.callbacks:
            background(self._serve(asked))
        if step.opening:
            background(self._settle())

    async def _with_skill(self, fact: f.AnyFact) -> f.AnyFact:
        """A measure of a context that is full says whether the agent works through a skill: that decides what follows.

        Nobody looks for that as long as it does not matter.
        """
        state = self._engine.session(self._session)
        most = state.limits.dehydrate_at
        if not isinstance(fact, f.ContextMeasured) or not most or fact.used < most * fact.size:
            return fact
        return replace(fact, skill=await self._house.comeback.rehydration.skill_of(state))

    async def listen(self) -> None:
        """Check what the silence of an agent in a terminal, and its own record, mean by now."""
        state = self._engine.session(self._session)
        known = self.talk.token if self.talk.wants_record(state) else None
        record = await self._records.read(state, known) if known is not None else None
        if not self.is_over:
            await self.take_in(self.talk.listen(self._engine.session(self._session), record))

    async def send(self, message: Outgoing) -> int:
        """Send a message to the agent; its number in the spool."""
        number = await self._keepers.send(self._session, self.talk.attempt, message.message_id, message.line)
        self.talk.sent(message)
        return number

    async def _gone(self, ended: Ended) -> None:
        session, talk, engine = self._session, self.talk, self._engine
        for task in list(self._serving):
            task.cancel()
        await self._house.workplace.end_terminals(engine.session(session))
        opened = talk.opened()
        # An agent that dies while showing its past may not have shown all of it: conclude nothing.
        facts: list[f.AnyFact] = [opened] if opened is not None and opened.how == "new" else []
        facts += talk.catch_up(self._keepers.sent(session, talk.attempt))
        state = await engine.record(session, *facts) if facts else engine.session(session)
        try:
            await self._records.copy(state)
        except RekindleError as error:
            await self._notice(error.message)
        self._records.unfollow(session)
        if talk.kind.proof == "transcript" and is_uncompared(engine.session(session), talk.attempt):
            # the last moment at which its record can prove anything
            await engine.record(session, await compared(self._records, engine.session(session), talk, engine.clock()))
        record = await last_words(self._records, engine.session(session))
        await engine.record(session, talk.ended(ended, engine.session(session), record))
        self._attendant.let_go(self)

    async def _settle(self) -> None:
        """Wait until the agent has shown what it remembers, then say that the conversation is open.

        An agent whose own record is the proof shows nothing, so there is nothing to wait for.
        """
        talk = self.talk
        if talk.wire.open.opened == "load" and talk.kind.proof == "replay":
            before = -1
            while before != talk.offset:
                before = talk.offset
                await asyncio.sleep(self._house.settle_seconds)
        opened = talk.opened()
        if opened is None:
            return
        state = self._engine.session(self._session)
        found = await self._house.comeback.verdict(state, opened, talk.shown, self._engine.clock())
        if not self.is_over:
            state = await self._attendant.record(found)
            if found is opened:
                self._records.follow(state, opened.token)

    async def _compare(self) -> None:
        """Check the agent's own record until it has grown: it is written a moment after the output."""
        for _ in range(_LOOKS):
            state = self._engine.session(self._session)
            found = await compared(self._records, state, self.talk, self._engine.clock())
            if found.extends is not None:
                break
            await asyncio.sleep(self._house.settle_seconds)
        if not self.is_over and stands(self._engine.session(self._session), found):
            await self._attendant.record(found)

    async def _look_for_compaction(self) -> None:
        state = self._engine.session(self._session)
        found = await compacted(self._records, state, self.talk, self._engine.clock())
        if found is not None and not self.is_over:
            await self._engine.record(self._session, found)

    async def _serve(self, asked: o.CallbackAsked) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            state = self._engine.session(self._session)
            result = await self._house.workplace.serve(state, self.talk.attempt, asked)
        except (RekindleError, OSError, ValueError) as error:
            result = CallbackRefused("failed", str(error))
        finally:
            self._serving.discard(task)
        reply = self.talk.wire.reply(asked, result)
        while reply is not None and not self.is_over:
            try:
                await self.send(reply)
                return
            except KeeperLost:
                return
            except NoRoomForTurn:
                await asyncio.sleep(self._house.pause_seconds)

    async def _notice(self, message: str) -> None:
        await self._engine.record(self._session, f.Noticed(at=self._engine.clock(), message=message))
