"""A world of agents in memory: keepers that outlive the supervisor, and agents that keep a record of their own.

Time does not pass here. An agent acts when `settle` lets it, so that a test decides when.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from rekindle.ports.keepers import Ended, KeeperLost, Lost, Order, Output, Running, Sent


@dataclass
class FakeAttempt:
    """A keeper with its agent."""

    order: Order
    alive: bool = True
    generation: int = 0
    records: list[Sent] = field(default_factory=list)
    out: bytes = b""
    handled: int = 0
    ended: Ended | None = None
    stop_reason: str | None = None


@dataclass
class Conversation:
    """What the agent itself remembers: it survives its process."""

    token: str
    prompts: list[str] = field(default_factory=list)


class FakeWorld:
    """All keepers and agents. `point` is called before and after everything that changes the world."""

    def __init__(self) -> None:
        self.attempts: dict[tuple[str, int], FakeAttempt] = {}
        self.conversations: dict[str, Conversation] = {}
        self.executed: list[tuple[str, str]] = []
        self.most_alive = 0
        self.obstacle: str | None = None

    def alive(self, session: str) -> int:
        return sum(one.alive for (name, _), one in self.attempts.items() if name == session)

    def kill(self, session: str) -> None:
        """kill -9 of the session's agent."""
        for (name, _), one in self.attempts.items():
            if name == session and one.alive:
                one.alive = False
                one.ended = Ended("killed by SIGKILL", False, one.handled, one.handled)

    def settle(self) -> bool:
        """Let every live agent handle one message; whether any did."""
        moved = False
        for one in self.attempts.values():
            if one.alive and one.handled < len(one.records):
                record = one.records[one.handled]
                one.handled += 1
                self._handle(one, json.loads(record.payload))
                moved = True
            if one.alive and one.stop_reason is not None:
                one.alive = False
                one.ended = Ended(f"stopped ({one.stop_reason})", True, one.handled, one.handled)
                moved = True
        return moved

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
    """See `rekindle.ports.keepers.Keepers`, over a FakeWorld."""

    def __init__(self, world: FakeWorld) -> None:
        self.world = world

    def point(self, name: str) -> None:
        """Where a test may crash the supervisor."""

    async def launch(self, order: Order) -> Running:
        self.point("before launch")
        key = (order.session, order.attempt)
        if key not in self.world.attempts:
            assert self.world.alive(order.session) == 0, "a second agent of one session"
            self.world.attempts[key] = FakeAttempt(order, generation=order.generation)
        self.point("after launch")
        return Running(f"{order.session}/{order.attempt}", 1000 + order.attempt)

    def obstacle(self, order: Order) -> str | None:
        return self.world.obstacle

    async def connect(self, session: str, attempt: int, generation: int) -> bool:
        one = self.world.attempts.get((session, attempt))
        if one is None or not one.alive:
            return False
        assert generation >= one.generation, "a stale generation speaks"
        one.generation = generation
        return True

    async def send(self, session: str, attempt: int, message: str, payload: bytes) -> int:
        self.point("before send")
        one = self.world.attempts.get((session, attempt))
        if one is None or not one.alive:
            raise KeeperLost(session)
        known = next((record for record in one.records if record.id == message), None)
        if known is None:
            known = Sent(len(one.records) + 1, message, payload)
            one.records.append(known)
        assert known.payload == payload, "an id was used for two messages"
        self.point("after send")
        if not one.alive:
            raise KeeperLost(session)  # it has the message, and nobody hears that it has
        return known.number

    async def end(self, session: str, attempt: int, reason: str) -> None:
        self.point("before end")
        one = self.world.attempts.get((session, attempt))
        if one is not None and one.alive:
            one.stop_reason = reason
        self.point("after end")

    def sent(self, session: str, attempt: int) -> Iterator[Sent]:
        one = self.world.attempts.get((session, attempt))
        yield from list(one.records) if one is not None else []

    def heard(self, session: str, attempt: int) -> bytes:
        one = self.world.attempts.get((session, attempt))
        return one.out if one is not None else b""

    async def follow(self, session: str, attempt: int, offset: int) -> AsyncIterator[Output | Lost | Ended]:
        import asyncio

        one = self.world.attempts[session, attempt]
        while True:
            if len(one.out) > offset:
                data = one.out[offset:]
                offset = len(one.out)
                yield Output(data, offset)
            elif not one.alive:
                break
            else:
                await asyncio.sleep(0)
        assert one.ended is not None
        yield one.ended

    def look(self, session: str, attempt: int) -> Literal["absent", "alive", "ending", "gone"]:
        one = self.world.attempts.get((session, attempt))
        if one is None:
            return "absent"
        return "alive" if one.alive else "gone"
