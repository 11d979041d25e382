"""Runs something that may block in a thread of its own, which holds up nothing: not the loop, not the other work in
threads, and not the end of the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

Made = TypeVar("Made")


async def in_own_thread(work: Callable[[], Made], seconds: float) -> Made:
    """What the work returns or raises. TimeoutError: it takes longer than this; its thread is left to itself."""
    loop = asyncio.get_running_loop()
    told: asyncio.Future[Made] = loop.create_future()

    def settle(set_: Callable[[], None]) -> None:
        if not told.done():
            set_()

    def run() -> None:
        try:
            found = work()
        except BaseException as error:
            outcome: Callable[[], None] = lambda error=error: told.set_exception(error)  # type: ignore[misc]  # noqa: E731
        else:
            outcome = lambda: told.set_result(found)  # noqa: E731
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is waiting
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=run, name="own", daemon=True).start()
    async with asyncio.timeout(seconds):
        return await told
