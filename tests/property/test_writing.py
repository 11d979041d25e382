"""What a writer believes of a log is what a reader makes of it, and a lineage is worth what its events are worth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rekindle.adapters.journal_file.append import Appender
from rekindle.adapters.journal_file.journal import FileJournal
from rekindle.adapters.journal_file.read import read_state
from rekindle.core.journal.analysis import analyse
from rekindle.core.journal.decode import BOM, decode_line
from rekindle.core.journal.document import document
from rekindle.core.journal.fold import fold
from rekindle.ports.journal import NewEvent
from tests.journals import any_lines, journal, line, regular

fixture_is_only_a_folder = settings(suppress_health_check=list(HealthCheck))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


@given(lines=any_lines(), marked=st.booleans(), ended=st.booleans())
@fixture_is_only_a_folder
def test_an_append_never_overrides_an_event(file: Path, lines: list[bytes], marked: bool, ended: bool) -> None:
    raw = (BOM if marked else b"") + journal(*lines)
    file.write_bytes(raw if ended else raw.removesuffix(b"\n"))
    before = read_state(file)
    for sid in ("aaaa0001", "bbbb0002", "new"):
        FileJournal(file, "f").append(NewEvent("checkpoint", {"label": "x"}), sid=sid)
    after = read_state(file)
    assert after.duplicates == before.duplicates
    for sid, run in before.sids.items():
        appended = 1 if sid in ("aaaa0001", "bbbb0002", "new") else 0
        assert after.sids[sid].last_seq == run.last_seq + appended


@given(lines=regular())
@fixture_is_only_a_folder
def test_the_writer_and_the_reader_agree_on_what_is_open(file: Path, lines: list[bytes]) -> None:
    file.write_bytes(journal(*lines))
    head = Appender(str(file)).head()
    state = read_state(file)
    assert {name: (sid.last_seq, sid.is_run, sid.ended) for name, sid in head.sids.items()} == {
        run.sid: (run.last_seq, run.is_run, run.ended) for run in state.sids.values()
    }
    open_runs = [run.sid for run in state.runs if not run.ended]
    assert head.open_run() == (open_runs[-1] if open_runs else None)


@given(lines=regular(), data=st.data())
def test_a_run_cut_and_resumed_at_any_event_amounts_to_the_same(lines: list[bytes], data: st.DataObject) -> None:
    own = [json.loads(one) for one in lines]
    own = [event for event in own if event["type"] not in ("session.start", "session.end", "resume.decided")]
    cut = data.draw(st.integers(0, len(own)))
    whole = [line("session.start", "one", 0), *_numbered(own, "one", 1)]
    halves = [
        line("session.start", "one", 0),
        *_numbered(own[:cut], "one", 1),
        line("session.start", "two", 0, command="resume", resumes="one"),
        *_numbered(own[cut:], "two", 1),
    ]
    assert _told(whole) == _told(halves)


def _numbered(events: list[dict[str, Any]], sid: str, first: int) -> list[bytes]:
    return [line(event["type"], sid, first + index, **event["data"]) for index, event in enumerate(events)]


def _told(lines: list[bytes]) -> dict[str, Any]:
    told = document(analyse(fold(map(decode_line, lines))))
    kept = ("tasks", "task_details", "qa", "branches", "worktrees", "active_agents", "plan", "decision")
    messages = [issue["message"] for issue in told["issues"]]
    return {**{key: told[key] for key in kept}, "order": list(told["tasks"]), "messages": messages}
