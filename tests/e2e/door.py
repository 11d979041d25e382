"""The HTTP door of a test machine, and clients of it: requests as a browser or a program sends them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect

from tests.e2e.daemon import Machine, until
from tests.patience import FACTOR

SECONDS = 30.0 * FACTOR


@dataclass(frozen=True)
class Answered:
    """An HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Door:
    """An open door. `process` is the daemon that `rekindle serve --http` is."""

    url: str
    secret: str
    secret_file: str
    process: subprocess.Popen[str]

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    def ask(
        self, path: str, body: Any = None, *, method: str = "", secret: str | None = None, **headers: str
    ) -> Answered:
        """A request with the door's secret, or with another one; an empty one is left out."""
        given = self.secret if secret is None else secret
        sent = {**({"Authorization": f"Bearer {given}"} if given else {}), **headers}
        sent = {name.replace("_", "-"): value for name, value in sent.items()}
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        method = method or ("GET" if data is None else "POST")
        request = urllib.request.Request(self.url.rstrip("/") + path, data, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return Answered(answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answered(error.code, {k.lower(): v for k, v in error.headers.items()}, error.read())

    def get(self, path: str) -> Any:
        """What the API answers, which has to be fine."""
        found = self.ask(f"/api/v1{path}")
        assert found.status == 200, (path, found)
        return found.json

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        found = self.ask(f"/api/v1{path}", {} if body is None else body, **headers)
        assert found.status < 300, (path, found)
        return found.json

    @contextlib.asynccontextmanager
    async def live(self, secret: str | None = None) -> AsyncIterator[Live]:
        """A WebSocket that has said who it is."""
        async with connect(self.url.replace("http", "ws", 1) + "api/v1/ws", max_size=None) as socket:
            await socket.send(json.dumps({"type": "auth", "secret": self.secret if secret is None else secret}))
            made = Live(socket)
            await made.heard()
            yield made


@dataclass
class Live:
    """One end of a WebSocket."""

    socket: ClientConnection
    asked: int = 0

    async def heard(self) -> Any:
        return json.loads(await asyncio.wait_for(self.socket.recv(), SECONDS))

    async def say(self, action: str, **payload: Any) -> int:
        self.asked += 1
        await self.socket.send(json.dumps({"id": self.asked, "action": action, "payload": payload}))
        return self.asked

    async def ask(self, action: str, **payload: Any) -> Any:
        """The answer to a request; what is pushed meanwhile is dropped."""
        asked = await self.say(action, **payload)
        while (found := await self.heard()).get("re") != asked:
            pass
        return found

    async def events(self, last: int) -> list[Any]:
        """What is pushed up to the fact with the number `last`."""
        found: list[Any] = []
        while not found or found[-1]["seq"] < last or found[-1].get("more"):
            one = await self.heard()
            if "event" in one:
                found.append(one)
        return found


@contextlib.contextmanager
def opened(machine: Machine, *words: str) -> Iterator[Door]:
    """A daemon with an open door."""
    process = machine.start("serve", "--http", "127.0.0.1:0", "--json", *words)
    try:
        yield said(process)
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(SECONDS)
        assert process.stdout is not None
        process.stdout.close()


def said(process: subprocess.Popen[str]) -> Door:
    """The door that a daemon says is open."""
    assert process.stdout is not None
    heard: list[str] = []

    def found() -> Any:
        assert process.stdout is not None
        line = process.stdout.readline()
        heard.append(line)
        assert line, heard
        return json.loads(line) if line.startswith("{") else None

    told = until(found, "the door")
    secret = Path(told["secret_file"]).read_text().strip()
    return Door(told["url"], secret, told["secret_file"], process)
