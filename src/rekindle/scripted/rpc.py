"""JSON-RPC in both directions: requests of the client that are answered, and requests of our own that wait for theirs.

ACP needs little of JSON-RPC. The ACP SDK would bring it too, but its import takes most of an agent's start, because it
makes hundreds of models of which an agent uses a dozen. What we send is checked against the SDK's schema in the tests.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

Message = dict[str, Any]
Handler = Callable[[Message], Awaitable[Message | None]]

_INVALID_REQUEST = -32600
_METHOD_NOT_FOUND = -32601
_INVALID_PARAMS = -32602
_INTERNAL_ERROR = -32603


class RequestError(Exception):
    """A request is answered with this error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data

    @classmethod
    def invalid_request(cls, message: str) -> RequestError:
        """It cannot be done now."""
        return cls(_INVALID_REQUEST, message)

    @classmethod
    def method_not_found(cls, method: str) -> RequestError:
        """There is no such method."""
        return cls(_METHOD_NOT_FOUND, "Method not found", {"method": method})

    @classmethod
    def invalid_params(cls, details: str) -> RequestError:
        """What was given with it is wrong."""
        return cls(_INVALID_PARAMS, "Invalid params", {"details": details})


class MessageTransport(Protocol):
    """Carries messages."""

    async def receive(self) -> Message | None:
        """The next message, None when there are no more."""
        ...

    async def send(self, message: Message) -> None:
        """Send a message. Raises ConnectionError if nobody can get it any more."""
        ...


class RpcConnection:
    """One connection to a client. `methods` answer its requests, `notices` take its notifications."""

    def __init__(
        self, transport: MessageTransport, methods: Mapping[str, Handler], notices: Mapping[str, Handler]
    ) -> None:
        self._transport = transport
        self._methods = methods
        self._notices = notices
        self._is_over = False
        self._sent = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def listen(self) -> None:
        """Take messages until there are no more. What is under way then, and waits for something, is cut off."""
        try:
            while (message := await self._transport.receive()) is not None:
                self._take(message)
            await asyncio.sleep(0)  # what came last has begun
        finally:
            self._is_over = True
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(_closed())
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def notify(self, method: str, params: Message) -> None:
        """Send a notification. Raises ConnectionError."""
        if self._is_over:
            raise _closed()
        await self._transport.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def request(self, method: str, params: Message) -> Any:
        """Send a request and wait for its result. Raises RequestError if that is an error, and ConnectionError."""
        if self._is_over:
            raise _closed()
        number, self._sent = self._sent, self._sent + 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            await self._transport.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            return await future
        finally:
            self._waiting.pop(number, None)

    def _take(self, message: Message) -> None:
        if "method" in message:
            task = asyncio.ensure_future(self._serve(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif "id" in message:
            self._settle(message)

    def _settle(self, message: Message) -> None:
        future = self._waiting.get(message["id"]) if isinstance(message["id"], int) else None
        if future is None or future.done():
            return
        error = message.get("error")
        if "result" in message or not isinstance(error, dict):
            future.set_result(message.get("result"))
            return
        code = error.get("code", _INTERNAL_ERROR)
        future.set_exception(RequestError(code, str(error.get("message", "Error")), error.get("data")))

    async def _serve(self, message: Message) -> None:
        method, params = message["method"], message.get("params")
        known = self._methods if "id" in message else self._notices
        try:
            handler = known.get(method) if isinstance(method, str) else None
            if handler is None:
                raise RequestError.method_not_found(method)
            answer: Message = {"result": await handler(params if isinstance(params, dict) else {})}
        except RequestError as error:
            answer = {"error": {"code": error.code, "message": str(error), "data": error.data}}
        except ConnectionError:
            return  # nobody is there to be answered
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            answer = {"error": {"code": _INTERNAL_ERROR, "message": "Internal error", "data": {"details": str(error)}}}
        if "id" in message:
            try:
                await self._transport.send({"jsonrpc": "2.0", "id": message["id"], **answer})
            except ConnectionError:
                pass


def _closed() -> ConnectionError:
    return ConnectionError("Connection closed")
