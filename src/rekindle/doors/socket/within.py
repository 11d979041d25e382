"""The daemon as its own client: use cases that are written for clients can be used inside it, in threads."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import msgspec

from rekindle.doors.socket.operations import Operation
from rekindle.doors.socket.server import call
from rekindle.ports.errors import UsageError


class DaemonWithin:
    """See `rekindle.ports.daemon.Daemon`. Must not be used in the loop's own thread: it would wait for itself."""

    def __init__(self, operations: dict[str, Operation], loop: asyncio.AbstractEventLoop) -> None:
        self._operations = operations
        self._loop = loop

    def ask(self, op: str, *, start: bool = True, **values: Any) -> dict[str, Any]:
        """Carry out an operation and wait for its result."""
        if op == "ping":
            return {"ok": True, "pid": os.getpid()}
        if op not in self._operations:
            raise UsageError(f"there is no operation {op!r}", f"there are: {', '.join(self._operations)}")
        operation = self._operations[op]

        async def asked() -> msgspec.Struct:
            return await call(operation, values)

        answer = asyncio.run_coroutine_threadsafe(asked(), self._loop).result()
        return dict(msgspec.to_builtins(answer))

    def is_served(self) -> bool:
        """We serve."""
        return True

    def holder(self) -> int | None:
        """We hold the store."""
        return os.getpid()

    def close(self) -> None:
        """There is nothing to hang up."""
