"""The daemon's socket: one JSON object per line, any number of clients. Bad input gets an answer and harms nobody."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import json
import logging
import os
import typing
from collections.abc import Awaitable
from typing import Any

import msgspec

from rekindle.app.requests import DaemonRequest
from rekindle.app.service import Service
from rekindle.app.signing import refuse_signature
from rekindle.core import inside
from rekindle.doors.socket.operations import MOST_FACTS, Operation
from rekindle.doors.socket.peer import Peer, peer_of
from rekindle.ports.ancestry import Ancestry, refusal
from rekindle.ports.errors import RekindleError, UsageError
from rekindle.ports.told_errors import as_told

log = logging.getLogger(__name__)
#: The parts of requests that name a file or a folder, whatever is asked for.
_PATHS = ("cwd", "staged")
_LONGEST = 16 << 20
#: What is answered while the daemon still takes up the sessions of the one before it.
_AT_ONCE = ("ping", "list", "shutdown")
Answer = dict[str, Any]


class DaemonPid(msgspec.Struct, frozen=True):
    """Who serves."""

    pid: int


class Server:
    """Serves one Service on a unix socket in a folder that only this user can access."""

    def __init__(self, service: Service, operations: dict[str, Operation], path: str, ancestry: Ancestry) -> None:
        self._service = service
        self._ancestry = ancestry
        self._path = path
        self._server: asyncio.Server | None = None
        self.stopping = asyncio.Event()
        #: every session is taken up: what is asked about one is answered from now on
        self.is_ready = asyncio.Event()
        self.clients = 0
        self._operations: dict[str, Operation] = {"ping": self._ping, **operations, "shutdown": self._shutdown}

    async def open(self) -> None:
        """Start listening. A socket left by a dead daemon is replaced; its lock was free."""
        if self._server is not None:
            self._server.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)
        self._server = await asyncio.start_unix_server(self._client, self._path, limit=_LONGEST)
        os.chmod(self._path, 0o600)

    async def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.clients += 1
        try:
            peer = peer_of(writer.get_extra_info("socket"), self._ancestry)
            if peer is None:
                return
            while True:
                try:
                    line = await reader.readline()
                except ValueError:
                    writer.write(_encoded(None, _failed(UsageError("a line is too long", "send less at once"))))
                    return
                if not line:
                    return
                request, answer = await self._handle(line, peer)
                writer.write(_encoded(request, answer))
                await writer.drain()
                if request is not None and request.get("op") == "follow_feed":
                    await self._stream(request, reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            return
        finally:
            self.clients -= 1
            writer.close()

    async def _handle(self, line: bytes, peer: Peer) -> tuple[dict[str, Any] | None, Answer | msgspec.Struct]:
        request: dict[str, Any] | None = None
        try:
            request = _parsed(line)
            op = str(request.get("op"))
            if op != "follow_feed" and op not in self._operations:
                raise UsageError(
                    f"there is no operation {request.get('op')!r}", f"there are: {', '.join(self._operations)}"
                )
            is_inside = peer.is_inside()
            if is_inside and not inside.may_ask(op, request.get("type")):
                raise refusal(f"ask the daemon for `{op}`")
            if op not in _AT_ONCE:
                await self.is_ready.wait()
            if op == "follow_feed":
                return request, {"ok": True}
            operation = self._operations[op]
            values = {key: value for key, value in request.items() if key not in ("op", "seq")}
            if is_inside and op == "journal_append":
                values["by_agent"] = True
            if op == "answer":
                values["by_agent"] = inside.is_marked(values.get("env"))
            answer = await call(operation, values)
            if is_inside and op == "list":
                listed = msgspec.to_builtins(answer)["sessions"]
                return request, {"ok": True, "sessions": [inside.harmless(one) for one in listed]}
            return request, answer
        except RekindleError as error:
            return request, _failed(error)
        except msgspec.ValidationError as error:
            return request, _failed(UsageError(f"bad request: {error}", "see docs/daemon.md"))
        except Exception as error:
            log.exception("an operation failed")
            return request, _failed(
                RekindleError(f"{type(error).__name__}: {error}", "see the daemon's log", code="internal")
            )

    async def _stream(
        self, request: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        given = request.get("after")
        after = max(0, min(given, MOST_FACTS)) if isinstance(given, int) else 0
        while not reader.at_eof():
            facts = (await self._service.feed(after, 500)).facts
            for fact in facts:
                writer.write(json.dumps(fact).encode() + b"\n")
                after = fact["seq"]
            await writer.drain()
            if not facts:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(5.0):
                        await self._service.next_fact()

    async def _ping(self) -> DaemonPid:
        return DaemonPid(os.getpid())

    async def _shutdown(self) -> DaemonPid:
        self.stopping.set()
        return DaemonPid(os.getpid())


def _parsed(line: bytes) -> dict[str, Any]:
    """A line as a request. Raises UsageError."""
    try:
        request = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:  # a number may have too many digits
        raise UsageError(f"bad request: {error}", "see docs/daemon.md") from error
    if not isinstance(request, dict):
        raise UsageError("a request is a JSON object", 'for example {"op": "ping"}')
    return request


def _refuse(constant: str) -> float:
    """NaN is not JSON. One timer set to it breaks the order of all timers of the loop."""
    raise ValueError(f"{constant} is not a number")


@functools.cache
def _shape(operation: Operation) -> type[msgspec.Struct]:
    """The type that an operation's requests are checked against: its own, or one made from its parameters."""
    hints = typing.get_type_hints(operation)
    fields: list[Any] = []
    for name, parameter in inspect.signature(operation).parameters.items():
        hint = hints[name]
        if isinstance(hint, type) and issubclass(hint, DaemonRequest):
            return hint
        required = parameter.default is inspect.Parameter.empty
        fields.append((name, hint) if required else (name, hint, parameter.default))
    return msgspec.defstruct("Parameters", fields, kw_only=True, forbid_unknown_fields=True)


