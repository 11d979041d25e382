"""Skill sessions with the real commands, on real folders: phases, proofs, holders, damaged state files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Scratch
from tests.e2e.daemon import BIN

SAMPLE = Path(__file__).parents[2] / "docs" / "skills" / "report"
PROOF = '{"report": "answer.md", "checkedClaims": 4}'


class Desk:
    """A repository with the sample skill, and a session of it."""

    def __init__(self, scratch: Scratch) -> None:
        self.scratch = scratch
        self.folder = scratch.root / "sessions" / "login"
        shutil.copytree(SAMPLE, scratch.root / ".claude" / "skills" / "report")

    def session(self, *words: str, input_: str = "", env: dict[str, str] | None = None) -> Any:
        """A command of this process, which is the agent here: who holds a session is told by the parent process."""
        return subprocess.run(
            [str(BIN / "rekindle"), "session", *words],
            cwd=self.scratch.root,
            env=self.scratch.environment(**(env or {})),
            input=input_,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def ok(self, *words: str, input_: str = "", env: dict[str, str] | None = None) -> str:
        done = self.session(*words, input_=input_, env=env)
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    def refused(self, status: int, *words: str, input_: str = "", env: dict[str, str] | None = None) -> dict[str, Any]:
        done = self.session(*words, "--json", input_=input_, env=env)
        assert done.returncode == status, (done.stdout, done.stderr)
        found: dict[str, Any] = json.loads(done.stdout)["error"]
        return found

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / ".state.json").read_bytes())
        return found

    def put(self, **fields: Any) -> None:
        (self.folder / ".state.json").write_text(json.dumps({**self.state(), **fields}))

    def begin(self) -> None:
        self.ok("activate", "sessions/login", "report")
        self.ok("continue", "sessions/login")

    def go_to(self, *labels: str) -> None:
        for label in labels:
            self.ok("phase", label, *(["--proof", "-"] if label == "2.3" else []), input_=PROOF)


@pytest.fixture
def desk(scratch: Scratch) -> Desk:
    return Desk(scratch)


@pytest.fixture
def sleeper() -> Iterator[int]:
    """A live process that holds a session."""
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


def test_a_skill_is_worked_from_its_first_phase_to_its_end(desk: Desk) -> None:
    assert "0: Setup" in desk.ok("activate", "sessions/login", "report")
    assert desk.state()["loading"] is True
    desk.ok("continue", "sessions/login")
    assert desk.state()["loading"] is False
    desk.go_to("1", "2", "2.1", "2.2", "2.3")
    shown = json.loads(desk.ok("show", "--json"))
    assert (shown["currentPhase"], shown["moves"]) == ("2.3: Close", ["2.3"])
    assert shown["phaseMoves"][-1]["proof"] == json.loads(PROOF)
    assert shown["phaseHistory"] == [
        "0: Setup",
        "1: Research",
        "2: Writing",
        "2.1: Draft",
        "2.2: Debrief",
        "2.3: Close",
    ]
    desk.ok("close")
    done = desk.state()
    assert (done["lifecycle"], done["completedSkills"], done["pid"]) == ("completed", ["report"], None)
    assert "review" in desk.ok("next", "sessions/login")


def test_a_skill_that_may_follow_but_is_not_there_is_not_offered_as_a_command(desk: Desk) -> None:
    desk.begin()
    assert "review  not installed: there is no .claude/skills/review/SKILL.md" in desk.ok("next", "sessions/login")


def test_before_the_first_session_every_refusal_says_how_to_begin_one(desk: Desk) -> None:
    assert "rekindle session activate DIR SKILL" in desk.session("find").stderr
    for words in (("continue",), ("resume",), ("phase", "1"), ("show",)):
        assert desk.refused(2, *words)["hint"] == "begin one: rekindle session activate DIR SKILL", words


def test_a_skill_that_is_not_there_leaves_no_folder_behind(desk: Desk) -> None:
    assert "there is no skill" in desk.refused(2, "activate", "sessions/typo", "nothing")["message"]
    assert not (desk.folder.parent / "typo").exists()


def test_what_is_completed_is_never_activated_again(desk: Desk) -> None:
    desk.begin()
    desk.ok("close", "--approve", "not needed any more")
    before = (desk.folder / ".state.json").read_bytes()
    said = desk.refused(2, "activate", "sessions/login", "report")
    assert said["message"] == "Session already completed before overflow. Nothing to resume."
    assert (said["nextSkills"], "review" in said["hint"]) == (["review"], True)
    assert desk.refused(2, "continue", "sessions/login")["code"] == "completed"
    assert desk.refused(2, "resume", "sessions/login")["message"] == (
        "No active session found. Use a `/skill` to start one."
    )
    assert (desk.folder / ".state.json").read_bytes() == before


@pytest.mark.parametrize("lifecycle", ["active", "dehydrating", "restarting", "resuming", "idle", None])
def test_every_other_lifecycle_can_be_continued_at_its_phase(desk: Desk, lifecycle: str | None) -> None:
    desk.begin()
    desk.go_to("1", "2", "2.1")
    desk.put(lifecycle=lifecycle, loading=True, toolCallsSinceLastLog=7, flavour="kept")
    desk.ok("activate", "sessions/login", "report")
    found = json.loads(desk.ok("continue", "sessions/login", "--json"))
    assert found["proof"] == {
        "sessionReactivated": "reactivated at 2.1: Draft",
        "resumePath": "slow",
        "phaseResumed": "2.1: Draft",
    }
    now = desk.state()
    assert (now["lifecycle"], now["loading"], now["toolCallsSinceLastLog"], now["flavour"]) == (
        "active",
        False,
        0,
        "kept",
    )
    assert now["resumes"][-1]["proof"] == found["proof"]


def test_sub_phases_are_never_skipped_and_every_refusal_names_the_open_moves(desk: Desk) -> None:
    desk.begin()
    desk.go_to("1", "2", "2.1")
    said = desk.refused(2, "phase", "2.3", "--approve", "I am in a hurry")
    assert "2.2: Debrief" in said["message"] and "never skipped" in said["message"]
    assert "open now: 2.1: Draft, 2.2: Debrief" in said["hint"]
    for label in ("7", "nonsense", "2.2: Wrong name"):
        assert "open now: 2.1: Draft, 2.2: Debrief" in desk.refused(2, "phase", label)["hint"]
    assert desk.state()["currentPhase"] == "2.1: Draft"


def test_going_back_needs_a_reason_which_is_kept(desk: Desk) -> None:
    desk.begin()
    desk.go_to("1", "2")
    assert "needs an approval" in desk.refused(2, "phase", "1")["message"]
    assert (
        "open now: 1" not in (hint := desk.refused(2, "phase", "1", "--approve", " ")["hint"]) and "open now: 2" in hint
    )
    desk.ok("phase", "1", "--approve", "a source was wrong")
    last = desk.state()["phaseMoves"][-1]
    assert (last["kind"], last["reason"], last["approvedBy"]) == ("back", "a source was wrong", "person")


def test_an_approval_from_inside_an_agent_is_recorded_as_claimed_by_it(desk: Desk) -> None:
    desk.begin()
    desk.go_to("1")
    inside = {"CLAUDECODE": "1"}
    desk.ok("phase", "0", "--approve", "the person said so", env=inside)
    assert desk.state()["phaseMoves"][-1]["approvedBy"] == "agent"


def test_a_skill_can_have_an_agents_approval_wait_for_a_person(desk: Desk) -> None:
    skill = desk.scratch.root / ".claude" / "skills" / "report" / "SKILL.md"
    skill.write_text(skill.read_text().replace("next: [review]", "next: [review]\napproval: person"))
    desk.begin()
    desk.go_to("1")
    said = desk.refused(3, "phase", "0", "--approve", "I think so", env={"CLAUDECODE": "1"})
    assert said["question"]["options"][0]["id"] == "approve" and "open now: 1: Research" in said["hint"]
    assert desk.state()["currentPhase"] == "1: Research"
    answer = ["answer", said["question"]["id"], "approve", "--json"]
    own = desk.scratch.run(*answer, env={"CLAUDECODE": "1"})
    assert own.returncode == 4 and json.loads(own.stdout)["error"]["code"] == "inside_agent", "nobody approves himself"
    assert desk.scratch.run(*answer).returncode == 0
    desk.ok("phase", "0", "--approve", "the person wants me to go on without asking", env={"CLAUDECODE": "1"})
    last = desk.state()["phaseMoves"][-1]
    assert (last["approvedBy"], last["reason"]) == ("person", "I think so"), "what was read is what was approved"
    desk.go_to("1")
    desk.ok("phase", "0", "--approve", "yes, go back")
    assert desk.state()["phaseMoves"][-1]["approvedBy"] == "person"


@pytest.mark.parametrize("proof", ["", "{", '{"report": ""}', '{"report": "a", "checkedClaims": 0}', "[]"])
def test_a_phase_with_a_proof_is_left_only_with_one_that_fits(desk: Desk, proof: str) -> None:
    desk.begin()
    desk.go_to("1", "2", "2.1", "2.2")
    assert "report, checkedClaims" in desk.refused(2, "phase", "2.3")["hint"]
    assert "open now: 2.2: Debrief" in desk.refused(2, "phase", "2.3", "--proof", "-", input_=proof)["hint"]
    assert desk.state()["currentPhase"] == "2.2: Debrief"
    desk.go_to("2.3")


def test_a_phase_that_has_a_gate_is_left_only_after_its_answer(desk: Desk) -> None:
    skill = desk.scratch.root / ".claude" / "skills" / "report" / "SKILL.md"
    skill.write_text(skill.read_text().replace("next: [review]", "next: [review]\ngate: true"))
    desk.begin()
    assert "gate" in desk.refused(2, "phase", "1")["message"]
    asked = desk.refused(3, "gate")
    assert [one["id"] for one in asked["question"]["options"]] == ["proceed", "stay"]
    [tool] = asked["askUserQuestion"]
    assert [one["label"] for one in tool["options"]] == ["proceed", "stay"] and len(tool["header"]) <= 12
    assert "Proceed to 1: Research" in asked["question"]["options"][0]["label"]
    desk.ok("gate", "--choose", "stay")
    assert desk.session("phase", "1").returncode == 2
    desk.ok("gate", "--choose", "proceed")
    desk.ok("phase", "1")
    assert desk.session("phase", "2").returncode == 2


def test_a_session_that_a_live_process_holds_is_refused_with_its_pid(desk: Desk, sleeper: int) -> None:
    desk.ok("activate", "sessions/login", "report", "--pid", str(sleeper))
    for words in (
        ("continue", "sessions/login"),
        ("activate", "sessions/login", "report"),
        ("resume", "sessions/login"),
    ):
        said = desk.refused(4, *words)
        assert (said["pid"], str(sleeper) in said["message"]) == (sleeper, True)
    assert desk.refused(4, "continue")["pid"] == sleeper
    assert desk.state()["pid"] == sleeper


def test_without_a_folder_held_ones_are_passed_over_and_the_newest_is_taken(desk: Desk, sleeper: int) -> None:
    for name in ("old", "new", "newest"):
        desk.ok("activate", f"sessions/{name}", "report", "--pid", str(sleeper))
    for name, at in (("old", "2026-01-01T00:00:00Z"), ("new", "2026-01-02T00:00:00Z")):
        path = desk.scratch.root / "sessions" / name / ".state.json"
        path.write_text(json.dumps({**json.loads(path.read_bytes()), "pid": None, "lastHeartbeat": at}))
    assert desk.ok("find").strip() == "sessions/new"
    assert json.loads(desk.ok("continue", "--json"))["folder"].endswith("sessions/new")


def test_a_pid_that_another_process_has_now_holds_nothing(desk: Desk, sleeper: int) -> None:
    desk.ok("activate", "sessions/login", "report", "--pid", str(sleeper))
    desk.put(owner={**desk.state()["owner"], "started": 1})
    desk.ok("continue", "sessions/login")
    assert desk.state()["pid"] != sleeper == desk.state()["lastKnownPid"]
    desk.put(pid=sleeper, owner=None, lastHeartbeat="2020-01-01T00:00:00Z")  # written by somebody else, long ago
    desk.ok("continue", "sessions/login")


@pytest.mark.parametrize("content", [b"", b'{"skill": "rep', b"[1]", b'{"version": 99, "skill": "report"}'])
def test_a_state_file_that_is_torn_or_newer_is_refused_and_left_as_it_is(desk: Desk, content: bytes) -> None:
    desk.begin()
    (desk.folder / ".state.json").write_bytes(content)
    for words in (("continue",), ("resume",), ("show",), ("phase", "1", "--dir"), ("idle",)):
        said = desk.refused(2, *words, "sessions/login")
        assert "sessions/login/.state.json" in said["message"]
        assert said["hint"]
    assert (desk.folder / ".state.json").read_bytes() == content
    assert "sessions/login" in desk.ok("find", "--all")


def test_of_two_that_continue_at_once_one_gets_it_and_the_other_is_told_who(desk: Desk) -> None:
    desk.ok("activate", "sessions/login", "report")
    desk.put(pid=None, owner=None)
    # Each is a worker of its own that lives on after its command, until we close its standard input.
    holder = (
        "import subprocess, sys; r = subprocess.run(sys.argv[1:]).returncode; print(r, flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-c", holder, str(BIN / "rekindle"), "session", "continue", "sessions/login", "--json"]
    options: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen(words, cwd=desk.scratch.root, env=desk.scratch.environment(), **options) for _ in range(2)]
    told = []
    for one in both:
        assert one.stdout is not None
        answer = json.loads(one.stdout.readline())
        told.append((int(one.stdout.readline()), answer))
    for one in both:
        one.communicate()
    assert sorted(status for status, _ in told) == [0, 4]
    winner = next(answer for status, answer in told if status == 0)
    loser = next(answer for status, answer in told if status == 4)
    assert loser["error"]["pid"] == winner["pid"]


def test_an_entry_of_the_log_brings_the_counter_down(desk: Desk) -> None:
    desk.begin()
    desk.put(toolCallsSinceLastLog=12)
    desk.ok("log", "sessions/login/REPORT_LOG.md", input_="## Found it\n* in a.py\n")
    desk.ok("log", "sessions/login/REPORT_LOG.md", input_="## More\n")
    assert (desk.folder / "REPORT_LOG.md").read_text() == "## Found it\n* in a.py\n\n## More\n"
    assert desk.state()["toolCallsSinceLastLog"] == 0
    assert desk.session("log", "sessions/login/REPORT_LOG.md", input_=" ").returncode == 2
    assert desk.session("log", "elsewhere.md", input_="x").returncode == 2
    os.symlink("/tmp/anywhere", desk.folder / "LINK.md")
    assert desk.session("log", "sessions/login/LINK.md", input_="x").returncode == 1
    assert not Path("/tmp/anywhere").exists()


def test_a_skill_that_cannot_be_used_is_refused_with_its_place(desk: Desk) -> None:
    skill = desk.scratch.root / ".claude" / "skills" / "report" / "SKILL.md"
    good = skill.read_text()
    for bad, where in [
        (good.replace('"1: Research"', '"one: Research"'), "phases[1]"),
        (good.replace("next: [review]", "next: !!python/object:os.system [review]"), "tags are not allowed"),
        (good.replace("next: [review]", "a: &a [1]\nnext: [*a, *a]"), "anchors and aliases"),
        (good.replace("next: [review]", "next: " + "[" * 50 + "]" * 50), "nested"),
        ("---\nphases: [", "front matter"),
    ]:
        skill.write_text(bad)
        said = desk.refused(2, "activate", "sessions/login", "report")
        assert "SKILL.md" in said["message"] and where in said["message"], said
    assert not (desk.folder / ".state.json").exists()
    assert "report" in desk.refused(2, "activate", "sessions/login", "reports")["hint"]


def test_a_toml_file_may_declare_the_phases(desk: Desk) -> None:
    folder = desk.scratch.home / ".claude" / "skills" / "fix"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("# Fix\n")
    (folder / "skill.toml").write_text(
        'phases = ["0: Look", {label = "1", name = "Mend", proof = {type = "object"}}]\n'
    )
    desk.ok("activate", "sessions/login", "fix")
    assert [one["label"] for one in desk.state()["phases"]] == ["0", "1"]


def test_dehydrated_context_is_acknowledged_by_continue_and_kept_aside(desk: Desk) -> None:
    desk.begin()
    desk.go_to("1")
    context = {
        "summary": "Find the leak",
        "lastAction": "read pool.py",
        "nextSteps": ["fix it"],
        "requiredFiles": ["a"],
    }
    desk.ok("dehydrate", input_=json.dumps(context))
    assert (desk.state()["lifecycle"], desk.state()["overflowed"]) == ("restarting", True)
    assert desk.session("dehydrate", input_='{"summary": ""}').returncode == 2
    found = json.loads(desk.ok("resume", "sessions/login", "--json"))
    assert found["proof"] == {
        "sessionReactivated": "reactivated at 1: Research",
        "resumePath": "fast",
        "phaseResumed": "1: Research",
    }
    assert desk.state()["dehydratedContext"] is None
    assert (
        "## ♻️ Context Overflow Restart\n*   **Resumed At**: 1: Research" in (desk.folder / "REPORT_LOG.md").read_text()
    )
    assert "just come back" in desk.refused(2, "dehydrate", input_=json.dumps(context))["message"]
    assert "Find the leak" in desk.ok("dropped", "sessions/login", "--search", "LEAK")
    assert "Find the leak" not in desk.ok("dropped", "sessions/login", "--search", "other")


def test_an_idle_session_is_released_and_another_skill_may_take_a_finished_folder(desk: Desk) -> None:
    desk.begin()
    desk.ok("idle")
    assert (desk.state()["lifecycle"], desk.state()["pid"]) == ("idle", None)
    shutil.copytree(SAMPLE, desk.scratch.home / ".claude" / "skills" / "review")
    desk.ok("activate", "sessions/login", "review")
    now = desk.state()
    assert (now["skill"], now["earlierSkills"][0]["skill"], now["currentPhase"]) == ("review", "report", "0: Setup")
    assert "SWT" in desk.refused(2, "activate", "sessions/login", "report")["hint"]


def hook(desk: Desk, event: str, tool: str = "Bash", command: str = "ls") -> str:
    call = {"hook_event_name": event, "session_id": "conversation-1", "cwd": str(desk.scratch.root)}
    call |= {"tool_name": tool, "tool_input": {"command": command}} if event != "Stop" else {}  # type: ignore[dict-item]
    done = subprocess.run(
        [str(BIN / "rekindle-hook")],
        cwd=desk.scratch.root,
        env=desk.scratch.environment(),
        input=json.dumps(call),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


def test_the_hooks_remind_the_agent_of_its_log_and_then_refuse_until_it_is_written(desk: Desk) -> None:
    skill = desk.scratch.root / ".claude" / "skills" / "report" / "SKILL.md"
    skill.write_text(skill.read_text().replace("{warn: 10, block: 20}", "{warn: 2, block: 3}"))
    desk.ok("activate", "sessions/login", "report")
    assert hook(desk, "PostToolUse") == ""
    assert desk.state()["toolCallsSinceLastLog"] == 0  # still loading
    desk.ok("continue")
    assert hook(desk, "PostToolUse") == ""
    said = json.loads(hook(desk, "PostToolUse"))["hookSpecificOutput"]
    assert "2 tool calls since the last entry" in said["additionalContext"]
    assert hook(desk, "PreToolUse") == ""
    hook(desk, "PostToolUse")
    said = json.loads(hook(desk, "PreToolUse"))["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"
    assert hook(desk, "PreToolUse", command="rekindle session log sessions/login/REPORT_LOG.md") == ""
    desk.ok("log", "sessions/login/REPORT_LOG.md", input_="## Seen\n")
    assert hook(desk, "PreToolUse") == ""
    hook(desk, "Stop")
    now = desk.state()
    assert (now["sessionId"], now["turnsSinceResume"], now["toolCallsSinceLastLog"]) == ("conversation-1", 1, 0)


def test_an_agent_that_holds_no_session_is_not_counted_anywhere(desk: Desk, sleeper: int) -> None:
    desk.ok("activate", "sessions/login", "report", "--pid", str(sleeper))
    desk.put(loading=False)
    before = (desk.folder / ".state.json").read_bytes()
    assert hook(desk, "PostToolUse") == ""
    assert (desk.folder / ".state.json").read_bytes() == before
    (desk.folder / ".state.json").write_bytes(b"{torn")
    desk.session("continue")
    assert hook(desk, "PostToolUse") == ""
    assert (desk.folder / ".state.json").read_bytes() == b"{torn"


def test_a_state_file_from_elsewhere_has_nothing_written_outside_of_its_folder(desk: Desk) -> None:
    """It names the log, and the log gets words from it: elsewhere, that would be a program of somebody else's."""
    profile = desk.scratch.root / "profile"
    profile.write_text("mine\n")
    for name in ("../../profile", str(profile)):
        desk.folder.mkdir(parents=True, exist_ok=True)
        context = {"summary": "go on", "lastAction": "$(touch pwned)"}
        state = {"skill": "report", "lifecycle": "restarting", "currentPhase": "0: Setup", "rules": {"log": name}}
        (desk.folder / ".state.json").write_text(json.dumps({**state, "dehydratedContext": context}))
        for words in (("continue",), ("resume", "--choose", "RSM"), ("show",)):
            assert "rules.log" in desk.refused(2, *words, "sessions/login")["message"]
    assert profile.read_text() == "mine\n"


@pytest.mark.parametrize("proof", ['{"report": "a.md", "checkedClaims": 4, "x": 1e999}', '{"x": NaN}'])
def test_a_proof_with_a_number_that_is_none_leaves_the_state_file_readable(desk: Desk, proof: str) -> None:
    desk.begin()
    desk.go_to("1", "2", "2.1", "2.2")
    said = desk.refused(2, "phase", "2.3", "--proof", "-", input_=proof)
    assert "the proof is not one JSON object" in said["message"]
    assert desk.state()["currentPhase"] == "2.2: Debrief"
    desk.ok("show")


def test_a_skill_that_a_state_file_names_is_typed_as_one_word(desk: Desk) -> None:
    """What is offered to be typed may come from a repository."""
    desk.begin()
    desk.put(nextSkills=["a; touch pwned", "\x1b[2J"])
    told = desk.ok("next")
    assert "'a; touch pwned'" in told and "\x1b" not in told
