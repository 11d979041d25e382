"""What every request passes first: its Host and Origin, its secret, its size and pace, and who has sent it.

Nothing of a request is used, and no body is read, before its secret is known to be right.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from rekindle.doors.http.limits import AT_ONCE, PER_SECOND, WRONG_AT_ONCE, WRONG_PER_SECOND, Buckets
from rekindle.doors.http.names import DoorPlace, hosts, origins
from rekindle.doors.http.passes import Passes, Scope
from rekindle.doors.http.problems import MEDIA_TYPE, DoorRefusal, body_of, problem_of
from rekindle.ports.ancestry import refusal
from rekindle.ports.errors import RekindleError

if TYPE_CHECKING:
    from litestar.connection import ASGIConnection
    from litestar.handlers import BaseRouteHandler
    from litestar.types import ASGIApp, Message, Receive, Send
    from litestar.types import Scope as AsgiScope

API = "/api"
WEBSOCKET = "/api/v1/ws"
METRICS = "/metrics"
#: Needs no secret: it describes the door, not what is behind it.
OPEN = frozenset({"/api/v1/openapi.json"})
#: The one request whose body is its secret.
PAIR = "/api/v1/pair"
#: POST requests that only read.
_READING = frozenset({"/api/v1/runbooks/check"})
LONGEST_BODY = 1 << 20
_LONGEST_CODE = 4096
#: How long a body may take to arrive.
BODY_SECONDS = 15.0
_READ_METHODS = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)
#: Whether the other end of a connection (its client, our end) runs inside an agent.
IsInside = Callable[[tuple[str, int], tuple[str, int]], Awaitable[bool]]


class Guard:
    """An ASGI application around another one. What passes carries what its secret allows."""

    def __init__(self, inner: ASGIApp, place: DoorPlace, passes: Passes, is_inside: IsInside) -> None:
        self._inner = inner
        self._hosts = hosts(place)
        self._origins = origins(place)
        self._passes = passes
        self._is_inside = is_inside
        self._asked = Buckets(PER_SECOND, AT_ONCE)
        self._wrong = Buckets(WRONG_PER_SECOND, WRONG_AT_ONCE)

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer why not."""
        kind: str = scope["type"]
        if kind not in ("http", "websocket"):
            return
        sending = _with_headers(send) if kind == "http" else send
        try:
            given = await self._admitted(scope, receive)
        except RekindleError as error:
            await (_refuse(sending, error) if kind == "http" else _refuse_websocket(send))
            return
        await self._inner(scope, given, sending)

    async def _admitted(self, scope: AsgiScope, receive: Receive) -> Receive:
        """What the inner application reads from. Raises RekindleError."""
        about: Any = scope
        _joined_once(about)
        headers = _headers_of(about["headers"])
        self._check_names(headers, about["path"])
        if not is_plain(about["path"]):
            raise DoorRefusal(404, "there is nothing at this path", "see /api/v1/openapi.json", code="path")
        address = about["client"][0] if about["client"] else ""
        # who has the secret is counted apart: nobody else on this machine can use up what they may ask
        if not self._asked.take(self._passes.scope_of(_bearer(headers)) or address, time.monotonic()):
            raise DoorRefusal(429, "too many requests", "wait a second", code="too_many")
        if about["type"] == "websocket":
            if about["path"] != WEBSOCKET:
                raise DoorRefusal(404, "there is no WebSocket here")
            about["rekindle.admit"] = lambda secret: self._admit(about, secret)
            return receive
        path, method = about["path"], about["method"]
        is_api = path.startswith((API, METRICS))
        if not is_api or path in OPEN:
            return receive
        if path == PAIR:
            await self._refuse_inside(about)
            about["rekindle.guessed"] = lambda: self._refuse_guessing(address)
            return await _with_body(about, receive, headers, _LONGEST_CODE)
        about["rekindle.scope"] = await self._admit(about, _bearer(headers))
        if about["rekindle.scope"] == "read" and method not in _READ_METHODS and path not in _READING:
            raise read_only()
        return await _with_body(about, receive, headers, LONGEST_BODY)

    def _check_names(self, headers: dict[str, list[str]], path: str) -> None:
        named = headers.get("host", [])
        if len(named) != 1 or named[0].lower() not in self._hosts:
            raise DoorRefusal(
                403, "this name is not the door's", "use the link that `rekindle open` prints", code="host"
            )
        for origin in headers.get("origin", []):
            if origin.lower() not in self._origins:
                raise DoorRefusal(403, "another page may not ask this door", "", code="origin")
        site = headers.get("sec-fetch-site", ["same-origin"])
        if path.startswith(API) and any(one not in ("same-origin", "none") for one in site):
            raise DoorRefusal(403, "another page may not ask this door", "", code="origin")

    async def _admit(self, about: Any, secret: str) -> Scope:
        """What a secret allows. Raises DoorRefusal."""
        address = about["client"][0] if about["client"] else ""
        scope = self._passes.scope_of(secret)
        if scope is None:
            self._refuse_guessing(address)
            raise no_secret(is_wrong=bool(secret))
        await self._refuse_inside(about)
        known: dict[str, Any] = (about.get("state") or {}).get("connection", {})
        known["admitted"] = True
        known.get("listen", lambda: None)()
        return scope

    def _refuse_guessing(self, address: str) -> None:
        if not self._wrong.take(address, time.monotonic()):
            raise DoorRefusal(429, "too many wrong secrets", "wait a minute", code="too_many")

    async def _refuse_inside(self, about: Any) -> None:
        """Raise InsideAgent if the other end runs inside an agent. It is looked up once for each connection."""
        client, server, state = about["client"], about["server"], about.get("state") or {}
        if client is None or server is None:
            return
        known: dict[str, bool] = state.get("connection", {})
        if "inside" not in known:
            known["inside"] = await self._is_inside(tuple(client), tuple(server))
        if known["inside"]:
            raise refusal("use the page or its API", "ask the person to do it there")


