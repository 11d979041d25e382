"""In a run that rekindle drives only its own word counts; what others say in it is a claim, marked or found out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.adapters.journal_file.journal import FileJournal
from rekindle.adapters.journal_file.ledger import Ledger
from rekindle.adapters.journal_file.repair import verify
from rekindle.core.journal.claims import disowned
from rekindle.core.journal.decode import decode_line
from rekindle.core.journal.event import Event
from rekindle.core.journal.fold import JournalState
from rekindle.core.journal.orders import bears_orders, decides
from rekindle.ports.errors import RekindleError
from rekindle.ports.journal import NewEvent
from tests.journals import any_lines, line

SID = "aaaa0001"
DRIVEN = {"command": "implement", "driver": "rekindle"}


class Desk:
    """A journal with a run that we drive, and somebody who writes into its file."""

    def __init__(self, folder: Path, **start: str) -> None:
        self.path = folder / "progress" / "auth" / "events.jsonl"
        self.ledger = Ledger(str(folder / "state"), str(self.path))
        self.journal = FileJournal(self.path, "auth", ledger=self.ledger)
        self.tell("session.start", **(start or DRIVEN))
        self.tell("plan.created", tasks=[{"id": "1"}, {"id": "2"}])

    def tell(self, type_: str, **data: Any) -> None:
        self.journal.append(NewEvent(type_, data), sid=SID)

    def forge(self, type_: str, sid: str | None = SID, seq: int | None = 77, **data: Any) -> None:
        with self.path.open("ab") as file:
            file.write(line(type_, sid, seq, **data) + b"\n")

    def proven(self) -> JournalState:
        return self.journal.proven()

    def forged(self) -> list[int]:
        return [one.line for one in verify(self.path, self.ledger).problems if one.rule == "forged"]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize(
    ("type_", "data"),
    [
        ("branch.merged", {"name": "work/auth/1", "taskId": "1"}),
        ("task.completed", {"taskId": "1"}),
        ("task.skipped", {"taskId": "1"}),
        ("qa.passed", {"taskId": "1"}),
        ("branch.created", {"name": "work/auth/1", "taskId": "1"}),
        ("worktree.created", {"path": "/x", "branch": "work/auth/1"}),
        ("agent.spawned", {"name": "x", "task": "1", "branch": "work/auth/2"}),
        ("resume.decided", {"choice": "A", "tasks": ["1"]}),
        ("checkpoint", {"plan_step": "finish"}),
        ("plan.created", {"tasks": []}),
        ("session.end", {"reason": "completed"}),
    ],
)
@pytest.mark.parametrize("sid", [SID, None])
def test_what_somebody_wrote_into_the_file_changes_nothing(
    desk: Desk, type_: str, data: dict[str, Any], sid: str | None
) -> None:
    before = desk.proven().sids[SID]
    desk.forge(type_, sid, **data)
    desk.tell("task.started", taskId="2")
    state = desk.proven()
    now = state.sids[SID]
    assert [(one.line, one.type) for one in state.disowned] == [(3, type_)]
    assert [one.type for one in now.work.claims] == [type_]
    assert now.work.tasks["2"].status == "IN_PROGRESS"
    assert now.work.tasks["1"].status is None
    assert (now.ended, now.work.checkpoint, now.work.branches, now.work.qa) == (False, None, {}, {})
    assert (now.work.plan, now.work.agents, now.work.choices) == (before.work.plan, {}, [])
    assert desk.forged() == [3]


def test_a_line_cannot_take_the_place_of_one_of_ours(desk: Desk) -> None:
    desk.tell("task.failed", taskId="1", error="no")
    desk.forge("tool.invoked", seq=2)
    assert desk.journal.state().sids[SID].work.tasks["1"].status is None, "a later line with the same place wins"
    assert desk.proven().sids[SID].work.tasks["1"].status == "FAILED"
    assert desk.forged() == [4]


def test_what_is_only_described_or_reported_needs_no_record(desk: Desk) -> None:
    desk.forge("tool.invoked", seq=2)
    desk.forge("error.encountered", seq=3, error="boom")
    assert desk.proven().disowned == [] and len(desk.proven().sids[SID].work.issues) == 1


def test_forged_lines_ask_nobody_for_a_yes(desk: Desk) -> None:
    desk.forge("task.completed", taskId="1")
    assert desk.journal.unapproved([SID]) is None


def test_a_run_that_we_do_not_drive_counts_as_it_is(tmp_path: Path) -> None:
    desk = Desk(tmp_path, command="implement")
    desk.forge("task.completed", taskId="1")
    assert desk.proven().sids[SID].work.tasks["1"].status == "COMPLETE"
    assert desk.proven().disowned == [] and desk.forged() == []
    assert desk.journal.unapproved([SID]) is not None


def test_a_driven_run_from_elsewhere_is_somebody_elses(desk: Desk, tmp_path: Path) -> None:
    elsewhere = FileJournal(desk.path, "auth", ledger=Ledger(str(tmp_path / "other"), str(desk.path)))
    desk.tell("task.completed", taskId="1")
    assert elsewhere.proven().sids[SID].work.tasks["1"].status == "COMPLETE"
    assert elsewhere.unapproved([SID]) is not None


def test_the_same_reader_sees_what_is_forged_later(desk: Desk) -> None:
    assert desk.proven().disowned == []
    desk.forge("task.completed", taskId="1")
    assert len(desk.proven().disowned) == 1 == len(desk.proven().disowned)


def test_an_agent_cannot_begin_a_run_of_its_own_beside_ours(desk: Desk) -> None:
    for type_ in ("session.start", "task.completed", "session.end"):
        assert desk.journal.append(NewEvent(type_, {"taskId": "1"}, by_agent=True), sid="bbbb0002").claimed
    assert [run.sid for run in desk.proven().runs] == [SID]


def test_an_agent_can_when_ours_has_ended(desk: Desk) -> None:
    desk.tell("session.end", reason="completed")
    assert not desk.journal.append(NewEvent("session.start", by_agent=True), sid="bbbb0002", fresh=True).claimed


def test_an_agent_can_when_ours_was_continued_to_its_end(desk: Desk) -> None:
    desk.journal.append(NewEvent("session.start", {**DRIVEN, "command": "resume", "resumes": SID}), sid="bbbb0002")
    desk.journal.append(NewEvent("session.end", {"reason": "completed"}), sid="bbbb0002")
    assert not desk.journal.append(NewEvent("session.start", by_agent=True), sid="cccc0003", fresh=True).claimed


def test_what_cannot_be_put_on_record_is_not_written_by_a_run(desk: Desk, tmp_path: Path) -> None:
    lines = desk.path.read_bytes()
    (folder := tmp_path / "state").rename(tmp_path / "gone")
    folder.write_text("in the way")
    with pytest.raises(RekindleError, match="cannot be put on record"):
        desk.journal.append(NewEvent("task.completed", {"taskId": "1"}, on_record=True), sid=SID)
    assert desk.path.read_bytes() == lines


@given(lines=any_lines(), data=st.data())
def test_only_lines_of_our_runs_that_are_not_ours_are_disowned(lines: list[bytes], data: st.DataObject) -> None:
    events = [(number, one) for number, raw in enumerate(lines, 1) if isinstance(one := decode_line(raw), Event)]
    ours = data.draw(st.sets(st.sampled_from([number for number, _ in events]))) if events else set()
    by_line = dict(events)
    driven = {
        one.sid
        for number, one in events
        if number in ours and one.type == "session.start" and one.data.get("driver") == "rekindle"
    } - {None}
    found = disowned(events, ours)
    assert not ours & set(found)
    assert all(by_line[number].sid in {*driven, None} for number in found)
    assert driven or not found
    missed = {number for number, one in events if one.sid in driven and decides(one.type)} - ours - set(found)
    assert not missed


@given(type_=st.text(max_size=12) | st.sampled_from(["session.start", "plan.created", "checkpoint", "qa.passed"]))
def test_whatever_bears_orders_decides(type_: str) -> None:
    assert decides(type_) or not bears_orders(type_)
