"""The scripted agent as an interactive program: a screen to type prompts at, in place of the protocol.

The conversation is the same one: `ScriptedAgent` plays it and keeps its transcript; this is its client, and a person is
behind it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rekindle.scripted import transcript
from rekindle.scripted.agent import ScriptedAgent
from rekindle.scripted.keys import InputLine, Key, Submitted
from rekindle.scripted.report import text_block
from rekindle.scripted.rpc import Message, RequestError

_MARK = "> "
#: Says that lines are read from now on (bracketed paste), as nearly every interactive program does.
_READS, _READS_NO_MORE = "\x1b[?2004h", "\x1b[?2004l"
_MOST_SHOWN = 2000


def use_screen(home: Path, session_id: str, *, resume: bool) -> int:
    """Talk to a person at the terminal until they leave; returns the exit status."""
    if not os.isatty(0):
        print("rekindle.scripted: --session-id and --resume need a terminal", file=sys.stderr)
        return 2
    path = transcript.path_of(home, session_id)
    if path is None or (resume and not path.exists()):
        print(f"There is no conversation {session_id}.", flush=True)
        return 1
    with _keys_one_by_one(0):
        try:
            return asyncio.run(_Screen(home, session_id).use(is_there=path.exists()))
        finally:
            _show(_READS_NO_MORE)


def shown(update: Message) -> str:
    """An update as it is shown on the screen."""
    match update:
        case {"sessionUpdate": "user_message_chunk", "content": {"text": text}}:
            return f"{_MARK}{text}\n"
        case {"sessionUpdate": "agent_message_chunk", "content": {"text": str(text)}}:
            return text
        case {"sessionUpdate": "tool_call", "title": title, "status": status}:
            done = "" if status == "in_progress" else f" ({status})"
            return f"* {title}{done}\n"
        case {"sessionUpdate": "tool_call_update", "status": status, "content": content}:
            said = "".join(one.get("content", {}).get("text", "") for one in content).strip()
            cut = said[:_MOST_SHOWN] + (" [...]" if len(said) > _MOST_SHOWN else "")
            return f"  {status}: {cut}\n" if cut else f"  {status}\n"
        case _:
            return ""


def question(title: str, options: list[Message]) -> str:
    """A request for permission as it is shown on the screen."""
    lines = [f"  {number}  {one['name']}" for number, one in enumerate(options, 1)]
    return "\n".join([f"? {title}", *lines, f"Type a number from 1 to {len(options)}, then Enter.", _MARK])


def _show(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


class _Screen:
    """The agent's client. One turn at a time; what is typed meanwhile waits for its end."""

    def __init__(self, home: Path, session_id: str) -> None:
        self._agent = ScriptedAgent(home, new_id=lambda: session_id)
        self._agent.on_connect(self)
        self._id = session_id
        self._line = InputLine()
        self._keys: asyncio.Queue[Key] = asyncio.Queue()
        self._answer: asyncio.Future[str] | None = None
        self._is_playing = False

    async def use(self, *, is_there: bool) -> int:
        """Open the conversation and play what is typed."""
        _show("The scripted agent: it comes with rekindle, follows a script and needs no account.\n")
        if is_there:
            await self._agent.load_session(self._id, os.getcwd())
        else:
            await self._agent.new_session(os.getcwd())
        _show(f"{'Resumed' if is_there else 'New'} conversation {self._id}.\n")
        _show("Try: say TEXT, write PATH TEXT, run COMMAND, ask QUESTION, stream 20 0.2 tick.\n")
        _show("Enter sends, Escape ends a turn, Ctrl-D leaves.\n")
        _show(_READS + _MARK)
        asyncio.get_running_loop().add_reader(0, self._typed)
        while isinstance(key := await self._keys.get(), Submitted):
            if key.text.strip():
                await self._play(key.text)
            _show(_MARK + self._line.text)
        return 0

    async def update(self, session_id: str, update: Message) -> None:
        """Show what the agent does."""
        _show(shown(update))

    async def request(self, method: str, params: Message) -> Message:
        """Ask the person for permission, as often as it takes. There is nothing else that an agent could ask for."""
        if method != "session/request_permission":
            raise RequestError.method_not_found(method)
        options = params["options"]
        _show(question(params["toolCall"]["title"], options))
        numbers = {str(number): one["optionId"] for number, one in enumerate(options, 1)}
        while True:
            self._answer = asyncio.get_running_loop().create_future()
            typed = await self._answer
            if typed == "escape":
                return {"outcome": {"outcome": "cancelled"}}
            if typed.strip() in numbers:
                return {"outcome": {"outcome": "selected", "optionId": numbers[typed.strip()]}}
            _show(f"Type a number from 1 to {len(options)}.\n{_MARK}")

    async def _play(self, text: str) -> None:
        self._is_playing = True
        try:
            done = await self._agent.prompt(self._id, [text_block(text)])
            _show("[cancelled]\n" if done["stopReason"] == "cancelled" else "")
        except RequestError as error:
            _show(f"[the turn failed: {error}]\n")
        finally:
            self._is_playing = False
            self._answer = None

    def _typed(self) -> None:
        try:
            data = os.read(0, 1 << 16)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(0)
            self._keys.put_nowait("close")
            return
        keys, echo = self._line.feed(data)
        asks = self._answer is not None and not self._answer.done()
        if asks or not self._is_playing:
            _show(echo)
        for key in keys:
            self._take(key)

    def _take(self, key: Key) -> None:
        asked = self._answer if self._answer is not None and not self._answer.done() else None
        if isinstance(key, Submitted) and asked is not None:
            asked.set_result(key.text)
        elif key == "escape":
            if asked is not None:
                asked.set_result("escape")
            elif self._is_playing:
                asyncio.get_running_loop().create_task(self._agent.cancel(self._id))
        else:
            self._keys.put_nowait(key)


@contextmanager
def _keys_one_by_one(fd: int) -> Iterator[None]:
    """The terminal gives every key at once, shows none of them by itself, and keeps Enter apart from a line feed."""
    before = termios.tcgetattr(fd)
    ours = termios.tcgetattr(fd)
    ours[0] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON)
    ours[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN)
    termios.tcsetattr(fd, termios.TCSADRAIN, ours)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
