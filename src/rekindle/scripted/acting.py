"""Does one action: the only module through which a script touches the world or asks the client for something."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, assert_never

from rekindle.scripted import commands, failures, report
from rekindle.scripted.client import AcpClient, NonsenseAnswer, given
from rekindle.scripted.conversation import Status
from rekindle.scripted.greeting import Offers
from rekindle.scripted.rpc import Message, RequestError
from rekindle.scripted.script import (
    AskAction,
    BigAction,
    ContextAction,
    DieAction,
    FailAction,
    NoiseAction,
    PutAction,
    ReadAction,
    RecapAction,
    RunAction,
    SayAction,
    ScriptStep,
    SleepAction,
    SpawnAction,
    StreamAction,
    TerminalAction,
    TruncateAction,
    WriteAction,
)

_OPTIONS = [
    {"optionId": "allow_once", "name": "Allow once", "kind": "allow_once"},
    {"optionId": "allow_always", "name": "Allow always", "kind": "allow_always"},
    {"optionId": "reject_once", "name": "Reject", "kind": "reject_once"},
]
REJECTED = "reject_once"
#: A client's answer to a permission request when it cancels the whole turn.
WITHDRAWN = "withdrawn"
_NOISE = b"noise " * 13 + b".\n"


@dataclass(frozen=True, slots=True)
class ActionOutcome:
    """How a step ended, and what to say about it."""

    status: Status
    result: str


class TurnError(Exception):
    """The turn ends here with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: dict[str, Any]) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


