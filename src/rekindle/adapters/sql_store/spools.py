"""What the spools of one incarnation tell about its conversation, read without the store and without the agent.

Both spools are JSON-RPC lines: `in` (records that we wrote) has the requests, `out` (the agent's words) the answers.
A line that cannot be read is passed over: the agent may have said anything, and old blocks of `out` may be given back.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, BinaryIO

from rekindle.adapters.vault.spools import open_spool
from rekindle.core.session.facts import How
from rekindle.keeper.input_records import InputReader

_LONGEST_LINE = 64 << 20
_WORDS = ("agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan")


@dataclass
class Turn:
    """One prompt that was given to the keeper. `answer` is the agent's result or error; None: there is none."""

    prompt: str
    message: int
    text: str
    began: bool = False
    said: str = ""
    tools: dict[str, str] = field(default_factory=dict)
    answer: dict[str, Any] | None = None


@dataclass
class Conversation:
    """`token` is of a conversation that is known to have been open; `asked` of one that was asked to be loaded.

    `how` is what was tried first and `opened` what worked. `is_partial`: the beginning of the output was given back.
    """

    how: How = "new"
    opened: How = "new"
    is_partial: bool = False
    asked: str | None = None
    token: str | None = None
    known: list[str] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read_conversation(folder: str, attempt: int) -> Conversation:
    """Never raises for what is in the files; `problems` says what could not be read."""
    found = Conversation()
    requests: dict[str, tuple[str, Turn | None]] = {}
    try:
        with open_spool(folder, "in") as file:
            _read_requests(file, attempt, found, requests)
    except OSError as error:
        found.problems.append(f"its input cannot be read: {error.strerror}")
    try:
        with open_spool(folder, "out") as file:
            _read_answers(file, found, requests)
    except OSError as error:
        found.problems.append(f"its output cannot be read: {error.strerror}")
    _settle_earlier(found)
    if found.is_partial and found.turns and found.turns[-1].answer is None:
        prompt = found.turns[-1].prompt
        found.problems.append(f"its older output was given back, so whether prompt {prompt} was answered is not known")
    return found


def _read_requests(
    file: BinaryIO, attempt: int, found: Conversation, requests: dict[str, tuple[str, Turn | None]]
) -> None:
    reader = InputReader(file)  # type: ignore[arg-type]
    mark = f"{attempt}-prompt-"
    for record in reader:
        line = _object(record.payload)
        method, params = line.get("method"), _dict(line.get("params"))
        turn = None
        if record.prompt.startswith(mark):
            turn = _turn(record.prompt.removeprefix(mark), record.n, params)
            if turn is None:
                found.problems.append(f"message {record.n} is a prompt without a text")
            else:
                found.turns.append(turn)
        token = params.get("sessionId")
        if method in ("session/load", "session/resume") and isinstance(token, str):
            found.how = found.opened = "load"
            found.asked = token
        elif method == "session/prompt" and isinstance(token, str):
            found.token = token  # it is only sent into an open conversation
        if isinstance(method, str) and "id" in line:
            requests[_key(line["id"])] = (method, turn)
    if reader.torn is not None:
        found.problems.append(f"its input ends with {reader.torn}")


def _turn(prompt: str, message: int, params: dict[str, Any]) -> Turn | None:
    blocks = params.get("prompt")
    first = _dict(blocks[0]) if isinstance(blocks, list) and blocks else {}
    text = first.get("text")
    return Turn(prompt, message, text) if isinstance(text, str) else None


def _read_answers(file: BinaryIO, found: Conversation, requests: dict[str, tuple[str, Turn | None]]) -> None:
    replay = _Replay(found.known)
    found.is_partial = _skip_hole(file)
    is_open = found.is_partial and found.token is not None
    while text := file.readline(_LONGEST_LINE):
        line = _object(text)
        if line.get("method") == "session/update":
            update = _dict(_dict(line.get("params")).get("update"))
            if is_open:
                _note(update, next((turn for turn in found.turns if turn.answer is None), None))
            else:
                replay.take(update)
            continue
        if "method" in line or "id" not in line:
            continue
        method, turn = requests.get(_key(line["id"]), ("", None))
        result = _dict(line.get("result"))
        if method == "session/new" and isinstance(result.get("sessionId"), str):
            found.token, found.opened, is_open = result["sessionId"], "new", True
        elif method == "session/load" and "result" in line:
            found.token, found.opened, is_open = found.asked, "load", True
        elif method == "session/prompt" and turn is not None and turn.answer is None:
            turn.answer = {"result": result} if "result" in line else {"error": _dict(line.get("error"))}


class _Replay:
    """The person's words in what an agent shows while it loads a conversation. A word may come in pieces."""

    def __init__(self, known: list[str]) -> None:
        self._known = known
        self._goes_on = False

    def take(self, update: dict[str, Any]) -> None:
        text = _dict(update.get("content")).get("text")
        is_user = update.get("sessionUpdate") == "user_message_chunk" and isinstance(text, str)
        if is_user and self._goes_on:
            self._known[-1] += str(text)
        elif is_user:
            self._known.append(str(text))
        self._goes_on = is_user


def _note(update: dict[str, Any], turn: Turn | None) -> None:
    what = update.get("sessionUpdate")
    if turn is None or what not in _WORDS:
        return
    turn.began = True
    text = _dict(update.get("content")).get("text")
    if what == "agent_message_chunk" and isinstance(text, str):
        turn.said += text
    name = update.get("toolCallId")
    if what in ("tool_call", "tool_call_update") and isinstance(name, str):
        if update.get("status") in ("completed", "failed"):
            turn.tools.pop(name, None)
        elif what == "tool_call":
            turn.tools[name] = str(update.get("title") or name)


def _skip_hole(file: BinaryIO) -> bool:
    """Go to the first block that the keeper has not given back; whether there was one that it had."""
    try:
        start = os.lseek(file.fileno(), 0, os.SEEK_DATA)
    except OSError:  # nothing but a hole
        start = os.fstat(file.fileno()).st_size
    file.seek(start)
    return start > 0


def _settle_earlier(found: Conversation) -> None:
    """A prompt is only sent when the turn before it is over: an answer that is not there was given back."""
    for turn, after in pairwise(found.turns):
        if turn.answer is None:
            turn.answer = {"result": {}}
            after.began |= found.is_partial and turn.began


def _object(line: bytes) -> dict[str, Any]:
    try:
        return _dict(json.loads(line.strip(b"\0")))
    except (ValueError, RecursionError):
        return {}


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _key(value: object) -> str:
    """A request's id, 1 and "1" told apart."""
    return json.dumps(value, sort_keys=True)
