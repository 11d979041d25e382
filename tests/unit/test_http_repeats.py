"""Requests that carry a key: what is kept of them, and when, also if the disk is full or the work fails."""

from __future__ import annotations

import asyncio
import errno
import json
from typing import Any

from rekindle.doors.http.repeats import Repeats
from rekindle.ports.kept_answers import KeptAnswer

RETRY = "/api/v1/jobs/j1/retry"


class Kept:
    """Answers in memory. `room` is how many more can be kept; `done` has everything that happened, in order."""

    def __init__(self, room: int = 100) -> None:
        self.found: dict[str, KeptAnswer] = {}
        self.room = room
        self.done: list[str] = []

    def get(self, name: str) -> KeptAnswer | None:
        return self.found.get(name)

    def put(self, name: str, answer: KeptAnswer) -> None:
        if self.room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.room -= 1
        self.found[name] = answer
        self.done.append(f"kept {answer.status}")

    def drop(self, name: str) -> None:
        self.found.pop(name, None)
        self.done.append("dropped")


def asked(kept: Kept, status: int = 200, path: str = RETRY, key: str = "k") -> tuple[int, Any]:
    """Ask something that answers with this status; what the client gets."""

    async def work(_scope: Any, _receive: Any, send: Any) -> None:
        kept.done.append("worked")
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b'{"n": 1,', "more_body": True})
        await send({"type": "http.response.body", "body": b' "code": ""}'})

    heard: list[Any] = []

    async def send(message: Any) -> None:
        heard.append(message)
        if message["type"] == "http.response.start":
            kept.done.append("answered")

    async def receive() -> Any:
        return {"type": "http.request", "body": b"{}"}

    scope: Any = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(b"idempotency-key", key.encode())],
    }
    asyncio.run(Repeats(work, kept)(scope, receive, send))
    return heard[0]["status"], json.loads(b"".join(one.get("body", b"") for one in heard[1:]))


def test_an_answer_is_kept_before_anybody_gets_it_and_given_again() -> None:
    kept = Kept()
    assert asked(kept) == (200, {"n": 1, "code": ""})
    assert kept.done == ["kept 0", "worked", "kept 200", "answered"]
    assert asked(kept)[0] == asked(kept, path=RETRY + "/")[0] == 200
    assert kept.done.count("worked") == 1, "the router takes both paths, so they are one"


def test_nothing_is_done_if_its_key_cannot_be_noted() -> None:
    kept = Kept(room=0)
    status, told = asked(kept)
    assert (status, told["code"]) == (503, "not_noted") and "worked" not in kept.done


def test_who_asked_is_told_what_was_done_even_if_that_cannot_be_kept() -> None:
    kept = Kept(room=1)
    assert asked(kept)[0] == 200
    status, told = asked(kept)
    assert (status, told["code"]) == (409, "outcome_unknown") and kept.done.count("worked") == 1


def test_a_refusal_frees_its_key_and_a_failure_does_not() -> None:
    kept = Kept()
    assert asked(kept, 409)[0] == 409 and asked(kept)[0] == 200
    assert asked(kept, 500, key="other")[0] == 500
    assert asked(kept, key="other")[1]["code"] == "outcome_unknown"
    assert asked(kept, 500, path="/api/v1/jobs", key="named")[0] == 500
    assert asked(kept, path="/api/v1/jobs", key="named")[0] == 200, "it names what it makes, so that it is done again"


def test_an_answer_with_a_secret_is_never_kept() -> None:
    for path in ("/api/v1/pair", "/api/v1/pair/"):
        kept = Kept()
        assert asked(kept, path=path)[0] == 200 and kept.found == {}
