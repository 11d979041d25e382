"""One suite for the journal port: the file and the fake keep the same promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekindle.adapters.journal_file.append import MAX_LINE, AppendCalls
from rekindle.adapters.journal_file.journal import FileJournal
from rekindle.ports.errors import BadEvent
from rekindle.ports.journal import Journal, NewEvent, Sync
from tests.fakes.journal import FakeJournal


@pytest.fixture(params=["file", "fake"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Journal:
    if request.param == "fake":
        return FakeJournal()
    return FileJournal(tmp_path / "deep" / "er" / "events.jsonl", "search")


def test_seq_is_per_run_from_zero_without_holes(journal: Journal) -> None:
    got = [journal.append(NewEvent("task.started", {"taskId": "1"}), sid=sid).seq for sid in "aabba"]
    assert got == [0, 1, 0, 1, 2]
    assert journal.state().duplicates == 0


def test_an_event_is_read_back_as_it_was_written(journal: Journal) -> None:
    journal.append(NewEvent("task.failed", {"taskId": "1", "error": "é \u2028 \ud800 \n"}), sid="a")
    task = journal.state().sids["a"].work.tasks["1"]
    assert (task.status, task.error) == ("FAILED", "é \u2028 \ud800 \n")


def test_an_event_with_a_known_id_is_not_written_twice(journal: Journal) -> None:
    event = NewEvent("task.started", {"taskId": "1"}, event_id="outbox-7")
    assert not journal.knows("outbox-7")
    assert journal.append(event, sid="a").written
    assert journal.knows("outbox-7")
    assert not journal.append(event, sid="a").written
    assert journal.append(NewEvent("task.started", {"taskId": "1"}, event_id="outbox-8"), sid="a").seq == 1


def test_an_event_for_no_run_in_particular_goes_to_the_newest_open_one(journal: Journal) -> None:
    assert journal.append(NewEvent("tool.invoked"), sid=None).sid is None
    journal.append(NewEvent("session.start"), sid="a")
    journal.append(NewEvent("session.start"), sid="b")
    assert journal.append(NewEvent("tool.invoked"), sid=None).sid == "b"
    journal.append(NewEvent("session.end"), sid="b")
    assert journal.append(NewEvent("tool.invoked"), sid=None).sid == "a"


def test_what_an_agent_decides_in_a_run_that_we_drive_is_only_a_claim(journal: Journal) -> None:
    journal.append(NewEvent("session.start", {"driver": "rekindle"}), sid="a")
    done = journal.append(NewEvent("task.completed", {"taskId": "1"}, by_agent=True), sid="a")
    assert (done.sid, done.seq, done.claimed) == ("a", 1, True)
    assert not journal.append(NewEvent("blocker.reported", {"description": "x"}, by_agent=True), sid="a").claimed
    assert not journal.append(NewEvent("task.started", {"taskId": "2"}), sid="a").claimed
    work = journal.state().sids["a"].work
    assert list(work.tasks) == ["2"]
    assert [(one.type, one.task) for one in work.claims] == [("task.completed", "1")]
    assert len(work.issues) == 1


def test_what_an_agent_decides_in_a_run_of_its_own_counts(journal: Journal) -> None:
    journal.append(NewEvent("session.start", {"command": "implement"}), sid="a")
    assert not journal.append(NewEvent("task.completed", {"taskId": "1"}, by_agent=True), sid="a").claimed
    assert journal.state().sids["a"].work.tasks["1"].status == "COMPLETE"


def test_a_line_over_one_mebibyte_is_refused_and_leaves_nothing(journal: Journal) -> None:
    with pytest.raises(BadEvent, match=str(MAX_LINE)):
        journal.append(NewEvent("warning.logged", {"message": "x" * MAX_LINE}), sid="a")
    assert journal.state().lines == 0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}])
def test_data_that_is_no_json_is_refused_and_leaves_nothing(journal: Journal, value: object) -> None:
    with pytest.raises(BadEvent):
        journal.append(NewEvent("warning.logged", {"message": value}), sid="a")
    assert journal.state().lines == 0


def test_a_journal_that_does_not_exist_is_empty(journal: Journal) -> None:
    assert journal.state().lines == 0


class Watched(AppendCalls):
    """Writes down the order of the calls that durability hangs on."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        real = AppendCalls()

        def write(fd: int, data: bytes) -> int:
            self.calls.append("write")
            return real.write(fd, data)

        def sync(fd: int) -> None:
            self.calls.append("sync")
            real.sync(fd)

        self.write, self.sync = write, sync


@pytest.mark.parametrize(
    ("type_", "policy", "expected"),
    [
        ("task.started", None, ["write", "sync"]),
        ("checkpoint", None, ["write", "sync"]),
        ("plan.created", None, ["write", "sync"]),
        ("resume.decided", None, ["write", "sync"]),
        ("session.start", None, ["write", "sync"]),
        ("tool.invoked", None, ["write"]),
        ("tool.invoked", Sync.ALWAYS, ["write", "sync"]),
        ("task.started", Sync.BATCHED, ["write"]),
        ("task.started", Sync.NONE, ["write"]),
    ],
)
def test_an_event_is_written_then_synced_before_append_returns(
    tmp_path: Path, type_: str, policy: Sync | None, expected: list[str]
) -> None:
    system = Watched()
    journal = FileJournal(tmp_path / "events.jsonl", "search", system=system)
    journal.append(NewEvent(type_), sid="a", sync=policy)
    assert system.calls == expected
    journal.flush()
    assert system.calls[-1] == "sync"
