"""What an agent asks of its client, in the words of ACP. The client is at the end of a wire, or is a screen."""

from __future__ import annotations

from typing import Any, Protocol

from rekindle.scripted.rpc import Message, RpcConnection

UPDATE = "session/update"


class AcpClient(Protocol):
    """Whoever the agent works for."""

    async def update(self, session_id: str, update: Message) -> None:
        """Show what happens."""
        ...

    async def request(self, method: str, params: Message) -> Message:
        """Ask for something. Raises RequestError if it is refused."""
        ...


class WireClient:
    """A client that is reached over a connection."""

    def __init__(self, connection: RpcConnection) -> None:
        self._connection = connection

    async def update(self, session_id: str, update: Message) -> None:
        """Send it as a notification."""
        await self._connection.notify(UPDATE, {"sessionId": session_id, "update": update})

    async def request(self, method: str, params: Message) -> Message:
        """Send it as a request, and wait for the answer."""
        answer = await self._connection.request(method, params)
        return answer if isinstance(answer, dict) else {}


class NonsenseAnswer(Exception):
    """The client's answer is not what the protocol says."""


def given(answer: Message, name: str, kind: type[Any]) -> Any:
    """A part of an answer that has to be there. Raises NonsenseAnswer."""
    found = answer.get(name)
    if not isinstance(found, kind):
        raise NonsenseAnswer(f"{name} is missing, or not of the type {kind.__name__}")
    return found
