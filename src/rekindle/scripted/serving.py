"""The agent on a wire: which method of the protocol is which of the agent's, and what has to be given with it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from rekindle.scripted import greeting
from rekindle.scripted.agent import ScriptedAgent
from rekindle.scripted.client import WireClient
from rekindle.scripted.rpc import Message, RequestError, RpcConnection
from rekindle.scripted.wire import StdioTransport


def serve(home: Path, *, load: bool) -> None:
    """Speak ACP on standard input and output until the client closes its end."""
    asyncio.run(_serve(ScriptedAgent(home, load=load)))


async def _serve(agent: ScriptedAgent) -> None:
    served = _Served(agent)
    methods = {
        "initialize": served.initialize,
        "session/new": served.new,
        "session/load": served.load,
        "session/resume": served.resume,
        "session/list": served.list,
        "session/prompt": served.prompt,
    }
    transport = StdioTransport(sys.stdin.buffer, sys.stdout.fileno())
    connection = RpcConnection(transport, methods, {"session/cancel": served.cancel})
    agent.on_connect(WireClient(connection))
    await connection.listen()


class _Served:
    """The agent's methods as a client calls them. Each raises RequestError for params that make no sense."""

    def __init__(self, agent: ScriptedAgent) -> None:
        self._agent = agent

    async def initialize(self, params: Message) -> Message:
        offers = greeting.offers(params)
        if offers is None:
            raise RequestError.invalid_params("protocolVersion must be a number")
        return await self._agent.initialize(offers)

    async def new(self, params: Message) -> Message:
        return await self._agent.new_session(_text(params, "cwd"))

    async def load(self, params: Message) -> Message:
        return await self._agent.load_session(_text(params, "sessionId"), _text(params, "cwd"))

    async def resume(self, params: Message) -> Message:
        return await self._agent.resume_session(_text(params, "sessionId"), _text(params, "cwd"))

    async def list(self, params: Message) -> Message:
        return await self._agent.list_sessions(None if params.get("cwd") is None else _text(params, "cwd"))

    async def prompt(self, params: Message) -> Message:
        return await self._agent.prompt(_text(params, "sessionId"), _blocks(params.get("prompt")))

    async def cancel(self, params: Message) -> None:
        await self._agent.cancel(_text(params, "sessionId"))


def _text(params: Message, name: str) -> str:
    match params.get(name):
        case str(text):
            return text
        case _:
            raise RequestError.invalid_params(f"{name} must be a text")


def _blocks(given: Any) -> list[Message]:
    """The blocks of a prompt."""
    for block in given if isinstance(given, list) else [None]:
        match block:
            case {"type": "text", "text": str()}:
                pass
            case {"type": str(kind)} if kind != "text":
                pass
            case _:
                raise RequestError.invalid_params("prompt must be a list of content blocks")
    return list(given)
