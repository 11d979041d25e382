"""No route of the HTTP door answers without the secret, however its path is spelt."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.doors.http.application import application, guarded
from rekindle.doors.http.guard import is_plain
from rekindle.doors.http.live import LiveChanges
from rekindle.doors.http.names import DoorPlace
from rekindle.doors.http.page import PageFiles
from rekindle.doors.http.passes import DoorSecrets, Passes

_PLACE = DoorPlace(port=8400)
_APP = application(None, Passes(DoorSecrets.new(), lambda: 0.0), PageFiles("/nonexistent"), LiveChanges())
#: Described to everybody, or the request whose body is its secret.
_OPEN = {"/api/v1/openapi.json", "/api/v1/pair"}
#: Another path of the description, which the framework serves and the guard does not let through.
_DESCRIPTION = "/api/v1"


async def _nobody_is_inside(*_: object) -> bool:
    return False


class _NoKept:
    def get(self, name: str) -> None:
        return None

    def put(self, name: str, answer: object) -> None:
        raise AssertionError("nothing is carried out")

    def drop(self, name: str) -> None:
        return None


def _routes() -> Iterator[tuple[str, str]]:
    for route in _APP.routes:
        for method in getattr(route, "methods", ()):
            path = route.path_format.replace("{", "").replace("}", "")
            if path.startswith(("/api", "/metrics")) and path not in _OPEN:
                yield method, path


def _spellings(path: str) -> Iterator[str]:
    yield from (path, f"/{path}", f"//{path}", f"{path}/", f"{path}//", f"/.{path}", f"/x/..{path}", f"/x//..{path}")
    yield from (path.replace("/", "//"), path.replace("/v1", "/v1/."), path.replace("/api", "/./api"), f"{path}/..")


async def _ask(method: str, path: str, *, past_the_guard: bool = False) -> tuple[int, bytes]:
    sent: list[Any] = []
    scope: Any = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1:8400")],
        "client": None,
        "server": None,
        "state": {},
    }

    async def receive() -> Any:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    passes = Passes(DoorSecrets.new(), lambda: 0.0)
    app = _APP if past_the_guard else guarded(_APP, _PLACE, passes, _NoKept(), _nobody_is_inside)
    await app(scope, receive, send)
    return sent[0]["status"], b"".join(one.get("body", b"") for one in sent[1:])


@pytest.mark.parametrize(("method", "path"), sorted(_routes()))
def test_a_route_answers_nothing_without_the_secret_however_it_is_spelt(method: str, path: str) -> None:
    """Only the page itself, which has no data, or a refusal."""
    for spelt in _spellings(path):
        status, body = asyncio.run(_ask(method, spelt))
        is_page = status == 200 and method in ("GET", "HEAD", "OPTIONS") and b'"' not in body.replace(b'"utf-8"', b"")
        assert status in (401, 403, 404, 405) or (is_page and b"page is not built" in body), (spelt, status, body)


@pytest.mark.parametrize(("method", "path"), sorted(one for one in _routes() if one[1] != _DESCRIPTION))
def test_a_route_asks_for_itself_whether_its_request_was_let_in(method: str, path: str) -> None:
    """The guard may misread a path one day."""
    status, body = asyncio.run(_ask(method, path, past_the_guard=True))
    assert status in (401, 404) or method == "OPTIONS", (status, body)


@given(st.lists(st.sampled_from(["", ".", "..", "api", "v1", "...", "a.b"]), max_size=6))
def test_a_path_with_two_readings_is_not_plain(parts: list[str]) -> None:
    """A path is plain only if folding it changes nothing."""
    path = "/" + "/".join(parts)
    assert is_plain(path) == (posixpath.normpath(path) in (path, path.removesuffix("/") or "/") and path[:2] != "//")