def call(operation: Operation, values: dict[str, Any]) -> Awaitable[msgspec.Struct]:
    """Carry out an operation with what was given for it. Raises UsageError and ValidationError."""
    for name in _PATHS:
        if isinstance(given := values.get(name), str) and not _can_be_path(given):
            raise UsageError(f"bad request: {name} {given!r} is not a valid path", "give a path that can be on disk")
    if isinstance(by := values.get("by"), str):
        refuse_signature(by)
    if isinstance(plan := values.get("plan"), str) and not _is_text(plan):
        raise UsageError("bad request: the plan is not valid text: it contains half a character", "write it in UTF-8")
    asked = msgspec.convert(values, _shape(operation))
    return operation(asked) if isinstance(asked, DaemonRequest) else operation(**msgspec.structs.asdict(asked))


def _can_be_path(given: str) -> bool:
    """Whether the system accepts it as a path. Names in encodings other than UTF-8 are paths too."""
    try:
        return b"\0" not in os.fsencode(given)
    except UnicodeEncodeError:
        return False


def _is_text(given: str) -> bool:
    """Whether it can be stored: JSON can contain half of a surrogate pair."""
    try:
        given.encode()
    except UnicodeEncodeError:
        return False
    return True


def _failed(error: RekindleError) -> Answer:
    return {"ok": False, "error": as_told(error)}


def _encoded(request: dict[str, Any] | None, answer: Answer | msgspec.Struct) -> bytes:
    told: Answer = {"re": request.get("seq") if request is not None else None}
    try:
        if isinstance(answer, msgspec.Struct):  # thousands of sessions are not turned into dicts first
            front, rest = msgspec.json.encode({**told, "ok": True}), msgspec.json.encode(answer)
            return front[:-1] + (b"," if rest != b"{}" else b"") + rest[1:] + b"\n"
        told.update(answer)
        return msgspec.json.encode(told) + b"\n"
    except (UnicodeEncodeError, OverflowError, RecursionError):  # half a character, or a number that is too long
        more = {"ok": True, **msgspec.to_builtins(answer)} if isinstance(answer, msgspec.Struct) else answer
        return json.dumps({**told, **more}).encode() + b"\n"
