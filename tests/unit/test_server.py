"""The daemon's socket while the daemon is still taking up what the one before it has left."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import msgspec

from rekindle.core import inside
from rekindle.doors.socket.operations import Operation
from rekindle.doors.socket.server import Server


class Told(msgspec.Struct, frozen=True):
    """An answer, to whoever asks."""

    sessions: list[str]


def _says(*sessions: str) -> Callable[[], Awaitable[Told]]:
    async def operation() -> Told:
        return Told(list(sessions))

    return operation


class Outsider:
    """Says of everybody that it runs outside of agents."""

    def began(self, pid: int) -> float | None:
        return float(pid)

    def standing_of(self, pid: int, began: float | None = None, *, daemon: int | None = None) -> inside.Standing:
        return "outside"


async def _asked(path: str, op: str) -> dict[str, Any]:
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        writer.write(json.dumps({"op": op}).encode() + b"\n")
        return cast("dict[str, Any]", json.loads(await reader.readline()))
    finally:
        writer.close()


def test_lists_are_answered_at_once_and_everything_else_when_all_sessions_are_taken_up(tmp_path: Path) -> None:
    path = str(tmp_path / "s")

    async def story() -> None:
        operations: dict[str, Operation] = {"list": _says("a", "b"), "show": _says("a")}
        server = Server(cast(Any, None), operations, path, cast(Any, Outsider()))
        await server.open()
        try:
            shown = asyncio.ensure_future(_asked(path, "show"))
            assert (await _asked(path, "ping"))["ok"] is True
            for _ in range(20):
                assert (await _asked(path, "list"))["sessions"] == ["a", "b"]
            assert not shown.done()
            server.is_ready.set()
            assert (await shown)["sessions"] == ["a"]
        finally:
            await server.close()

    asyncio.run(asyncio.wait_for(story(), 30))
