"""A world of agents in memory: keepers that outlive the supervisor, and agents that keep a record of their own.

Time does not pass here. An agent acts when `settle` lets it, so that a test decides when. The conformance suite holds
it to the promises of `rekindle.ports.keepers`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rekindle.keeper import deadline
from rekindle.ports.errors import OwnedError, RekindleError
from rekindle.ports.keepers import (
    AttemptOrder,
    Ended,
    KeeperLost,
    Lost,
    NoRoomForTurn,
    NoRoomToStart,
    Output,
    ProgramMissing,
    Sent,
    StartedAttempt,
)
from rekindle.ports.runtimes import Instance
from rekindle.ports.store import StaleGeneration

#: How much a program's standard input holds before the program has read any of it.
PIPE = 1 << 16


@dataclass
class FakeAttempt:
    """A keeper with its agent.

    `handled` are the messages that the agent has acted on. Its standard input holds more of them: those are delivered,
    and a dead agent has done nothing about them. `children` are the processes that it leaves behind.
    """

    order: AttemptOrder
    alive: bool = True
    generation: int = 0
    records: list[Sent] = field(default_factory=list)
    out: bytes = b""
    handled: int = 0
    ended: Ended | None = None
    stop_reason: str | None = None
    mute: bool = False
    frozen: bool = False
    ran: bool = True
    children: tuple[str, ...] = ()
    lost: int = 0
    how: Ended | None = None
    until: float = 0.0
    waiting: list[asyncio.Future[None]] = field(default_factory=list)

    def __setattr__(self, name: str, value: object) -> None:
        """Whoever follows the attempt is woken by what it writes and by its end."""
        object.__setattr__(self, name, value)
        if name in ("out", "ended"):
            for one in self.__dict__.get("waiting", []):
                if not one.done():
                    one.set_result(None)

    async def changes(self) -> None:
        """Wait until it writes, or ends."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting = [*(one for one in self.waiting if not one.done()), waiter]
        await waiter

    @property
    def delivered(self) -> int:
        """How many messages have left the keeper whole."""
        number, room = self.handled, PIPE
        for record in self.records[self.handled :]:
            room -= len(record.payload)
            if room < 0:
                break
            number += 1
        return number

    @property
    def started(self) -> int:
        """How many messages have begun to leave the keeper."""
        return min(self.delivered + 1, len(self.records))

    def die(self, how: str, *, by_us: bool = False) -> None:
        """The agent is dead. Its tree is gone when its children are, which takes until `World.settle`."""
        self.alive = False
        self.how = Ended(how, by_us, self.delivered, self.started)
        if not self.children:
            self.sweep()

    def sweep(self) -> None:
        """Nothing of the tree is left."""
        assert self.how is not None
        self.ended = replace(self.how, swept=self.children, truncated=self.lost)
        self.children = ()


@dataclass
class Conversation:
    """What the agent itself remembers: it survives its process."""

    token: str
    prompts: list[str] = field(default_factory=list)


#: A prompt after which the context window of the agent is nearly full.
FILLING = "fill it"


