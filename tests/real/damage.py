"""What can happen to an agent's own record of a conversation, done to what each agent really keeps.

Every record is of two prompts, "the first thing" and "the second thing", answered with "answer one" and "answer two".
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Protocol


class Damage(StrEnum):
    """`torn`: the write of the last answer was never finished. `beheaded`: the first prompt and its answer are lost,
    and nothing else. `curtailed`: back to an earlier state, what came behind the first answer is gone."""

    TORN = "torn"
    DELETED = "deleted"
    EMPTIED = "emptied"
    BEHEADED = "beheaded"
    CURTAILED = "curtailed"


class OwnRecord(Protocol):
    """The record of one conversation, while its agent sleeps."""

    def suffer(self, damage: Damage) -> None: ...


class Lines:
    """A file of JSON lines. `answer_mark` is what a line has if it is an answer."""

    def __init__(self, path: Path, answer_mark: bytes = b'"assistant"') -> None:
        self._path = path
        self._answer_mark = answer_mark

    def suffer(self, damage: Damage) -> None:
        lines = self._path.read_bytes().splitlines(keepends=True)
        match damage:
            case Damage.TORN:
                last = max(n for n, line in enumerate(lines) if self._answer_mark in line and b"answer two" in line)
                self._path.write_bytes(b"".join(lines[:last]) + lines[last][: len(lines[last]) // 2])
            case Damage.DELETED:
                self._path.unlink()
            case Damage.EMPTIED:
                self._path.write_bytes(b"")
            case Damage.BEHEADED:
                kept = (line for line in lines if b"the first thing" not in line and b"one" not in line)
                self._path.write_bytes(b"".join(kept))
            case Damage.CURTAILED:
                second = next(number for number, line in enumerate(lines) if b"the second thing" in line)
                self._path.write_bytes(b"".join(lines[:second]))


class OpenCodeDatabase:
    """The rows of one conversation: messages in order, each with its parts, and a log of events."""

    def __init__(self, path: Path, token: str) -> None:
        self._path = path
        self._token = token

    def suffer(self, damage: Damage) -> None:
        with self._open() as database:
            messages = [name for (name,) in database.execute(_MESSAGES, [self._token])]
            assert len(messages) == 4, "two prompts and two answers"
            match damage:
                case Damage.TORN:  # what a part is until its words are written
                    [(part, data)] = database.execute(_WORDS, [messages[3]]).fetchall()
                    begun = json.dumps({**json.loads(data), "text": "", "time": {"start": 1}})
                    database.execute("UPDATE part SET data = ? WHERE id = ?", [begun, part])
                case Damage.DELETED:
                    database.execute("DELETE FROM session WHERE id = ?", [self._token])
                    self._delete(database, messages)
                case Damage.EMPTIED:
                    self._delete(database, messages)
                case Damage.BEHEADED:
                    self._delete(database, messages[:2])
                case Damage.CURTAILED:
                    self._delete(database, messages[2:])
            database.execute("DELETE FROM event WHERE aggregate_id = ?", [self._token])

    @staticmethod
    def _delete(database: sqlite3.Connection, messages: list[str]) -> None:
        for name in messages:
            database.execute("DELETE FROM part WHERE message_id = ?", [name])
            database.execute("DELETE FROM message WHERE id = ?", [name])

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path)) as database, database:
            yield database


_MESSAGES = "SELECT id FROM message WHERE session_id = ? ORDER BY time_created, id"
_WORDS = "SELECT id, data FROM part WHERE message_id = ? AND json_extract(data, '$.type') = 'text'"
