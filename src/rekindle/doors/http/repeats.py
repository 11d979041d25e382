"""A request that is sent again with the same key gets the answer of the first time, and is not carried out again.

The key is noted on disk before the request is carried out, and its answer after that. If the daemon was killed in
between, what can be asked twice without harm is done again; of the rest nobody knows the outcome, and that is said.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from typing import TYPE_CHECKING, Any

from rekindle.doors.http.problems import MEDIA_TYPE, DoorRefusal, body_of, problem_of
from rekindle.ports.kept_answers import KeptAnswer, KeptAnswers
from rekindle.runtime.turns import Turns

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Receive, Send
    from litestar.types import Scope as AsgiScope

log = logging.getLogger(__name__)
_METHODS = ("POST", "PUT", "PATCH", "DELETE")
#: Ends of paths whose requests change something each time. All others name what they make, or say how it is to be.
_NOT_TWICE = ("/retry", "/restore", "/cancel", "/hurry", "/features")
_PAIR = "/pair"
LONGEST_KEY = 200


class Repeats:
    """An ASGI application around another one. It reads the whole body, which the guard has limited."""

    def __init__(self, inner: ASGIApp, kept: KeptAnswers) -> None:
        self._inner = inner
        self._kept = kept
        self._turns = Turns()

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Carry a request out, or give the answer that it got before."""
        about: Any = scope
        key = _key(about) if about["type"] == "http" and about["method"] in _METHODS else None
        about["rekindle.key"] = key or None
        if not key or about["path"].rstrip("/").endswith(_PAIR):
            await self._inner(scope, receive, send)
            return
        if len(key) > LONGEST_KEY:
            await _refuse(send, DoorRefusal(400, f"a key has {LONGEST_KEY} characters at most", "use a shorter one"))
            return
        first: Any = await receive()
        body = first.get("body", b"")
        what = f"{about['method']}\0{about['path'].rstrip('/')}\0{key}"
        name = hashlib.sha256(what.encode("utf-8", "surrogatepass")).hexdigest()
        digest = hashlib.sha256(about["query_string"] + b"\0" + body).hexdigest()
        async with self._turns.of(name):
            await self._once(scope, _given(first, receive), send, name, digest)

    async def _once(self, scope: AsgiScope, receive: Receive, send: Send, name: str, digest: str) -> None:
        path: str = scope["path"].rstrip("/")  # the router takes both
        known = await asyncio.to_thread(self._kept.get, name)
        if known is not None and known.digest != digest:
            told = "this key was used for another request"
            await _refuse(send, DoorRefusal(422, told, "use a new key for a new request", code="key_reused"))
            return
        if known is not None and known.status:
            await _answer(send, known)
            return
        if known is not None and (path.endswith(_NOT_TWICE) or "/features/" in path):
            told = "this was begun and came to no end that was noted, and nobody knows how far it came"
            hint = "look at what it was about; then ask again with a new key"
            await _refuse(send, DoorRefusal(409, told, hint, code="outcome_unknown"))
            return
        try:
            await asyncio.to_thread(self._kept.put, name, KeptAnswer(digest=digest))
        except OSError as error:
            told = f"the key could not be noted ({error.strerror}), and nothing was done"
            await _refuse(send, DoorRefusal(503, told, "make room, then ask again with the same key", code="not_noted"))
            return
        heard = _Heard()
        await self._inner(scope, receive, heard)
        try:
            await asyncio.to_thread(self._settle, name, digest, heard)
        except OSError as error:  # it was carried out: whoever asked is told so, and the key stays noted
            log.warning("the answer to a request could not be kept: %s", error)
        for message in heard.messages:
            await send(message)

    def _settle(self, name: str, digest: str, heard: _Heard) -> None:
        """Keep an answer. A refusal has done nothing, so its key is free again; a failure may have done anything."""
        if heard.status < 300:
            answer = KeptAnswer(digest=digest, status=heard.status, kind=heard.kind, body=heard.body)
            self._kept.put(name, answer)
        elif heard.status < 500:
            self._kept.drop(name)


class _Heard:
    """Takes an answer, so that it can be kept before it is passed on."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.status = 500
        self.kind = ""
        self.body = b""

    async def __call__(self, message: Any) -> None:
        self.messages.append(message)
        if message["type"] == "http.response.start":
            self.status = message["status"]
            kinds = [value for name, value in message["headers"] if name.lower() == b"content-type"]
            self.kind = kinds[0].decode("latin-1") if kinds else ""
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")


def _key(scope: Any) -> str:
    found = [value for name, value in scope["headers"] if name.lower() == b"idempotency-key"]
    return found[0].decode("latin-1").strip() if found else ""


def _given(first: Any, receive: Receive) -> Receive:
    given = [first]

    async def giving() -> Any:
        return given.pop() if given else await receive()

    return giving


async def _answer(send: Send, known: KeptAnswer) -> None:
    headers = [(b"content-type", known.kind.encode("latin-1")), (b"idempotent-replayed", b"true")]
    headers.append((b"content-length", str(len(known.body)).encode()))
    start: Any = {"type": "http.response.start", "status": known.status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": known.body, "more_body": False})


async def _refuse(send: Send, error: DoorRefusal) -> None:
    problem = problem_of(error)
    await _answer(send, KeptAnswer(digest="", status=problem.status, kind=MEDIA_TYPE, body=body_of(problem)))
