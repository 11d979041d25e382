"""One suite for the journal port: the file and the fake keep the same promises."""

from __future__ import annotations

import errno
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

import pytest

from rekindle.adapters.journal_file.append import MAX_LINE, AppendCalls
from rekindle.adapters.journal_file.journal import FileJournal
from rekindle.adapters.journal_file.ledger import Ledger
from rekindle.ports.errors import BadEvent, JournalError
from rekindle.ports.journal import Appended, Journal, NewEvent, Sync
from tests.fakes.journal import FakeJournal, Log
from tests.journals import line


class World(ABC):
    """A journal, and what else may happen to where it lies."""

    @abstractmethod
    def another(self) -> Journal:
        """One more writer of the same journal."""

    @abstractmethod
    def durable(self) -> int:
        """How many events would survive a power loss now."""

    @abstractmethod
    def slip_in(self, line: bytes) -> None:
        """Somebody writes a line straight into the journal."""

    @abstractmethod
    def fill_disk(self) -> None: ...

    @abstractmethod
    def free_disk(self) -> None: ...

    @abstractmethod
    def break_record(self) -> None:
        """Nothing can be put on record any more."""


class FakeWorld(World):
    def __init__(self) -> None:
        self._log = Log()

    def another(self) -> Journal:
        return FakeJournal(log=self._log)

    def durable(self) -> int:
        return self._log.durable

    def slip_in(self, line: bytes) -> None:
        self._log.lines.append(line + b"\n")

    def fill_disk(self) -> None:
        self._log.is_full = True

    def free_disk(self) -> None:
        self._log.is_full = False

    def break_record(self) -> None:
        self._log.record_is_broken = True


