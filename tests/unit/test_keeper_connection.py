"""The daemon's line to a keeper: an answer belongs to the request that asked for it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rekindle.adapters.keepers.connection import KeeperConnection
from rekindle.keeper import frames
from rekindle.keeper.errors import KeeperGone


def test_an_answer_that_nobody_waits_for_any_more_is_not_taken_for_that_of_the_next_request(tmp_path: Path) -> None:
    """A session's attendant may be cancelled while it sends a prompt, and the same line renews the agent's lease."""

    async def play() -> None:
        asked, may_answer = asyncio.Event(), asyncio.Event()

        async def keeper(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            decoder = frames.Decoder()
            while data := await reader.read(1 << 16):
                decoder.feed(data)
                while (frame := decoder.next_frame()) is not None:
                    if frame.header["op"] == "send":
                        asked.set()
                        await may_answer.wait()
                    writer.write(frames.encode(frames.Frame({"ok": True, "to": frame.header["op"]}, b"")))
            writer.close()

        path = str(tmp_path / "keeper")
        async with await asyncio.start_unix_server(keeper, path):
            connection = await KeeperConnection.open(path, 1, 0, lambda: None)
            sending = asyncio.ensure_future(connection.request({"op": "send"}))
            await asked.wait()
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            may_answer.set()
            with pytest.raises(KeeperGone):  # and not the answer to `send`
                await connection.request({"op": "renew"})
            await connection.close()

    asyncio.run(play())
