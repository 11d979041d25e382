"""Sessions' folders with spools as keepers leave them, written without a keeper."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from rekindle.agents.base.dialect import Dialect, Outgoing
from rekindle.agents.base.exchange import Exchange, Heard, SpooledMessage
from rekindle.agents.base.observation import Observation
from rekindle.agents.claude.dialect import ClaudeDialect
from rekindle.keeper.input_records import InputRecord
from rekindle.keeper.outcome import EndedBy, ExitRecord, create_exit_file, write_exit


def understood(dialect: Dialect, messages: Sequence[tuple[str, bytes]], out: bytes) -> list[Observation]:
    """What a dialect makes of both spools, read afterwards."""
    exchange = Exchange(dialect)
    exchange.sent(SpooledMessage(number, *pair) for number, pair in enumerate(messages, start=1))
    steps = [*exchange.heard(out), *exchange.settle()]
    return [seen for step in steps if isinstance(step, Heard) for seen in step.seen]


def put_spools(attempt: Path, messages: Sequence[tuple[str, bytes]], out: bytes) -> None:
    """The two spools of one attempt."""
    attempt.mkdir(parents=True, exist_ok=True)
    records = (InputRecord(number, 1, name, line) for number, (name, line) in enumerate(messages, start=1))
    (attempt / "in").write_bytes(b"".join(record.encode() for record in records))
    (attempt / "out").write_bytes(out)


def put_exit(attempt: Path, *, signal: str | None = None, ended_by: EndedBy = EndedBy.AGENT, reason: str = "") -> None:
    """The record of how an attempt ended."""
    record = ExitRecord(
        session=attempt.parent.name,
        attempt=int(attempt.name),
        generation=1,
        ended_by=ended_by,
        reason=reason,
        code=0 if signal is None else None,
        signal=signal,
        written_by="keeper",
        out_size=0,
        err_size=0,
        in_size=0,
        spooled_n=0,
        started_n=0,
        delivered_n=0,
        truncated_out=None,
        truncated_err=None,
        swept=(),
        swept_count=0,
        left=(),
        started_at=1.0,
        ended_at=2.0,
        boot="boot",
    )
    write_exit(create_exit_file(str(attempt)), record)


def put_beginning(folder: Path, agent: str, *, terminal: bool = False) -> None:
    """What a session's folder says about how it was begun."""
    folder.mkdir(parents=True, exist_ok=True)
    begun = {"type": "Created", "at": 1.0, "session": folder.name, "agent": agent, "cwd": "/work", "terminal": terminal}
    (folder / "session.json").write_text(json.dumps(begun))
    os.chmod(folder / "session.json", 0o600)


class ClaudeTalk:
    """Both sides of a conversation with Claude Code: what is sent is what the dialect says."""

    def __init__(self, attempt: int = 1, token: str = "t1") -> None:
        self._dialect = ClaudeDialect(attempt, "/work", token)
        self.messages: list[Outgoing] = []
        self.lines: list[bytes] = []
        [asked] = self._dialect.begin("new", token)
        self.messages.append(asked)
        success = {"subtype": "success", "request_id": asked.message_id}
        self._tell({"type": "control_response", "response": success})

    def say(self, prompt: str, text: str, answer: Iterable[str], *, ends: bool = True) -> None:
        """A prompt, the agent's repetition of it, its words and the end of the turn."""
        message = self._dialect.say(prompt, text)
        self.messages.append(message)
        uuid = json.loads(message.line)["uuid"]
        self._tell({"type": "user", "uuid": uuid, "isReplay": True, "message": {"role": "user", "content": text}})
        for number, words in enumerate(answer):
            content = [{"type": "text", "text": words}]
            self._tell({"type": "assistant", "message": {"id": f"{prompt}-{number}", "content": content}})
        if ends:
            self._tell({"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, "result": "x"})

    @property
    def sent(self) -> list[tuple[str, bytes]]:
        """What was sent, by message."""
        return [(one.message_id, one.line) for one in self.messages]

    def _tell(self, value: object) -> None:
        self.lines.append(json.dumps(value).encode() + b"\n")
