"""What agents' own records tell of a conversation that was shortened, and that it is told to the person once."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from rekindle.adapters.vault import agent_database
from rekindle.agents.codex.transcript import new_place
from rekindle.agents.opencode.record import OpenCodeRows
from rekindle.agents.registry import AGENTS
from rekindle.core.session import facts as f
from rekindle.core.session.machine import evolve
from rekindle.core.session.receipt import receipt
from rekindle.ports.records import RecordsError
from tests.sessions import created, folded

#: Records as the real programs write them, without what nobody reads; the second of each is no compaction.
_RECORDS = {
    "codex": [
        {"timestamp": "1", "type": "compacted", "payload": {"message": "a summary", "replacement_history": []}},
        {"timestamp": "2", "type": "turn_context", "payload": {"turn_id": "1"}},
    ],
    "copilot": [
        {"type": "session.compaction_complete", "id": "1", "data": {"success": True}},
        {"type": "session.compaction_complete", "id": "2", "data": {"success": False, "error": "Compaction Cancelled"}},
        {"type": "session.truncation", "id": "3", "data": {"messagesRemovedDuringTruncation": 5}},
        {"type": "session.truncation", "id": "4", "data": {"messagesRemovedDuringTruncation": 0}},
    ],
    "qwen": [
        {"uuid": "1", "sessionId": "s", "type": "system", "systemPayload": {"info": {}, "compressedHistory": []}},
        {"uuid": "2", "sessionId": "s", "type": "system", "systemPayload": {"other": 1}},
    ],
}
_COMPACTIONS = {"codex": 1, "copilot": 2, "qwen": 1}


@pytest.mark.parametrize("agent", _RECORDS)
def test_a_record_tells_how_often_the_agent_has_shortened_the_conversation(agent: str) -> None:
    dialect = AGENTS[agent].transcript
    assert dialect is not None
    data = b"".join(json.dumps(one).encode() + b"\n" for one in _RECORDS[agent])
    assert dialect.read(data).compactions == _COMPACTIONS[agent]


def database(path: Path) -> None:
    with sqlite3.connect(path) as rows:
        rows.execute("CREATE TABLE message (id TEXT, session_id TEXT, time_created INT, data TEXT)")
        rows.execute("CREATE TABLE part (id TEXT, message_id TEXT, data TEXT)")
        said: list[tuple[str, dict[str, object], list[dict[str, object]]]] = [
            ("m1", {"role": "user"}, [{"type": "text", "text": "one"}]),
            ("m2", {"role": "assistant"}, [{"type": "step-start"}, {"type": "text", "text": "answer one"}]),
            ("m3", {"role": "user"}, [{"type": "compaction", "auto": True}]),
            ("m4", {"role": "assistant", "summary": True}, [{"type": "text", "text": "a summary"}]),
            ("m5", {"role": "user"}, [{"type": "text", "synthetic": True, "text": "Continue"}]),
            ("m6", {"role": "user"}, [{"type": "text", "text": "two"}]),
        ]
        for number, (name, message, parts) in enumerate(said):
            rows.execute("INSERT INTO message VALUES (?, 's', ?, ?)", [name, number, json.dumps(message)])
            for at, part in enumerate(parts):
                rows.execute("INSERT INTO part VALUES (?, ?, ?)", [f"p{number}{at}", name, json.dumps(part)])
        rows.execute("INSERT INTO message VALUES ('x', 'another', 0, '{}')")


def test_rows_of_a_database_are_a_record_like_any_other(tmp_path: Path) -> None:
    database(tmp_path / "opencode.db")
    found = agent_database.read(OpenCodeRows(), str(tmp_path / "opencode.db"), "s")
    assert (found.prompts, found.compactions, len(found.entries)) == (("one", "two"), 1, 6)
    assert agent_database.read(OpenCodeRows(), str(tmp_path / "opencode.db"), "unknown").entries == ()


@pytest.mark.parametrize("content", [None, b"", b"no database at all, but long enough to be looked at" * 40])
def test_a_database_that_cannot_be_read_is_an_error_with_its_path(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "opencode.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RecordsError, match=r"opencode\.db"):
        agent_database.read(OpenCodeRows(), str(path), "s")
    assert path.exists() is (content is not None), "nothing is made"


def test_where_opencode_keeps_its_database() -> None:
    rows = OpenCodeRows()
    assert rows.place({"HOME": "/h"}, "/w") == "/h/.local/share/opencode/opencode.db"
    assert rows.place({"HOME": "/h", "XDG_DATA_HOME": "/x", "OPENCODE_DB": "my.db"}, "/w") == "/x/opencode/my.db"


def test_one_compaction_is_told_once_however_often_its_spool_is_read_again() -> None:
    before = folded(
        [
            created(),
            f.LaunchIntended(at=2, attempt=1, generation=1, how="new"),
            f.Launched(at=3, attempt=1, folder="/k/1", pid=1),
            f.Opened(at=4, attempt=1, how="new", token="tok"),
        ]
    )
    first = f.Compacted(at=5, attempt=1, why="once", number=1)
    second = f.Compacted(at=6, attempt=1, why="twice", number=2)
    once = evolve(before, first)
    twice = evolve(once, second)
    assert (len(once.notices), len(twice.notices)) == (1, 2)
    assert evolve(evolve(twice, first), second) == twice


def test_a_receipt_says_that_the_same_conversation_was_compacted() -> None:
    facts: list[f.AnyFact] = [
        created(),
        f.PromptQueued(at=1, prompt="p", text="one"),
        f.LaunchIntended(at=2, attempt=1, generation=1, how="new"),
        f.Launched(at=3, attempt=1, folder="/k/1", pid=1),
        f.Opened(at=4, attempt=1, how="new", token="tok"),
        f.PromptSent(at=5, attempt=1, prompt="p", message=1, text="one"),
        f.TurnFinished(at=6, attempt=1, prompt="p", stop_reason="end_turn"),
        f.Exited(at=7, attempt=1, how_ended="stopped", by_us=True),
    ]
    opened = f.Opened(at=10, attempt=2, how="load", token="tok", known=["one"])
    said = []
    for number in (0, 1):
        intended = f.LaunchIntended(at=8, attempt=2, generation=2, how="load", token="tok", compactions=number)
        found = receipt(folded([*facts, intended, f.Launched(at=9, attempt=2, folder="/k/2", pid=2)]), opened)
        assert found is not None and found.kind == "same"
        said.append("compacted" in found.reason)
    assert said == [False, True]


def test_a_rollout_from_elsewhere_is_put_where_codex_would_have_put_it() -> None:
    pattern = "/h/.codex/sessions/*/*/*/rollout-*-tok.jsonl"
    meta = {"timestamp": "1", "type": "session_meta", "payload": {"id": "tok", "timestamp": "2026-11-16T11:05:58.1Z"}}
    wanted = "/h/.codex/sessions/2026/11/16/rollout-2026-11-16T11-05-58-tok.jsonl"
    assert new_place(pattern, json.dumps(meta).encode() + b"\n{}\n") == wanted
    assert new_place(pattern, b"no record\n") is None