def _joined_once(about: Any) -> None:
    """Take the second slash from `//api/...`: programs join the door's address, which ends with one, and a path.

    That happens before anything is checked, so everybody behind sees the same path.
    """
    if about["path"].startswith(f"/{API}/") and about["raw_path"].startswith(f"/{API}/".encode()):
        about["path"], about["raw_path"] = about["path"][1:], about["raw_path"][1:]


def is_plain(path: str) -> bool:
    """Whether a path has one reading only. A router that folds `//` or `..` would see another path than we checked."""
    parts = path.removeprefix("/").removesuffix("/").split("/")
    return path == "/" or (path.startswith("/") and not any(one in ("", ".", "..") for one in parts))


def admitted(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Every route asks again whether its request was let in, so that none is open because its path was misread."""
    scope: Any = connection.scope
    if not (handler.opt.get("open") or "rekindle.scope" in scope or "rekindle.admit" in scope):
        raise no_secret()


def no_secret(is_wrong: bool = False) -> DoorRefusal:
    """What a request without the right secret gets."""
    return DoorRefusal(
        401,
        "the secret is wrong or missing" if is_wrong else "this needs the door's secret",
        "open the page again with `rekindle open`",
        code="unauthorized",
    )


def read_only() -> DoorRefusal:
    """What a secret for reading gets if it wants more."""
    return DoorRefusal(
        403,
        "this secret is for reading only",
        "open the page with `rekindle open`, without --read-only",
        code="read_only",
    )


def _bearer(headers: dict[str, list[str]]) -> str:
    given = headers.get("authorization", [])
    word, _, secret = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    return secret.strip() if word.lower() == "bearer" else ""


def _headers_of(raw: list[tuple[bytes, bytes]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in raw:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


async def _with_body(scope: Any, receive: Receive, headers: dict[str, list[str]], longest: int) -> Receive:
    """The whole body, if it is not too long and comes in time."""
    if scope["method"] in _READ_METHODS:
        return receive
    said = headers.get("content-length", ["0"])[0]
    if said.isdigit() and int(said) > longest:
        raise DoorRefusal(413, f"the body has more than {longest} bytes", "send less", code="too_long")
    parts: list[bytes] = []
    size, more = 0, True
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while more:
                message: Any = await receive()
                if message["type"] != "http.request":
                    raise DoorRefusal(400, "the body was not sent to its end", "", code="cut")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                more = bool(message.get("more_body"))
                if size > longest:
                    raise DoorRefusal(413, f"the body has more than {longest} bytes", "send less", code="too_long")
    except TimeoutError as error:
        raise DoorRefusal(408, "the body came too slowly", "send it again", code="too_slow") from error
    whole, is_given = b"".join(parts), False

    async def given() -> Any:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": whole, "more_body": False}

    return given


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            named = {name.lower() for name, _ in message["headers"]}
            extra = [*_HEADERS] if b"cache-control" in named else [*_HEADERS, (b"cache-control", b"no-store")]
            message["headers"] = [*message["headers"], *extra]
        await send(message)

    return sending


async def _refuse(send: Send, error: RekindleError) -> None:
    problem = problem_of(error)
    body = body_of(problem)
    headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(body)).encode())]
    headers += [(b"www-authenticate", b"Bearer")] if problem.status == 401 else []
    headers += [(b"connection", b"close")] if problem.status in (408, 413) else []
    start: Any = {"type": "http.response.start", "status": problem.status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def _refuse_websocket(send: Send) -> None:
    """Before it was accepted: the browser sees a 403."""
    closing: Any = {"type": "websocket.close", "code": 4003, "reason": ""}
    await send(closing)
