"""A skill that was edited between two lives of its session: the saved phase is gone, or has another name now."""

from __future__ import annotations

import json

import pytest

from tests.e2e.conftest import Scratch
from tests.e2e.test_skill_sessions import Desk

CONTEXT = json.dumps({"summary": "Find the leak", "nextSteps": ["fix it"]})
EDITS = {"removed": ('  - "1: Research"\n', ""), "renamed": ("1: Research", "1: Reading")}


@pytest.fixture
def desk(scratch: Scratch) -> Desk:
    """A session in 1: Research whose agent is gone."""
    made = Desk(scratch)
    made.begin()
    made.go_to("1")
    made.put(pid=None, owner=None)
    return made


def edit(desk: Desk, old: str, new: str) -> None:
    manual = desk.scratch.root / ".claude" / "skills" / "report" / "SKILL.md"
    assert old in manual.read_text()
    manual.write_text(manual.read_text().replace(old, new))


@pytest.mark.parametrize("how", EDITS)
def test_nobody_goes_on_at_a_phase_that_is_not_declared_any_more(desk: Desk, how: str) -> None:
    desk.ok("dehydrate", "sessions/login", input_=CONTEXT)
    edit(desk, *EDITS[how])
    before = desk.state()
    for words in (
        ("activate", "sessions/login", "report"),
        ("continue", "sessions/login"),
        ("resume", "sessions/login"),
        ("resume", "sessions/login", "--choose", "RSM"),
        ("resume", "sessions/login", "--choose", "RST"),
        ("phase", "2", "--dir", "sessions/login"),
    ):
        said = desk.refused(2, *words)
        assert "1: Research, which the skill report does not declare any more" in said["message"]
        assert "no move is open without an approval; with --approve REASON: 0" in said["hint"]
    assert desk.state() == before, "its notes wait, and nobody has claimed it"
    shown = json.loads(desk.ok("show", "sessions/login", "--json"))
    assert (shown["currentPhase"], shown["moves"]) == ("1: Research", [])
    assert "no move is open without an approval" in desk.ok("show", "sessions/login")


def test_an_approval_chooses_the_phase_and_the_session_goes_on_with_the_skill_as_it_is_now(desk: Desk) -> None:
    desk.ok("dehydrate", "sessions/login", input_=CONTEXT)
    edit(desk, *EDITS["renamed"])
    desk.ok("phase", "1", "--dir", "sessions/login", "--approve", "it was only renamed")
    told = json.loads(desk.ok("continue", "sessions/login", "--json"))
    assert told["proof"]["phaseResumed"] == "1: Reading" and told["proof"]["resumePath"] == "fast"
    now = desk.state()
    assert now["phaseMoves"][-1]["reason"] == "it was only renamed"
    assert now["phaseHistory"][-2:] == ["1: Research", "1: Reading"]
    assert [one["name"] for one in now["phases"]][:2] == ["Setup", "Reading"]
    desk.ok("phase", "2")


def test_where_a_person_approves_an_agent_waits_for_one(desk: Desk) -> None:
    edit(desk, "next: [review]", "next: [review]\napproval: person")
    edit(desk, *EDITS["removed"])
    agent = {"CLAUDECODE": "1"}
    said = desk.refused(3, "phase", "2", "--dir", "sessions/login", "--approve", "the next one", env=agent)
    assert "waits for a person" in said["message"]
    assert desk.state()["currentPhase"] == "1: Research"
    assert "1: Research" in [f"{one['label']}: {one['name']}" for one in desk.state()["phases"]]


def test_a_skill_that_still_declares_the_phase_or_cannot_be_read_changes_nothing(desk: Desk) -> None:
    edit(desk, "2: Writing", "2: Prose")
    desk.ok("continue", "sessions/login")
    desk.ok("phase", "2")
    assert desk.state()["currentPhase"] == "2: Writing", "its phases are those that it was activated with"
    desk.put(pid=None, owner=None)
    (desk.scratch.root / ".claude" / "skills" / "report" / "SKILL.md").unlink()
    assert "not declare any more" not in desk.ok("show", "sessions/login")
