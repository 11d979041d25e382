"""JSON lines on standard input and output.

rekindle's keeper gives an agent a regular file as standard output, which an event loop does not accept. Here a thread
reads and every line is written at once, whatever the descriptors are. The reader accepts everything that comes, so a
client that writes before it reads cannot be held up by us.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from typing import BinaryIO

from rekindle.scripted.rpc import Message


def read_message(stream: BinaryIO) -> Message | None:
    """The next message; None at the end of the stream. Any other line is reported on stderr and skipped."""
    while line := stream.readline():
        if not line.strip():
            continue
        try:
            message = json.loads(line)
        except ValueError as error:
            print(f"skipped a line that is no JSON: {error}", file=sys.stderr, flush=True)
            continue
        if isinstance(message, dict):
            return message
        print("skipped a line that is no JSON object", file=sys.stderr, flush=True)
    return None


def write_message(fd: int, message: Message) -> None:
    """Write one message as a line, whole. Blocks while a pipe is full."""
    rest = memoryview(json.dumps(message, separators=(",", ":")).encode() + b"\n")
    while rest:
        rest = rest[os.write(fd, rest) :]


class StdioTransport:
    """Messages over a byte stream and a descriptor."""

    def __init__(self, stream: BinaryIO, fd: int) -> None:
        self._fd = fd
        self._inbox: asyncio.Queue[Message | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(stream, loop), daemon=True).start()

    def _read(self, stream: BinaryIO, loop: asyncio.AbstractEventLoop) -> None:
        message: Message | None = {}
        while message is not None:
            message = read_message(stream)
            try:
                loop.call_soon_threadsafe(self._inbox.put_nowait, message)
            except RuntimeError:  # the loop is closed: the agent is on its way out
                return

    async def receive(self) -> Message | None:
        """The next message of the client, None when it has closed its end."""
        return await self._inbox.get()

    async def send(self, message: Message) -> None:
        """Write a message. If nobody can read it any more, the agent ends."""
        try:
            write_message(self._fd, message)
        except OSError as error:
            print(f"cannot write to standard output: {error}", file=sys.stderr, flush=True)
            self._inbox.put_nowait(None)
            raise ConnectionError(str(error)) from error
