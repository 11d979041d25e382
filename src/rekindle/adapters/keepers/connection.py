"""The daemon's connection to one keeper: requests and answers over its socket, without blocking the loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from rekindle.adapters.machine.process_identity import is_stopped
from rekindle.keeper import frames, refusals
from rekindle.keeper.errors import FrameError, KeeperGone

_SECONDS = 10.0
_LOOK_SECONDS = 0.5


class KeeperConnection:
    """One connection. Raises KeeperGone when nobody answers, and the keeper's own Refused when it says no.

    `ended` is called when it is over, whichever side ended it: a keeper closes it after its agent's exit record.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        generation: int,
        keeper: int,
        ended: Callable[[], None],
    ) -> None:
        self._generation = generation
        self._keeper = keeper
        self._reader = reader
        self._writer = writer
        self._ended = ended
        self._answers: asyncio.Queue[dict[str, Any] | OSError | EOFError | FrameError] = asyncio.Queue()
        self._lock = asyncio.Lock()
        self.closed = False
        self._listening = asyncio.ensure_future(self._listen())

    @classmethod
    async def open(cls, path: str, generation: int, keeper: int, ended: Callable[[], None]) -> KeeperConnection:
        """Connect and say who speaks; a protocol that one side does not know is refused with a sentence.

        `keeper` is the pid of the one who should answer.
        """
        try:
            async with asyncio.timeout(_SECONDS):
                reader, writer = await asyncio.open_unix_connection(path)
        except (OSError, TimeoutError) as error:
            raise KeeperGone(f"{path}: {error}") from error
        connection = cls(reader, writer, generation, keeper, ended)
        try:
            await connection.hello(generation)
        except BaseException:
            await connection.close()
            raise
        return connection

    async def hello(self, generation: int) -> None:
        """Say who speaks from now on. If that is refused, the previous speaker stays."""
        versions = {"proto_min": frames.PROTO_MIN, "proto_max": frames.PROTO_MAX}
        await self.request({"op": "hello", "generation": generation, **versions})
        self._generation = generation

    async def request(self, header: dict[str, Any], payload: bytes = b"") -> dict[str, Any]:
        """Ask, and wait for the answer."""
        async with self._lock:
            try:
                self._writer.write(frames.encode(frames.Frame({"generation": self._generation, **header}, payload)))
                async with asyncio.timeout(_SECONDS):
                    await self._writer.drain()
                answer = await self._awaited()
            except (OSError, EOFError, TimeoutError, FrameError) as error:
                await self.close()
                raise KeeperGone(f"the keeper does not answer ({error or type(error).__name__})") from error
            except asyncio.CancelledError:
                self._hang_up()  # the answer may still come: the next request must not take it for its own
                raise
        if answer.get("ok") is not True:
            raise refusals.from_header(answer)
        return answer

    async def close(self) -> None:
        """Close the connection. This does not affect the keeper and its agent."""
        self._hang_up()
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await self._writer.wait_closed()

    def _hang_up(self) -> None:
        self.closed = True
        self._listening.cancel()
        self._writer.close()

    async def _awaited(self) -> dict[str, Any]:
        """The answer. If the keeper is stopped, so that none can come, this does not wait."""
        for _ in range(int(_SECONDS / _LOOK_SECONDS)):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    answer = await self._answers.get()
                if isinstance(answer, Exception):
                    raise answer
                return answer
            if is_stopped(self._keeper):
                raise TimeoutError(f"its process {self._keeper} is stopped")
        raise TimeoutError(f"nothing within {_SECONDS:g} s")

    async def _listen(self) -> None:
        """Take in answers, and notice the end also while nothing is asked."""
        decoder = frames.Decoder()
        try:
            while data := await self._reader.read(1 << 16):
                decoder.feed(data)
                while (frame := decoder.next_frame()) is not None:
                    self._answers.put_nowait(frame.header)
            self._answers.put_nowait(EOFError("the connection was closed"))
        except (OSError, FrameError) as error:
            self._answers.put_nowait(error)
        finally:
            self.closed = True
            self._ended()
