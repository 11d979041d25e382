"""The slow path with the real commands, step by step: what is found, what is asked, what each answer does."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Scratch
from tests.e2e.daemon import Machine
from tests.e2e.test_skill_sessions import SAMPLE, Desk
from tests.e2e.typist import Typist

PLAN = "# Plan\n- [x] Read the code\n- [ ] Ask the team\n"
LOG = "# Log\n\n## Begun\n* a\n\n## Read the login form\n* b\n"


@pytest.fixture
def desk(scratch: Scratch) -> Desk:
    """A session in 1: Research whose agent is gone."""
    made = Desk(scratch)
    made.begin()
    made.go_to("1")
    (made.folder / "REPORT_LOG.md").write_text(LOG)
    (made.folder / "REPORT_PLAN.md").write_text(PLAN)
    made.put(pid=None, owner=None)
    return made


def log_of(desk: Desk) -> str:
    return (desk.folder / "REPORT_LOG.md").read_text()


def test_what_was_found_is_reported_before_anything_is_asked(desk: Desk) -> None:
    done = desk.session("resume", "sessions/login")
    assert done.returncode == 3
    assert done.stdout.splitlines()[:8] == [
        "> **Session Resume (Manual)**",
        ">",
        "> Found active session:",
        "> - **Session**: `sessions/login`",
        "> - **Skill**: `report`",
        "> - **Saved phase**: `1: Research`",
        "> - **Artifacts found**: log (REPORT_LOG.md), plan (REPORT_PLAN.md, 1 of 2 steps ticked)",
        "> - **Actual progress**: at 1: Research; 1 of 2 steps of the plan are left, "
        "next step: Ask the team, then 2: Writing, 2.1: Draft, 2.2: Debrief, 2.3: Close",
    ]
    assert "--choose RSM" in done.stderr
    assert desk.state()["pid"] is None


def test_inside_claude_code_the_question_comes_as_its_question_tool_takes_it(desk: Desk) -> None:
    said = desk.refused(3, "resume", "sessions/login", env={"CLAUDECODE": "1"})
    first = said["askUserQuestion"][0]
    assert "saved at 1: Research" in first["question"]
    assert [one["description"] for one in first["options"]][:3] == [
        "Pick up where the session left off",
        "Redo the current phase cleanly from scratch",
        "Start a different skill on this session directory",
    ]
    assert "AskUserQuestion" in said["hint"]
    assert said["artifacts"]["log"][-1]["title"] == "Read the login form"
    assert said["artifacts"]["plan"]["open"] == ["Ask the team"]


def test_resume_goes_on_at_the_saved_phase_and_logs_it(desk: Desk) -> None:
    before = desk.state()
    inode = desk.folder.stat().st_ino
    found = json.loads(desk.ok("resume", "sessions/login", "--choose", "RSM", "--json"))
    assert found["proof"] == {
        "sessionReactivated": "reactivated at 1: Research",
        "resumePath": "slow",
        "phaseResumed": "1: Research",
    }
    assert any("SKILL.md" in line for line in found["told"])
    assert log_of(desk) == LOG + (
        "\n## ♻️ Manual Session Resume\n*   **Resumed At**: 1: Research\n*   **Method**: Resume\n"
        "*   **Artifacts Found**: log (REPORT_LOG.md), plan (REPORT_PLAN.md, 1 of 2 steps ticked)\n"
        "*   **Actual Progress**: at 1: Research; 1 of 2 steps of the plan are left, "
        "next step: Ask the team, then 2: Writing, 2.1: Draft, 2.2: Debrief, 2.3: Close\n"
    )
    now = desk.state()
    for kept in ("parameters", "phases", "phaseHistory", "startedAt"):
        assert now[kept] == before[kept]
    assert desk.folder.stat().st_ino == inode


def test_with_dehydrated_context_it_goes_on_at_once_and_says_what_it_does(desk: Desk) -> None:
    context = {"summary": "Find the leak", "lastAction": "read pool.py", "nextSteps": ["fix it", "test it"]}
    desk.ok("dehydrate", "sessions/login", input_=json.dumps(context))
    told = desk.ok("resume", "sessions/login").splitlines()
    assert told[:5] == [
        "> **Context Overflow Recovery**",
        ">",
        "> Rehydrating session after context overflow restart:",
        "> - **Session**: `sessions/login`",
        "> - **Skill**: `report`",
    ]
    for line in (
        "> 1. Re-activate session",
        "> 4. Continue at `1: Research`",
        "> **Resuming `report`** at `1: Research`",
        "> - **Goal**: Find the leak",
        "> - **Last Action**: read pool.py",
        "> - **Next Steps**: fix it; test it",
        "You are AT 1: Research, not past it. Follow the skill from there on.",
        "  resumePath: fast",
    ):
        assert line in told
    assert "*   **Next Steps**: fix it; test it" in log_of(desk)


def test_a_debrief_does_not_end_the_pipeline(desk: Desk) -> None:
    desk.go_to("2", "2.1", "2.2")
    (desk.folder / "REPORT.md").write_text("# Debrief\n")
    (desk.folder / "REPORT_PLAN.md").write_text(PLAN.replace("[ ]", "[x]"))
    desk.put(pid=None, owner=None)
    said = desk.refused(3, "resume", "sessions/login")
    assert (said["progress"]["agreement"], said["progress"]["at"]) == ("done", "2.3: Close")
    assert "saved at 2.2: Debrief" in said["askUserQuestion"][0]["question"]
    assert said["progress"]["last_completed"] == "2.1: Draft"
    desk.ok("resume", "sessions/login", "--choose", "RSM")
    assert json.loads(desk.ok("show", "--json"))["moves"] == ["2.2", "2.3"]


def test_restart_keeps_the_phase_and_says_to_do_it_again(desk: Desk) -> None:
    told = desk.ok("resume", "sessions/login", "--choose", "rst")
    assert "Do 1: Research again from its inputs" in told
    assert desk.state()["phaseMoves"][-1]["kind"] == "restart"
    assert "*   **Method**: Restart" in log_of(desk)
    assert json.loads(desk.ok("show", "--json"))["receipt"]["proof"]["sessionReactivated"] == "restarted at 1: Research"


def test_switch_offers_the_skills_and_starts_one_on_the_same_folder(desk: Desk) -> None:
    shutil.copytree(SAMPLE, desk.scratch.home / ".claude" / "skills" / "review")
    said = desk.refused(3, "resume", "sessions/login", "--choose", "SWT")
    assert [one["name"] for one in said["skills"]] == ["report", "review"]
    desk.ok("resume", "sessions/login", "--choose", "SWT", "--skill", "review")
    now = desk.state()
    assert (now["skill"], now["currentPhase"], now["earlierSkills"][0]["phase"]) == (
        "review",
        "0: Setup",
        "1: Research",
    )
    assert "*   **Method**: Switch to review" in log_of(desk)


def test_abandon_closes_the_session_for_good(desk: Desk) -> None:
    assert "Start fresh" in desk.ok("resume", "sessions/login", "--choose", "OTH/ABN")
    assert (desk.state()["lifecycle"], desk.state()["completedSkills"]) == ("completed", [])
    assert desk.refused(2, "resume")["message"] == "No active session found. Use a `/skill` to start one."


@pytest.mark.parametrize("code", ["OTH/INS", "A"])
def test_inspecting_shows_the_artifacts_and_asks_again(desk: Desk, code: str) -> None:
    said = desk.refused(3, "resume", "sessions/login", "--choose", code)
    assert said["shown"]["files"] == ["REPORT_LOG.md", "REPORT_PLAN.md"]
    assert said["shown"]["lastLogEntries"][-1].startswith("Read the login form")
    assert said["askUserQuestion"]
    assert desk.state()["pid"] is None


def test_the_phase_history_is_shown_and_the_question_comes_again(desk: Desk) -> None:
    said = desk.refused(3, "resume", "sessions/login", "--choose", "B")
    assert said["shown"] == {"phaseHistory": ["0: Setup", "1: Research"], "lastCompleted": "0: Setup"}


def test_newer_sessions_on_the_same_topic_are_shown_with_the_reason(desk: Desk) -> None:
    desk.put(lastHeartbeat="2026-01-01T00:00:00Z", startedAt="2026-01-01T00:00:00Z")
    for name in ("login_again", "payments"):
        desk.ok("activate", f"sessions/{name}", "report")
    said = desk.refused(3, "resume", "sessions/login", "--choose", "C")
    (same,) = said["shown"]["newerSessions"]
    assert (same["folder"], same["why"]) == ("sessions/login_again", "folder names share: login")


def test_own_words_go_to_the_interrogation_or_to_the_choice_of_a_skill(desk: Desk) -> None:
    said = desk.refused(3, "resume", "sessions/login", "--choose", "OTH/custom: use Postgres")
    assert said["code"] == "skill_picker"
    manual = desk.scratch.root / ".claude" / "skills" / "build" / "SKILL.md"
    manual.parent.mkdir()
    manual.write_text('---\nphases: ["0: Interrogation", "1: Build"]\n---\n')
    desk.ok("activate", "sessions/shop", "build")
    desk.ok("continue", "sessions/shop")
    desk.ok("phase", "1", "--dir", "sessions/shop")
    told = desk.ok("resume", "sessions/shop", "--choose", "OTH/custom: use Postgres")
    assert "use Postgres" in told
    now = json.loads((desk.scratch.root / "sessions" / "shop" / ".state.json").read_bytes())
    assert now["currentPhase"] == "0: Interrogation"
    assert now["phaseMoves"][-1]["reason"] == "new input: use Postgres"


def test_an_answer_that_is_none_is_refused_with_all_that_are(desk: Desk) -> None:
    said = desk.refused(2, "resume", "sessions/login", "--choose", "perhaps")
    assert "RSM, RST, SWT, OTH/ABN, OTH/INS, OTH/custom:TEXT, A, B, C" in said["hint"]


def test_no_session_at_all_says_how_to_start_one(scratch: Scratch) -> None:
    done = scratch.run("session", "resume")
    assert done.returncode == 2
    assert "No active session found. Use a `/skill` to start one." in done.stderr


def test_the_question_is_in_the_inbox_and_its_answer_is_taken_by_the_next_resume(machine: Machine) -> None:
    """Asked without a terminal, answered by a person somewhere else, carried out by whoever resumes."""
    skills = machine.work / ".claude" / "skills"
    shutil.copytree(SAMPLE, skills / "report")
    folder = machine.work / "sessions" / "login"

    def state() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(Path(folder, ".state.json").read_bytes())
        return found

    machine.ok("session", "activate", "sessions/login", "report")
    (folder / ".state.json").write_text(json.dumps({**state(), "pid": None, "owner": None}))
    assert machine.run("session", "resume", "sessions/login").returncode == 3
    (asked,) = json.loads(machine.ok("inbox", "--json"))["questions"]
    assert asked["kind"] == "skill_resume"
    assert [one["id"] for one in asked["options"]] == ["RSM", "RST", "SWT", "OTH/ABN", "OTH/INS", "OTH/custom"]
    assert asked["recommended"] == "RSM"
    assert "Resume Method" not in asked["title"] and "0: Setup" in asked["title"]
    assert "login" in machine.ok("inbox")
    machine.ok("answer", asked["id"], "rst")
    assert machine.run("answer", asked["id"], "RSM").returncode == 4
    assert json.loads(machine.ok("inbox", "--json"))["questions"] == []
    assert "again from its inputs" in machine.ok("session", "resume", "sessions/login")
    assert state()["phaseMoves"][-1]["kind"] == "restart"
    assert state()["question"] is None


def test_at_a_terminal_the_tree_is_shown_and_comes_again_after_an_extra(machine: Machine) -> None:
    shutil.copytree(SAMPLE, machine.work / ".claude" / "skills" / "report")
    machine.ok("session", "activate", "sessions/login", "report")
    path = machine.work / "sessions" / "login" / ".state.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "pid": None, "owner": None}))
    with Typist(machine, "session", "resume", "sessions/login") as person:
        person.until_shown("Your choice")
        for line in (
            "- [RSM] Resume at saved phase",
            "Pick up where the session left off",
            "- [OTH] Other",
            "  - [INS] Inspect first",
        ):
            person.until_shown(line)
        person.type("B")
        person.until_shown("phases entered:")
        person.until_shown("Your choice", times=2)
        person.type("RSM")
        person.until_shown("phaseResumed: 0: Setup")
        assert person.leave() == 0
    assert json.loads(path.read_bytes())["resumes"][-1]["method"] == "Resume"