class FakeWorld:
    """All keepers and agents. `refused` is what was asked for and no supervisor without a fault asks for."""

    def __init__(self) -> None:
        self.attempts: dict[tuple[str, int], FakeAttempt] = {}
        self.conversations: dict[str, Conversation] = {}
        self.executed: list[tuple[str, str]] = []
        self.refused: list[str] = []
        self.most_alive = 0
        self.obstacle: str | None = None
        self.is_full = False
        #: the clock of deadlines
        self.boottime = deadline.clock

    def alive(self, session: str) -> int:
        return sum(one.alive for (name, _), one in self.attempts.items() if name == session)

    def is_taken(self, session: str) -> bool:
        """Whether any process of the session is left."""
        return any(one.ended is None for (name, _), one in self.attempts.items() if name == session)

    def kill(self, session: str, how: str = "killed by SIGKILL") -> None:
        """kill -9 of the session's agent, or of whoever `how` says."""
        for (name, _), one in self.attempts.items():
            if name == session and one.alive:
                one.die(how)

    def shorten(self, session: str, attempt: int, size: int) -> None:
        """Somebody cuts off the end of what the agent has written."""
        one = self.attempts[session, attempt]
        one.lost += len(one.out) - size
        one.out = one.out[:size]

    def settle(self) -> bool:
        """Let every live agent handle one message; whether any did."""
        moved = False
        for one in self.attempts.values():
            if one.alive and not one.frozen and one.handled < len(one.records):
                record = one.records[one.handled]
                one.handled += 1
                self._hear(one, record.payload)
                moved = True
            if one.alive and one.stop_reason is not None:
                one.die(f"stopped ({one.stop_reason})", by_us=True)
                moved = True
            if one.alive and one.until and one.until <= self.boottime():
                one.die("deadline passed")
                moved = True
            if not one.alive and one.ended is None:
                one.sweep()
                moved = True
        return moved

    def _hear(self, one: FakeAttempt, payload: bytes) -> None:
        self._handle(one, json.loads(payload))

    def _handle(self, one: FakeAttempt, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params", {})
        if method == "initialize":
            self._answer(one, message, {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}})
        elif method == "session/new":
            token = f"conv-{len(self.conversations) + 1}"
            self.conversations[token] = Conversation(token)
            self._answer(one, message, {"sessionId": token})
        elif method == "session/load":
            found = self.conversations.get(params["sessionId"])
            if found is None:
                self._write(
                    one, {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32002, "message": "not found"}}
                )
                return
            for text in found.prompts:
                self._update(one, found.token, "user_message_chunk", text)
            self._answer(one, message, {})
        elif method == "session/prompt":
            token, text = params["sessionId"], params["prompt"][0]["text"]
            self.conversations[token].prompts.append(text)
            self.executed.append((one.order.session, text))
            self._update(one, token, "agent_message_chunk", "done: " + text)
            if text == FILLING:
                full = {"sessionUpdate": "usage_update", "used": 80, "size": 100}
                told = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": token, "update": full}}
                self._write(one, told)
            self._answer(one, message, {"stopReason": "end_turn"})

    def _update(self, one: FakeAttempt, token: str, kind: str, text: str) -> None:
        content = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
        self._write(
            one, {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": token, "update": content}}
        )

    def _answer(self, one: FakeAttempt, message: dict[str, Any], result: dict[str, Any]) -> None:
        self._write(one, {"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _write(self, one: FakeAttempt, message: dict[str, Any]) -> None:
        one.out += json.dumps(message).encode() + b"\n"


class FakeKeepers:
    """See `rekindle.ports.keepers.Keepers`, over a FakeWorld. Each one is another daemon's."""

    def __init__(self, world: FakeWorld) -> None:
        self.world = world
        self._generations: dict[tuple[str, int], int] = {}

    def point(self, name: str) -> None:
        """Where a test may crash the supervisor."""

    async def launch(self, order: AttemptOrder) -> StartedAttempt:
        self.point("before launch")
        one = self.world.attempts.get((order.session, order.attempt))
        if one is None:
            self._start(order)
        elif not one.ran:
            raise RekindleError("the agent could not be started")
        self.point("after launch")
        return StartedAttempt(f"{order.session}/{order.attempt}", 1000 + order.attempt)

    def _start(self, order: AttemptOrder) -> None:
        if self.world.is_taken(order.session):
            self._refuse("a second agent of one session")
            raise OwnedError("another process holds the session")
        if self.world.is_full:
            raise NoRoomToStart("the disk has no room")
        one = self.world.attempts[order.session, order.attempt] = FakeAttempt(
            order, generation=order.generation, until=order.until
        )
        if self.world.obstacle is not None:
            one.alive = one.ran = False
            one.ended = Ended("it never ran", False, 0, 0)
            raise ProgramMissing(self.world.obstacle, details={"program": "fake"})

    def obstacle(self, order: AttemptOrder) -> str | None:
        return self.world.obstacle or ("the disk has too little room" if self.world.is_full else None)

    async def connect(self, session: str, attempt: int, generation: int) -> bool:
        one = self.world.attempts.get((session, attempt))
        if one is None or one.ended is not None:
            return False
        self._speak(one, generation)
        self._generations[session, attempt] = generation
        return True

    def _speak(self, one: FakeAttempt, generation: int) -> None:
        if generation < one.generation:
            self._refuse("a stale generation speaks")
            raise StaleGeneration(f"{one.order.session}: a newer daemon has taken it over")
        one.generation = generation

    def _refuse(self, what: str) -> None:
        self.world.refused.append(what)

    async def send(self, session: str, attempt: int, message: str, payload: bytes) -> int:
        self.point("before send")
        one = self.world.attempts.get((session, attempt))
        if one is None or one.ended is not None:
            raise KeeperLost(session)
        self._speak(one, self._generations.get((session, attempt), 0))
        known = next((record for record in one.records if record.id == message), None)
        if known is not None and known.payload != payload:
            self._refuse("an id was used for two messages")
            raise KeeperLost(f"{session}: message {known.number} has this id and another text")
        if known is None:
            if not one.alive or one.stop_reason is not None:
                raise KeeperLost(f"{session}: the agent is being ended")
            if self.world.is_full:
                raise NoRoomForTurn(f"{session}: there is no room on the disk for another turn")
            known = Sent(len(one.records) + 1, message, payload)
            one.records.append(known)
        self.point("after send")
        if one.ended is not None:
            raise KeeperLost(session)  # it has the message, and nobody hears that it has
        return known.number

    async def end(self, session: str, attempt: int, reason: str) -> None:
        self.point("before end")
        one = self.world.attempts.get((session, attempt))
        if one is not None and one.ended is None:
            self._speak(one, self._generations.get((session, attempt), 0))
            one.stop_reason = one.stop_reason or reason
        self.point("after end")

    async def renew(self, session: str, attempt: int, until: float) -> None:
        one = self.world.attempts.get((session, attempt))
        if (
            one is None
            or one.ended is not None
            or not one.alive
            or one.stop_reason is not None
            or not one.until
            or one.until <= self.world.boottime()
        ):
            raise KeeperLost(f"{session}: it is too late, or it has no deadline")
        self._speak(one, self._generations.get((session, attempt), 0))
        one.until = max(one.until, until)

    def sent(self, session: str, attempt: int) -> Iterator[Sent]:
        one = self.world.attempts.get((session, attempt))
        yield from list(one.records) if one is not None else []

    def heard(self, session: str, attempt: int) -> bytes:
        one = self.world.attempts.get((session, attempt))
        return one.out if one is not None else b""

    async def follow(self, session: str, attempt: int, offset: int) -> AsyncIterator[Output | Lost | Ended]:
        one = self.world.attempts.get((session, attempt))
        while one is not None:
            if len(one.out) < offset:
                yield Lost(offset - len(one.out))
                offset = len(one.out)
            elif len(one.out) > offset:
                data = one.out[offset:]
                offset = len(one.out)
                yield Output(data, offset)
            elif one.ended is not None:
                break
            else:
                await one.changes()
        if one is None or one.ended is None:
            yield Ended("its guard and keeper were killed", False, 0, 0)
        else:
            yield one.ended

    def heard_at(self, session: str, attempt: int) -> float | None:
        return None

    def recover_instances(self) -> list[Instance]:
        found = []
        for (session, attempt), one in sorted(self.world.attempts.items()):
            state = self.look(session, attempt)
            if state in ("alive", "ending"):
                alive = state == "alive"
                found.append(
                    Instance(
                        session,
                        attempt,
                        "alive" if alive else "ending",
                        1000 + attempt,
                        started=0.0,
                        answers=not one.mute,
                        owner=1,
                    )
                )
        return found

    def look(self, session: str, attempt: int) -> Literal["absent", "alive", "ending", "gone"]:
        one = self.world.attempts.get((session, attempt))
        if one is None:
            return "absent"
        if one.alive:
            return "alive"
        return "ending" if one.ended is None else "gone"