@dataclass(frozen=True, slots=True)
class ActionContext:
    """What the actions of one session work with."""

    client: AcpClient
    session_id: str
    cwd: str
    offers: Offers
    remember: Callable[[str], None]
    now: Callable[[], datetime]

    async def do(self, step: ScriptStep, call_id: str) -> ActionOutcome:
        """Do a step. Trouble with a file, a command or the client is an outcome; only `fail` raises TurnError."""
        try:
            return await self._do(step, call_id)
        except OSError as error:
            if isinstance(error, ConnectionError):
                raise
            return ActionOutcome("failed", str(error))
        except RequestError as error:
            return ActionOutcome("failed", f"the client answered with an error: {error}")
        except NonsenseAnswer as error:
            return ActionOutcome("failed", f"the client's answer makes no sense: {error}")

    async def say(self, text: str) -> None:
        """Say a line."""
        self.remember(text)
        await self._chunk(f"{text}\n")

    async def _do(self, step: ScriptStep, call_id: str) -> ActionOutcome:
        match step.action:
            case SayAction(text):
                await self.say(text)
                return _done()
            case StreamAction(count, seconds, word):
                return await self._stream(count, seconds, word)
            case BigAction(size):
                await self.say("x" * size)
                return _done()
            case WriteAction(path, text):
                return self._write(path, text)
            case RunAction(words):
                return await self._run(words)
            case TerminalAction(words):
                return await self._terminal(words, call_id)
            case ReadAction(path):
                return await self._read(path)
            case PutAction(path, text):
                return await self._put(path, text)
            case AskAction():
                return await self._ask(step, call_id)
            case SleepAction(seconds):
                await asyncio.sleep(seconds)
                return _done(f"slept {seconds:g} s")
            case FailAction(failure, seconds):
                raise TurnError(*failures.describe(failure, seconds, self.now()))
            case DieAction(signal_name, status):
                return _die(signal_name, status)
            case NoiseAction(size):
                return _noise(size)
            case TruncateAction():
                return _truncate()
            case SpawnAction(seconds):
                return _done(f"left behind pid {await commands.leave_behind(seconds, self.cwd)}")
            case ContextAction(used, size):
                await self.client.update(self.session_id, report.context(used, size))
                return _done(f"{used} of {size} tokens")
            case RecapAction():
                return _done("noted")
            case _ as never:
                assert_never(never)

    async def _chunk(self, text: str) -> None:
        await self.client.update(self.session_id, report.said(text))

    async def _stream(self, count: int, seconds: float, word: str) -> ActionOutcome:
        words: list[str] = []
        try:
            for number in range(1, count + 1):
                if words:
                    await asyncio.sleep(seconds)
                words.append(f"{word}{number}")
                await self._chunk(words[-1] + ("\n" if number == count else " "))
        finally:  # a killed agent forgets what it was saying, a cancelled one does not
            if words:
                self.remember(" ".join(words))
        return _done(f"streamed {count} words")

    def _write(self, path: str, text: str) -> ActionOutcome:
        place = os.path.join(self.cwd, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return _done(f"wrote {len(text.encode())} bytes")

    async def _run(self, words: tuple[str, ...]) -> ActionOutcome:
        ended = await commands.run(words, self.cwd)
        return _ended(ended.status, ended.output)

    async def _terminal(self, words: tuple[str, ...], call_id: str) -> ActionOutcome:
        if not self.offers.terminal:
            return ActionOutcome("failed", "the client offers no terminal")
        made = await self._request("terminal/create", command=words[0], args=list(words[1:]), cwd=self.cwd)
        terminal_id: str = given(made, "terminalId", str)
        await self.client.update(self.session_id, report.in_terminal(call_id, terminal_id))
        try:
            try:
                ended = await self._request("terminal/wait_for_exit", terminalId=terminal_id)
            except asyncio.CancelledError:
                await self._request("terminal/kill", terminalId=terminal_id)
                raise
            output: str = given(await self._request("terminal/output", terminalId=terminal_id), "output", str)
        finally:
            await self._request("terminal/release", terminalId=terminal_id)
        if ended.get("signal"):
            return ActionOutcome("failed", f"{output}\n[ended by {ended['signal']}]")
        return _ended(ended.get("exitCode") or 0, output)

    async def _read(self, path: str) -> ActionOutcome:
        if not self.offers.read:
            return ActionOutcome("failed", "the client offers no reading of files")
        answer = await self._request("fs/read_text_file", path=os.path.join(self.cwd, path))
        return _done(given(answer, "content", str))

    async def _put(self, path: str, text: str) -> ActionOutcome:
        if not self.offers.write:
            return ActionOutcome("failed", "the client offers no writing of files")
        await self._request("fs/write_text_file", path=os.path.join(self.cwd, path), content=text)
        return _done(f"put {len(text.encode())} bytes")

    async def _ask(self, step: ScriptStep, call_id: str) -> ActionOutcome:
        asked = report.asked(step, call_id)
        answer = await self._request("session/request_permission", toolCall=asked, options=_OPTIONS)
        outcome = given(answer, "outcome", dict)
        if outcome.get("outcome") != "selected":
            return ActionOutcome("cancelled", WITHDRAWN)
        if (chosen := outcome.get("optionId")) in ("allow_once", "allow_always"):
            return _done(chosen)
        return ActionOutcome("failed", REJECTED)

    async def _request(self, method: str, **params: Any) -> Message:
        return await self.client.request(method, {"sessionId": self.session_id, **params})


def _done(result: str = "done") -> ActionOutcome:
    return ActionOutcome("completed", result)


def _ended(status: int, output: str) -> ActionOutcome:
    if status == 0:
        return _done(output)
    return ActionOutcome("failed", f"{output}\n[exit status {status}]")


def _die(signal_name: str | None, status: int) -> ActionOutcome:
    if signal_name is None:
        os._exit(status)
    number = signal.Signals[signal_name]
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return _done(f"went on after {signal_name}")


def _noise(size: int) -> ActionOutcome:
    noise = memoryview((_NOISE * (size // len(_NOISE) + 1))[:size])
    while noise:
        noise = noise[os.write(2, noise) :]
    return _done(f"wrote {size} bytes to standard error")


def _truncate() -> ActionOutcome:
    fd = os.open("/dev/stdout", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        os.write(fd, b"\n")  # at the start of the file: this descriptor does not append
    finally:
        os.close(fd)
    return _done("truncated standard output")