class Disk(AppendCalls):
    """A disk that tells what is on it, and that can be full."""

    def __init__(self) -> None:
        self.written = self.synced = 0
        self.is_full = False
        real = AppendCalls()

        def write(fd: int, data: bytes) -> int:
            if self.is_full:
                os.write(fd, data[: len(data) // 2])
                raise OSError(errno.ENOSPC, "No space left on device")
            self.written += 1
            return real.write(fd, data)

        def sync(fd: int) -> None:
            real.sync(fd)
            self.synced = self.written

        self.write, self.sync = write, sync


class FileWorld(World):
    def __init__(self, root: Path) -> None:
        self._root = root
        self._path = root / "deep" / "er" / "events.jsonl"
        self._disk = Disk()
        self._made: list[FileJournal] = []

    def another(self) -> Journal:
        ledger = Ledger(str(self._root / "state"), str(self._path))
        self._made.append(FileJournal(self._path, "search", system=self._disk, ledger=ledger))
        return self._made[-1]

    def durable(self) -> int:
        return self._disk.synced

    def slip_in(self, line: bytes) -> None:
        with self._path.open("ab") as file:
            file.write(line + b"\n")

    def fill_disk(self) -> None:
        self._disk.is_full = True

    def free_disk(self) -> None:
        self._disk.is_full = False

    def break_record(self) -> None:
        shutil.rmtree(self._root / "state", ignore_errors=True)
        (self._root / "state").write_text("no folder")

    def close(self) -> None:
        for one in self._made:
            one.close()


@pytest.fixture(params=["file", "fake"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    if request.param == "fake":
        yield FakeWorld()
        return
    made = FileWorld(tmp_path)
    yield made
    made.close()


@pytest.fixture
def journal(world: World) -> Journal:
    return world.another()


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


@pytest.mark.parametrize(
    ("type_", "policy", "is_durable"),
    [
        ("task.started", None, True),
        ("checkpoint", None, True),
        ("plan.created", None, True),
        ("resume.decided", None, True),
        ("session.start", None, True),
        ("tool.invoked", None, False),
        ("tool.invoked", Sync.ALWAYS, True),
        ("task.started", Sync.BATCHED, False),
        ("task.started", Sync.NONE, False),
    ],
)
def test_an_event_is_on_disk_when_append_returns_as_its_policy_asks(
    world: World, journal: Journal, type_: str, policy: Sync | None, is_durable: bool
) -> None:
    journal.append(NewEvent(type_), sid="a", sync=policy)
    assert world.durable() == int(is_durable)
    journal.flush()
    assert world.durable() == 1


def test_what_is_batched_is_on_disk_with_the_next_synced_event_or_when_the_journal_is_closed(
    world: World, journal: Journal
) -> None:
    journal.append(NewEvent("tool.invoked"), sid="a")
    journal.append(NewEvent("task.started", {"taskId": "1"}), sid="a")
    assert world.durable() == 2
    journal.append(NewEvent("tool.invoked"), sid="a")
    assert world.durable() == 2
    journal.close()
    assert world.durable() == 3
    journal.close()
    assert journal.state().sids["a"].last_seq == 2


def test_an_event_that_is_there_already_is_put_on_disk_as_if_it_were_new(world: World, journal: Journal) -> None:
    event = NewEvent("task.started", {"taskId": "1"}, event_id="outbox-7")
    journal.append(event, sid="a", sync=Sync.BATCHED)
    assert world.durable() == 0
    assert not journal.append(event, sid="a", sync=Sync.ALWAYS).written
    assert world.durable() == 1


def test_writers_of_one_journal_share_numbers_and_ids(world: World, journal: Journal) -> None:
    other = world.another()
    assert journal.append(NewEvent("session.start"), sid="a", fresh=True).seq == 0
    assert other.append(NewEvent("task.started", {"taskId": "1"}, event_id="e"), sid="a").seq == 1
    assert journal.append(NewEvent("tool.invoked"), sid=None) == Appended("a", 2)
    assert journal.knows("e")
    assert not journal.append(NewEvent("task.started", {"taskId": "1"}, event_id="e"), sid="a").written
    assert other.append(NewEvent("session.end"), sid="a").seq == 3
    assert journal.state().duplicates == 0
    assert journal.append(NewEvent("tool.invoked"), sid=None).sid is None


def test_a_full_disk_leaves_the_journal_whole_and_the_number_free(world: World, journal: Journal) -> None:
    journal.append(NewEvent("session.start"), sid="a")
    world.fill_disk()
    with pytest.raises(JournalError):
        journal.append(NewEvent("task.started", {"taskId": "1"}, event_id="e"), sid="a")
    assert (journal.state().lines, journal.state().sids["a"].last_seq) == (1, 0)
    assert not journal.knows("e")
    world.free_disk()
    assert journal.append(NewEvent("task.started", {"taskId": "1"}, event_id="e"), sid="a").seq == 1


def test_only_our_own_word_counts_in_a_run_that_we_drive(world: World, journal: Journal) -> None:
    journal.append(NewEvent("session.start", {"driver": "rekindle"}), sid="aaaa0001")
    journal.append(NewEvent("task.started", {"taskId": "1"}), sid="aaaa0001")
    assert journal.proven().disowned == []
    world.slip_in(line("task.completed", "aaaa0001", 2, taskId="1"))
    assert journal.state().sids["aaaa0001"].work.tasks["1"].status == "COMPLETE"
    for one in (journal, world.another()):
        proven = one.proven()
        assert proven.sids["aaaa0001"].work.tasks["1"].status == "IN_PROGRESS"
        assert [(found.line, found.sid, found.type) for found in proven.disowned] == [(3, "aaaa0001", "task.completed")]
    assert journal.append(NewEvent("task.completed", {"taskId": "1"}), sid="aaaa0001").seq == 3
    assert journal.proven().sids["aaaa0001"].work.tasks["1"].status == "COMPLETE"


def test_what_we_wrote_ourselves_is_told_apart_from_what_agents_and_others_say(world: World, journal: Journal) -> None:
    assert journal.own() == []
    journal.append(NewEvent("session.start", {"driver": "rekindle"}), sid="aaaa0001")
    journal.append(NewEvent("check.ran", {"command": "make test", "result": "fail"}), sid="aaaa0001")
    passed = {"command": "make test", "result": "pass"}
    journal.append(NewEvent("check.ran", passed, by_agent=True), sid="aaaa0001")
    world.slip_in(line("check.ran", "aaaa0001", 3, **passed))
    world.slip_in(line("session.start", "bbbb0001", 0, driver="rekindle"))
    world.slip_in(line("check.ran", "bbbb0001", 1, **passed))
    for one in (journal, world.another()):
        assert [(found.type, found.data.get("result")) for found in one.own()] == [
            ("session.start", None),
            ("check.ran", "fail"),
        ]


def test_in_other_runs_everybodys_word_counts(world: World, journal: Journal) -> None:
    journal.append(NewEvent("session.start", {"command": "implement"}), sid="aaaa0001")
    world.slip_in(line("task.completed", "aaaa0001", 1, taskId="1"))
    proven = journal.proven()
    assert (proven.sids["aaaa0001"].work.tasks["1"].status, proven.disowned) == ("COMPLETE", [])


def test_an_agent_begins_no_run_beside_one_that_we_drive(journal: Journal) -> None:
    journal.append(NewEvent("session.start", {"driver": "rekindle"}), sid="a")
    assert journal.append(NewEvent("session.start", by_agent=True), sid="b").claimed
    assert [run.sid for run in journal.state().runs] == ["a"]
    journal.append(NewEvent("session.end"), sid="a")
    assert not journal.append(NewEvent("session.start", by_agent=True), sid="c").claimed


def test_what_must_be_told_from_a_forged_one_is_not_written_where_it_could_not_be(
    world: World, journal: Journal
) -> None:
    journal.append(NewEvent("session.start", {"driver": "rekindle"}, on_record=True), sid="a")
    world.break_record()
    with pytest.raises(JournalError):
        journal.append(NewEvent("task.completed", {"taskId": "1"}, on_record=True), sid="a")
    assert journal.state().sids["a"].last_seq == 0
    assert journal.append(NewEvent("task.completed", {"taskId": "1"}), sid="a").seq == 1
