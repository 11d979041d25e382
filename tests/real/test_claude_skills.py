"""Skill sessions inside the real Claude Code: what its model is given, what it is refused, and how it asks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rekindle.core.skill.decision import for_question_tool
from tests.e2e.daemon import BIN, until
from tests.real.claude_cli import ClaudeCli
from tests.real.models.server import ModelServer, Request
from tests.real.models.steps import Reply, Use
from tests.real.programs import program
from tests.real.stage import ClaudeStage

pytestmark = pytest.mark.timeout(300)

ALLOWED = ("--allowedTools=Bash,Skill",)
SAMPLE = Path(__file__).parents[2] / "docs" / "skills" / "report"
HEADING = "## Session Recovery (Dehydrated Context)"
#: What an agent can only be told: that it is told is what can be checked.
RULES = (
    "Pick up exactly where the notes say you left off",
    "You are AT `[PHASE]`, not past it.",
    '"Ready to proceed when you give the word" is NEVER a substitute for it.',
    "do not read a file again only to check it. Before you EDIT a file, read it.",
    "Read only the skill's SKILL.md and files that you were not given.",
    "The interrogation is done: do not ask those questions again.",
    "Your context is nearly empty: do not dehydrate again.",
    "Keep your messages short and do not narrate the steps.",
    "Every question to the user goes through AskUserQuestion",
)
CONTEXT = {"summary": "Find the leak in the pool", "lastAction": "read pool.py", "nextSteps": ["fix the pool"]}


@dataclass(frozen=True)
class SkillDesk:
    """A project with the hooks and the sample skill, and a skill session that an earlier agent left."""

    cli: ClaudeCli

    @property
    def folder(self) -> Path:
        return self.cli.work / "sessions" / "login"

    def rekindle(self, *words: str, given: str = "") -> str:
        done = subprocess.run(
            [str(BIN / "rekindle"), *words],
            cwd=self.cli.work,
            env=self.cli.environment(),
            input=given,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return done.stdout

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / ".state.json").read_bytes())
        return found

    def begin(self) -> None:
        """A session in 1: Research whose agent is gone."""
        self.rekindle("session", "activate", "sessions/login", "report")
        self.rekindle("session", "continue", "sessions/login")
        self.rekindle("session", "phase", "1", "--dir", "sessions/login")
        self.leave()

    def leave(self) -> None:
        state = self.state()
        gone = 2**22 - 1
        owner = {**state["owner"], "pid": gone}
        (self.folder / ".state.json").write_text(json.dumps({**state, "pid": gone, "owner": owner}))

    def ask(self, prompt: str) -> None:
        done = self.cli.ask(prompt, *ALLOWED)
        assert done.status == 0, done.errors


def bash(command: str) -> Reply:
    return Reply("", (Use("Bash", {"command": command, "description": "a step of the procedure"}),))


def told(request: Request) -> str:
    """Everything that the model was given."""
    return json.dumps(request.body, ensure_ascii=False).replace("\\n", "\n").replace('\\"', '"')


@pytest.fixture(params=["claude", "claude-newest"])
def desk(request: pytest.FixtureRequest, folder: Path, claude_environment: dict[str, str]) -> SkillDesk:
    path = os.pathsep.join((str(BIN), "/usr/local/bin", "/usr/bin", "/bin"))
    variables: Mapping[str, str] = {**claude_environment, "CLAUDE_CODE_MAX_RETRIES": "0", "PATH": path}
    made = SkillDesk(ClaudeCli(program(request.param), folder / "home", folder / "work", variables))
    shutil.copytree(SAMPLE, made.cli.work / ".claude" / "skills" / "report")
    made.rekindle("hooks", "install")
    return made


def test_what_was_left_is_given_once_until_continue_acknowledges_it(desk: SkillDesk, model: ModelServer) -> None:
    desk.begin()
    desk.rekindle("session", "dehydrate", "sessions/login", given=json.dumps(CONTEXT))
    model.then(Reply("I have seen it."))
    desk.ask("hello")
    first = told(model.turns()[-1])
    assert first.count(f"{HEADING}\n") == 1
    for line in ("| Session: sessions/login", "| Resuming at: 1: Research", "| Find the leak in the pool"):
        assert line in first
    for step in ("2F", "2.5F", "3F", "4F", "5F", "6F", "7F", "8F", "9F"):
        assert f"### Step {step}: " in first, "the model is told every step"
    for rule in RULES:
        assert rule in first, "and every rule about its own behaviour"
    assert "10,000" not in first and "Output too large" not in first
    commands = "rekindle session activate sessions/login report < /dev/null && rekindle session continue sessions/login"
    model.then(bash(commands), Reply("Continuing now..."))
    desk.ask("go on")
    now = desk.state()
    assert told(model.turns()[-2]).count(f"{HEADING}\n") == 1, "it was not acknowledged yet"
    assert (now["dehydratedContext"], now["currentPhase"], now["lifecycle"]) == (None, "1: Research", "active")
    assert now["resumes"][-1]["proof"]["resumePath"] == "fast"
    assert now["pid"] not in (None, os.getpid(), 2**22 - 1), "the agent holds it, not the shell of the command"
    assert "## ♻️ Context Overflow Restart" in (desk.folder / "REPORT_LOG.md").read_text()
    model.then(Reply("Nothing to resume."))
    desk.ask("hello again")
    assert HEADING + "\n" not in told(model.turns()[-1])


def test_while_it_is_not_acknowledged_it_is_given_again_after_a_resume_and_after_a_compaction(
    desk: SkillDesk, model: ModelServer
) -> None:
    desk.begin()
    desk.rekindle("session", "dehydrate", "sessions/login", given=json.dumps(CONTEXT))
    model.then(
        Reply("I have seen it."), Reply("Again."), Reply("<summary>They said hello.</summary>"), Reply("After it.")
    )
    done = desk.cli.ask("hello", "--session-id", desk.cli.id)
    assert done.status == 0
    done = desk.cli.ask("hello again", "--resume", desk.cli.id)
    assert done.status == 0
    begins = [line for line in told(model.turns()[-1]).split("\n") if line.endswith(" begin -----")]
    assert len(set(begins)) == 2, "once with each start, each time with another mark"
    with desk.cli.talk("--resume", desk.cli.id) as talk:
        talk.say("/compact")
        talk.until_type("result")
        talk.say("go on")
        talk.until_type("result", 2)
    last = told(model.turns()[-1])
    assert "They said hello." in last and f"{HEADING}\n" in last
    assert not any(one in last for one in begins), "a new mark after the compaction"


def test_a_reminder_and_a_refusal_of_the_heartbeat_reach_the_model(desk: SkillDesk, model: ModelServer) -> None:
    skill = desk.cli.work / ".claude" / "skills" / "report" / "SKILL.md"
    skill.write_text(skill.read_text().replace("{warn: 10, block: 20}", "{warn: 2, block: 3}"))
    desk.begin()
    write = "rekindle session log sessions/login/REPORT_LOG.md <<'EOF'\n## Looked around\nEOF"
    model.then(
        bash("rekindle session continue sessions/login"),
        *(bash(f"echo call-{number}") for number in range(1, 4)),
        bash(write),
        bash("echo call-4"),
        Reply("done"),
    )
    desk.ask("work")
    results = model.tool_results(model.turns()[-1])
    assert "call-1" in results[1] and "call-2" in results[2]
    assert "3 tool calls since the last entry in your log: write one before you go on" in results[3]
    assert "call-3" not in results[3], "the call was not made"
    assert "written" in results[4] and "call-4" in results[5]
    assert "2 tool calls since the last entry in your log. After 3 your tool calls are refused." in told(
        model.turns()[-1]
    )


def test_session_continue_asks_with_the_question_tool_word_for_word(desk: SkillDesk, model: ModelServer) -> None:
    desk.begin()
    done = subprocess.run(
        [str(BIN / "rekindle"), "session", "resume", "sessions/login", "--json"],
        cwd=desk.cli.work,
        env=desk.cli.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3
    asked = json.loads(done.stdout)["error"]["askUserQuestion"]
    model.then(
        Reply("", (Use("Skill", {"skill": "resume-session"}),)),
        bash("rekindle session resume sessions/login --json"),
        Reply("", (Use("AskUserQuestion", {"questions": asked[:1]}),)),
        bash("rekindle session resume sessions/login --choose RSM"),
        Reply("Continuing now..."),
    )
    with desk.cli.talk("--permission-prompt-tool", "stdio", *ALLOWED) as talk:
        talk.say("/session continue sessions/login")
        request = talk.until_type("control_request")
        assert (request["request"]["subtype"], request["request"]["tool_name"]) == ("can_use_tool", "AskUserQuestion")
        [question] = request["request"]["input"]["questions"]
        labels = [one["label"] for one in question["options"]]
        assert labels == [
            "Resume at saved phase [RSM]",
            "Restart current phase [RST]",
            "Switch skill [SWT]",
            "Other [OTH]",
        ]
        given = {**request["request"]["input"], "answers": {question["question"]: labels[0]}}
        talk.answer(request, behavior="allow", updatedInput=given)
        talk.until_type("result")
    first, *_, last = model.turns()
    assert "The user typed: /session continue sessions/login" in told(first)
    assert "### Step 5S: Present Options" in told(model.turns()[1]), "the skill brings the procedure"
    assert "askUserQuestion" in model.tool_results(model.turns()[2])[-1]
    assert "Resume at saved phase [RSM]" in model.tool_results(model.turns()[3])[-1]
    assert "resumePath: slow" in model.tool_results(last)[-1]
    now = desk.state()
    assert (now["currentPhase"], now["loading"], now["resumes"][-1]["by"]) == ("1: Research", False, "agent")


@pytest.mark.parametrize("permission", ["edits", "all"])
def test_a_supervised_agent_puts_its_question_to_the_inbox_and_gets_the_answer(
    claude: ClaudeStage, permission: str
) -> None:
    asked = for_question_tool("How should this session go on?")
    use = Use("AskUserQuestion", {"questions": asked[:1]})
    claude.model.then(Reply("", (use,)), Reply("Thank you."))
    machine = claude.machine
    session = machine.begin("resume it", options=("--permission", permission))
    until(lambda: machine.json("inbox")["questions"], "the question")
    [question] = machine.json("inbox")["questions"]
    assert (question["session"], question["title"]) == (session, asked[0]["question"])
    labels = [one["label"] for one in question["options"]]
    assert labels[:2] == ["Resume at saved phase [RSM]", "Restart current phase [RST]"]
    assert "Pick up where the session left off" in question["detail"]
    machine.ok("answer", question["id"], question["options"][1]["id"])
    claude.until_said(session, "Thank you.")
    assert "Restart current phase [RST]" in claude.model.tool_results(claude.model.turns()[-1])[-1]
