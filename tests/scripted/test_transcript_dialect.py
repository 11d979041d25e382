"""What rekindle reads in the scripted agent's own file, against the agent that writes it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from rekindle.adapters.session_folder.records import VaultRecords
from rekindle.agents.base.transcript import NoPlace, extends
from rekindle.agents.scripted.transcript import ScriptedTranscript
from rekindle.core.session import facts as f
from rekindle.scripted import transcript
from rekindle.scripted.__main__ import _home
from tests.sessions import created, folded

DIALECT = ScriptedTranscript()
RECORDS: list[dict[str, Any]] = [
    {"kind": "session", "id": "t-1", "cwd": "/work", "created": "2026-01-01T00:00:00+00:00"},
    {"kind": "user", "text": "say one\nrun make"},
    {"kind": "assistant", "text": "one\n"},
    {"kind": "step-started", "number": 1, "directive": "say one", "call": None},
    {"kind": "step-finished", "number": 1, "directive": "say one", "call": None, "status": "completed", "result": ""},
    {"kind": "step-started", "number": 2, "directive": "run make", "call": "call-2"},
]


def written(folder: Path) -> Path:
    path = transcript.path_of(folder, "t-1")
    assert path is not None
    file = transcript.Transcript(path)
    for record in RECORDS:
        file.append(record)
    file.close()
    return path


@pytest.mark.parametrize(
    "environment",
    [
        {"HOME": "/home/me"},
        {"HOME": "/home/me", "XDG_STATE_HOME": "/state"},
        {"HOME": "/home/me", "XDG_STATE_HOME": "/state", "REKINDLE_SCRIPTED_HOME": "/own"},
    ],
)
def test_the_file_is_where_the_agent_puts_it(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", environment["HOME"])
    there = transcript.path_of(_home(environment), "t-1")  # type: ignore[arg-type]
    assert DIALECT.place(environment, "/work", "t-1") == str(there)


@pytest.mark.parametrize("token", ["", "..", "a/b", "../../etc/passwd", "-x", "a\0", "x" * 101])
def test_a_token_that_is_no_name_has_no_place(token: str) -> None:
    with pytest.raises(NoPlace):
        DIALECT.place({"HOME": "/home/me"}, "/work", token)
    with pytest.raises(NoPlace):
        DIALECT.place({}, "/work", "t-1")


def test_what_was_written_is_read(tmp_path: Path) -> None:
    found = DIALECT.read(written(tmp_path).read_bytes())
    assert found.prompts == ("say one\nrun make",)
    assert len(found.entries) == len(RECORDS)
    assert found.said == "one\n"
    assert [(tool.tool_id, tool.title) for tool in found.open_tools] == [("call-2", "run make")]
    assert found.problems == ()


def test_a_file_that_was_torn_at_any_byte_is_repaired_to_its_whole_lines(tmp_path: Path) -> None:
    data = written(tmp_path).read_bytes()
    whole = DIALECT.read(data)
    for cut in range(len(data)):
        repaired = DIALECT.repair(data[:cut])
        found = DIALECT.read(repaired.data)
        assert found.problems == ()
        assert data.startswith(repaired.data)
        assert bool(repaired.changes) == (repaired.data != data[:cut])
        assert extends(found, whole)


def test_a_record_that_was_glued_to_a_torn_one_is_set_free() -> None:
    first, second = (json.dumps(record).encode() for record in RECORDS[:2])
    repaired = DIALECT.repair(first + b"\n" + first[:20] + second + b"\n" + bytes(9) + first + b"\n")
    assert repaired.data == first + b"\n" + second + b"\n" + first + b"\n"
    assert len(repaired.changes) == 2


@pytest.mark.parametrize("harm", ["torn", "deleted", "shortened", "wiped"])
def test_the_agent_loads_what_a_pre_flight_put_back(tmp_path: Path, harm: str) -> None:
    home = tmp_path / "home"
    path = written(home)
    data = path.read_bytes()
    session = folded(
        [
            created(),
            f.LaunchIntended(at=3.0, attempt=1, generation=1, how="new"),
            f.Launched(at=4.0, attempt=1, folder="/keep/1", pid=42),
            f.Opened(at=5.0, attempt=1, how="new", token="t-1"),
        ]
    )
    environment = {"REKINDLE_SCRIPTED_HOME": str(home)}
    records = VaultRecords(str(tmp_path / "sessions"), lambda _: environment, {"scripted": DIALECT})
    asyncio.run(records.copy(session))
    if harm == "deleted":
        path.unlink()
    else:
        torn = data + b'{"kind":"assi'
        path.write_bytes({"torn": torn, "shortened": data[:200], "wiped": bytes(len(data))}[harm])
    found = asyncio.run(records.check(session, "t-1"))
    assert found.state == ("repaired" if harm == "torn" else "restored")
    assert found.prompts == ("say one\nrun make",)
    assert list(transcript.read(path)) == RECORDS
    assert path.read_bytes() == data
