"""In a run that rekindle drives only its own word counts; what others say in it is a claim, marked or found out."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekindle.adapters.journal_file import proven
from rekindle.adapters.journal_file.journal import FileJournal
from rekindle.adapters.journal_file.ledger import Ledger
from rekindle.adapters.journal_file.proven import ProvenReader
from rekindle.adapters.journal_file.repair import verify
from rekindle.core.journal.analysis import analyse
from rekindle.core.journal.belonging import run_for
from rekindle.core.journal.claims import as_claim, disowned, intruders, of_intruders
from rekindle.core.journal.decode import decode_line
from rekindle.core.journal.event import Event
from rekindle.core.journal.fold import JournalState, fold
from rekindle.core.journal.lineage import overlay
from rekindle.core.journal.orders import bears_orders, decides
from rekindle.ports.errors import RekindleError
from rekindle.ports.journal import NewEvent
from tests.journals import any_lines, interrupted_in_wave_two, line

SID = "aaaa0001"
FORGED = "deadbeef"
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


TAKEOVERS: list[dict[str, str]] = [
    {"command": "resume", "resumes": SID},
    {"command": "resume"},
    {"command": "resume", "resumes": "gone0000"},
    {"command": "implement", "restarts": SID},
    {"command": "resume", "resumes": SID, "driver": "rekindle"},
    {"command": "implement"},
]


@pytest.mark.parametrize("start", TAKEOVERS)
@pytest.mark.parametrize("ends", [True, False])
def test_a_run_that_somebody_wrote_into_the_file_takes_no_run_of_ours_over(
    desk: Desk, start: dict[str, str], ends: bool
) -> None:
    desk.forge("session.start", FORGED, 0, **start)
    desk.forge("agent.error", FORGED, 1, name="x", error="no")
    if ends:
        desk.forge("session.end", FORGED, 2, reason="completed")
    state = desk.proven()
    found = analyse(state)
    assert (found.interrupted, found.lineage, found.sid) == ((SID,), (SID,), SID)
    assert run_for(state, SID) == SID == run_for(state, None)
    assert {one.line for one in state.disowned} == {3, 4, 5} - (set() if ends else {5})
    assert desk.forged() == [one.line for one in state.disowned]
    assert desk.journal.unapproved(found.lineage) is None


@pytest.mark.parametrize("seq", [0, None])
def test_nobody_can_write_that_a_run_of_ours_is_not_ours(desk: Desk, seq: int | None) -> None:
    desk.forge("session.start", SID, seq, command="implement")
    desk.forge("session.end", SID, 5, reason="completed")
    state = desk.proven()
    assert state.sids[SID].is_driven and analyse(state).interrupted == (SID,)
    assert desk.forged() == [3, 4]


def test_a_chain_of_such_runs_takes_none_over_either(desk: Desk) -> None:
    desk.forge("session.start", FORGED, 0, command="resume", resumes=SID)
    desk.forge("session.start", "cafe0002", 0, command="resume", resumes=FORGED)
    desk.forge("session.end", "cafe0002", 1, reason="completed")
    assert analyse(desk.proven()).interrupted == (SID,)


@pytest.mark.parametrize("start", [one for one in TAKEOVERS if one != {"command": "implement"}])
def test_a_run_that_ended_early_is_not_taken_over_either(desk: Desk, start: dict[str, str]) -> None:
    desk.tell("session.end", reason="failed")
    desk.forge("session.start", FORGED, 0, **start)
    desk.forge("session.end", FORGED, 1, reason="completed")
    assert analyse(desk.proven()).sid == SID and desk.forged() == [4, 5]


def test_a_run_that_was_begun_beside_ours_is_not_the_last_when_ours_has_ended(desk: Desk) -> None:
    desk.forge("task.started", FORGED, 0, taskId="1")
    desk.forge("session.end", FORGED, 1, reason="completed")
    desk.tell("session.end", reason="failed")
    assert analyse(desk.proven()).sid == SID


def test_an_agent_cannot_take_ours_over_with_help_of_a_forged_line(desk: Desk) -> None:
    desk.forge("session.start", FORGED, 0, command="resume", resumes=SID)
    for sid in (FORGED, "cafe0002"):
        start = {"command": "resume", "resumes": SID}
        desk.journal.append(NewEvent("session.start", start, by_agent=True), sid=sid)
        desk.journal.append(NewEvent("task.completed", {"taskId": "1"}, by_agent=True), sid=sid)
        desk.journal.append(NewEvent("session.end", {"reason": "completed"}, by_agent=True), sid=sid)
    found = analyse(desk.proven())
    assert (found.interrupted, found.state.tasks["1"].status) == ((SID,), None)


def test_what_a_person_tracks_goes_on_from_ours(desk: Desk) -> None:
    desk.journal.append(NewEvent("session.start", {"command": "resume", "resumes": SID}), sid="bbbb0002")
    desk.journal.append(NewEvent("task.completed", {"taskId": "1"}), sid="bbbb0002")
    desk.forge("agent.error", "bbbb0002", 2, name="x", error="no")
    found = analyse(desk.proven())
    assert (found.lineage, found.state.tasks["1"].status, len(found.state.issues)) == ((SID, "bbbb0002"), "COMPLETE", 1)
    assert desk.forged() == []


def test_a_run_of_another_orchestrator_before_ours_counts(tmp_path: Path) -> None:
    desk = Desk(tmp_path, command="implement")
    desk.path.write_bytes(b"".join(one + b"\n" for one in interrupted_in_wave_two("0a0a0a0a")))
    desk.journal.append(NewEvent("session.start", {**DRIVEN, "command": "resume", "resumes": "0a0a0a0a"}), sid=SID)
    assert analyse(desk.proven()).lineage == ("0a0a0a0a", SID) and desk.proven().disowned == []


def test_the_user_can_say_yes_to_such_a_run_as_it_is(desk: Desk) -> None:
    desk.forge("session.start", FORGED, 0, command="resume", resumes=SID)
    yes = desk.proven().disowned[0].intruder
    assert not desk.journal.admit("00000000" if not yes.startswith("00000000") else "11111111")
    assert desk.journal.admit(yes[:12])
    found = analyse(desk.proven())
    assert (found.lineage, desk.forged()) == ((SID, FORGED), [])
    assert desk.journal.unapproved(found.lineage) is not None, "what it orders is another question"
    desk.forge("session.end", FORGED, 1, reason="completed")
    assert analyse(desk.proven()).interrupted == (SID,), "the yes was to one line"
    start = {**DRIVEN, "command": "resume", "resumes": FORGED}
    desk.journal.append(NewEvent("session.start", start), sid="cccc0003")
    assert analyse(desk.proven()).lineage == (SID, FORGED, "cccc0003"), "a run of ours has gone on from it"


def test_later_looks_do_not_read_what_was_told_apart_before(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.forge("session.start", FORGED, 0, command="resume", resumes=SID)
    assert len(desk.proven().disowned) == 1
    monkeypatch.setattr(proven, "told_apart", None)
    for number in range(3):
        desk.tell("task.started", taskId=str(number))
        desk.tell("tool.invoked", tool="Bash")
        state = desk.proven()
        assert len(state.disowned) == 1 and state.sids[SID].work.tasks[str(number)].status == "IN_PROGRESS"


@settings(max_examples=30)
@given(lines=any_lines(), data=st.data())
def test_a_later_look_finds_what_a_first_look_finds(lines: list[bytes], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "events.jsonl")
        ledger = Ledger(folder, str(path))
        reader = ProvenReader(path, ledger, None)
        ours = line("session.start", SID, 0, **DRIVEN)
        ledger.note("session.start", ours)
        path.write_bytes(ours + b"\n")
        for one in lines:
            if isinstance(event := decode_line(one), Event) and data.draw(st.booleans()):
                ledger.note(event.type, one)
            with path.open("ab") as file:
                file.write(one + b"\n")
            later, first = reader.state(), ProvenReader(path, ledger, None).state()
            assert later.disowned == first.disowned
            assert analyse(later).lineage == analyse(first).lineage
            assert overlay(list(later.sids.values())) == overlay(list(first.sids.values()))


@given(lines=any_lines(), data=st.data())
def test_runs_that_are_taken_out_leave_no_trace_in_what_is_resumed(lines: list[bytes], data: st.DataObject) -> None:
    """The analysis is that of the journal without them."""
    events = [(number, one) for number, raw in enumerate(lines, 1) if isinstance(one := decode_line(raw), Event)]
    ours = data.draw(st.sets(st.sampled_from([number for number, _ in events]))) if events else set()
    out = intruders(events, ours)
    gone = set(of_intruders(events, ours, out))
    begun = {one.sid for number, one in events if number in ours and one.type == "session.start"}
    assert all(one.sid in out for number, one in events if number in gone)
    left = fold(as_claim(one, alone=False) if number in gone else one for number, one in events)
    assert not {run.sid for run in left.runs} & out - begun
    driven = {run.sid for run in left.runs if run.is_driven} & begun
    assert driven or not out


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
