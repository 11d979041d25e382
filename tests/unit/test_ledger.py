"""Whose orders a journal holds: ours are on record, others are approved as they were seen, and anything else asks."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.adapters.journal_file.append import AppendCalls
from rekindle.adapters.journal_file.journal import FileJournal
from rekindle.adapters.journal_file.ledger import FOLDER, Ledger, lines_of
from rekindle.core.journal.decode import decode_line
from rekindle.core.journal.event import Event
from rekindle.core.journal.orders import bears_orders, gives_work
from rekindle.ports.errors import JournalError
from rekindle.ports.journal import NewEvent, Sync
from tests.journals import SIDS, any_lines, line

PLAN = NewEvent("plan.created", {"tasks": [{"id": "1", "checks": ["rm -rf /"]}]})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "progress" / "auth" / "events.jsonl"


def journal(path: Path) -> FileJournal:
    return FileJournal(path, "auth", ledger=Ledger(str(path.parents[2] / "state"), str(path)))


def test_what_our_appender_wrote_needs_no_yes(path: Path) -> None:
    mine = journal(path)
    for event in (NewEvent("session.start"), PLAN, NewEvent("checkpoint"), NewEvent("tool.invoked")):
        mine.append(event, sid="aaaa0001")
    assert mine.unapproved(["aaaa0001"]) is None
    assert journal(path).unapproved(["aaaa0001"]) is None, "another process of ours knows it too"


def test_the_record_is_the_users_alone_and_outside_of_the_repository(path: Path) -> None:
    journal(path).append(PLAN, sid="aaaa0001")
    folder = path.parents[2] / "state" / FOLDER
    [record] = folder.iterdir()
    assert (stat.S_IMODE(folder.stat().st_mode), stat.S_IMODE(record.stat().st_mode)) == (0o700, 0o600)
    assert b"rm -rf" not in record.read_bytes()


def test_a_line_of_somebody_else_needs_a_yes_and_another_one_needs_another(path: Path) -> None:
    mine = journal(path)
    mine.append(NewEvent("session.start"), sid="aaaa0001")
    with path.open("ab") as file:
        file.write(line("plan.created", "aaaa0001", 1, tasks=[]) + b"\n")
    first = mine.unapproved(["aaaa0001"])
    assert first is not None
    mine.approve(first)
    assert mine.unapproved(["aaaa0001"]) is None
    mine.append(NewEvent("checkpoint"), sid="aaaa0001")
    assert mine.unapproved(["aaaa0001"]) is None, "what we add ourselves changes nothing"
    with path.open("ab") as file:
        file.write(line("plan.updated", "aaaa0001", 5, tasks=[]) + b"\n")
    assert mine.unapproved(["aaaa0001"]) not in (None, first)


def test_a_yes_is_for_all_of_it_in_its_order(path: Path) -> None:
    """An older plan that a newer one covers was not shown: it does not come to light by taking the newer one away."""
    path.parent.mkdir(parents=True)
    lines = [line("plan.created", "aaaa0001", seq, tasks=[{"id": str(seq)}]) + b"\n" for seq in range(2)]
    path.write_bytes(b"".join(lines))
    seen = journal(path).unapproved(["aaaa0001"])
    journal(path).approve(str(seen))
    for changed in (lines[:1], lines[1:], lines[::-1], [*lines, lines[0]]):
        path.write_bytes(b"".join(changed))
        assert journal(path).unapproved(["aaaa0001"]) is not None


def test_a_journal_in_another_place_is_another_journal(path: Path, tmp_path: Path) -> None:
    journal(path).append(PLAN, sid="aaaa0001")
    copy = tmp_path / "clone" / "auth" / "events.jsonl"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(path.read_bytes())
    assert FileJournal(copy, "auth", ledger=Ledger(str(tmp_path / "state"), str(copy))).unapproved(["aaaa0001"])


def test_a_plan_that_an_agent_tracks_is_data_and_its_progress_counts(path: Path) -> None:
    journal(path).append(NewEvent("session.start"), sid="aaaa0001")
    journal(path).append(NewEvent("task.started", {"taskId": "1"}, by_agent=True), sid="aaaa0001")
    assert journal(path).unapproved(["aaaa0001"]) is None
    journal(path).append(replace(PLAN, by_agent=True), sid="aaaa0001")
    assert journal(path).unapproved(["aaaa0001"]) is not None


def test_runs_that_are_not_resumed_do_not_matter_and_events_without_a_run_do(path: Path) -> None:
    journal(path).append(NewEvent("session.start"), sid="bbbb0002")
    with path.open("ab") as file:
        file.write(line("plan.created", "aaaa0001", 0, tasks=[]) + b"\n")
    assert journal(path).unapproved(["bbbb0002"]) is None
    with path.open("ab") as file:
        file.write(line("plan.created", None, None, tasks=[]) + b"\n")
    assert journal(path).unapproved(["bbbb0002"]) is not None


def test_a_record_that_cannot_be_kept_costs_a_question_and_no_event(path: Path, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    journal(path).append(PLAN, sid="aaaa0001")
    assert path.read_bytes().count(b"\n") == 1
    assert journal(path).unapproved(["aaaa0001"]) is not None


@given(any_lines())
def test_no_order_of_somebody_else_slips_through(lines: list[bytes]) -> None:
    """Whatever the bytes: an event that decides about these runs and is not on record is asked about."""
    ledger = Ledger("/nonexistent/state", "/nonexistent/journal")
    decoded = [decode_line(one) for one in lines]
    orders = [event for event in decoded if isinstance(event, Event) and bears_orders(event.type)]
    for lineage in (SIDS, SIDS[:1]):
        meant = [event for event in orders if event.sid is None or event.sid in lineage]
        assert (ledger.unapproved(lines, lineage) is not None) == bool(meant)


@given(st.sampled_from(["plan.created", "plan.updated", "resume.decided", "session.start", "qa.failed"]))
def test_a_type_behind_escapes_is_the_same_type(type_: str) -> None:
    raw = line(type_, SIDS[0], 0).replace(
        f'"{type_}"'.encode(), b'"' + b"".join(b"\\u%04x" % ord(c) for c in type_) + b'"'
    )
    assert Ledger("/nonexistent/state", "/nonexistent/journal").unapproved([raw], SIDS) is not None


def test_what_gives_work_decides_about_a_resume() -> None:
    assert all(bears_orders(type_) for type_ in ("plan.created", "plan.updated", "resume.decided"))
    assert gives_work("plan.created") and gives_work("qa.passed") and not gives_work("task.started")
    assert not bears_orders("tool.invoked")


def test_the_lines_of_a_journal_are_read_whole_also_without_a_last_line_end(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes(b"a\n\nb\nc")
    assert list(lines_of(str(file))) == [b"a", b"", b"b", b"c"]
    (tmp_path / "link").symlink_to(file)
    with pytest.raises(OSError):
        list(lines_of(str(tmp_path / "link")))
    assert os.path.exists(file)


def watched(path: Path) -> tuple[FileJournal, list[str]]:
    """A journal, and what happens on its disks: `record` and `journal` are syncs, `line` is a write."""
    seen: list[str] = []
    calls = AppendCalls()

    def sync(of: str) -> Callable[[int], None]:
        def confirmed(fd: int) -> None:
            seen.append(of)
            os.fdatasync(fd)

        return confirmed

    def write(fd: int, data: bytes) -> int:
        seen.append("line")
        return os.write(fd, data)

    calls.sync, calls.write = sync("journal"), write
    ledger = Ledger(str(path.parents[2] / "state"), str(path), sync=sync("record"))
    return FileJournal(path, "auth", system=calls, ledger=ledger), seen


def test_events_that_are_acknowledged_together_share_one_sync_of_the_record_and_one_of_the_journal(path: Path) -> None:
    mine, seen = watched(path)
    for _ in range(10):
        mine.append(NewEvent("task.completed", on_record=True), sid="aaaa0001", sync=Sync.BATCHED)
    assert seen == ["line"] * 10
    mine.flush()
    assert seen[10:] == ["record", "journal"], "both are on disk before anybody is told"


def test_the_record_of_an_event_that_is_not_written_twice_is_on_disk_before_its_line(path: Path) -> None:
    mine, seen = watched(path)
    mine.append(NewEvent("task.completed", event_id="e1", on_record=True), sid="aaaa0001", sync=Sync.BATCHED)
    assert seen == ["record", "line"]


def test_an_event_that_must_be_on_record_is_not_acknowledged_if_the_disk_does_not_confirm_the_record(
    path: Path,
) -> None:
    def broken(_fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    mine = FileJournal(path, "auth", ledger=Ledger(str(path.parents[2] / "state"), str(path), sync=broken))
    with pytest.raises(JournalError, match="did not confirm"):
        mine.append(NewEvent("session.start", on_record=True), sid="aaaa0001", sync=Sync.ALWAYS)
    mine.append(NewEvent("session.start"), sid="aaaa0001", sync=Sync.ALWAYS)
