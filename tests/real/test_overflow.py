"""A context window that fills up, with the real Claude Code and Codex: dehydrated, and continued in a new conversation.

The mock model's record shows what the new conversation was given: the context once, within its limits, and nothing of
the old one besides; and that the full conversation was never asked again. Also with SIGKILL at each moment.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

from rekindle.core.session.summary_marks import BEGIN, END
from tests.e2e.daemon import Machine, until
from tests.e2e.test_overflow import HEADING, NOTES, SKILL, attempt
from tests.real.acp_stage import AcpStage
from tests.real.models.server import Request
from tests.real.models.steps import Gate, Hang, Refuse, Reply, Use
from tests.real.stage import ClaudeStage, called

pytestmark = pytest.mark.timeout(300)
StandUp = Callable[[str], AcpStage]
UNATTENDED = ("--overflow", "dehydrate", "--policy", "continue")
TOO_LONG = Refuse(400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum")
#: 78 % of the window that Claude Code takes its usual model to have.
NEARLY_FULL = 780_000
SUMMARY = f"{BEGIN}\n{json.dumps(NOTES)}\n{END}"


def newest(stage: ClaudeStage | AcpStage, one: Request) -> str:
    """What the user said last in a request."""
    return ["", *stage.model.user_texts(one)][-1]


def asks(stage: ClaudeStage | AcpStage) -> Callable[[Request], bool]:
    return lambda one: newest(stage, one).startswith("SUM UP")


def rehydrates(stage: ClaudeStage | AcpStage) -> Callable[[Request], bool]:
    return lambda one: any(HEADING in text for text in stage.model.user_texts(one))


def filled(claude: ClaudeStage) -> str:
    claude.model.when(
        lambda one: newest(claude, one).startswith(called("the first thing")),
        Reply("We go with the green door.", input_tokens=NEARLY_FULL),
    )
    session = claude.begin(called("the first thing"), *UNATTENDED)
    claude.until_said(session, "the green door")
    assert claude.machine.show(session)["context"]["percent"] == 78
    return session


def went_on_once(stage: ClaudeStage, session: str, first: str) -> list[str]:
    """What the model was given in the new conversation, after checking that it is new, and told once."""
    assert stage.token(session) != first
    given = [one for one in stage.model.turns() if rehydrates(stage)(one)]
    texts = stage.model.user_texts(given[-1])
    told = [text for text in texts if HEADING in text]
    assert len(told) == 1 and told[0].count(HEADING) == 1, "the context is there once"
    assert len(told[0]) < 26_000
    assert not any(text.startswith(called("the first thing")) for text in texts), "nothing of the old one besides"
    late = [one for one in stage.model.turns() if first in str(one.headers.get("x-claude-code-session-id"))]
    assert all(one.number < given[0].number for one in late), "the full conversation was not asked again"
    kinds = [one["receipt"]["kind"] for one in stage.machine.show(session)["session"]["attempts"] if one["receipt"]]
    assert kinds[0] == "rebuilt"
    return texts


@pytest.mark.parametrize("managed", [True, False], ids=["summed up", "prompt is too long"])
def test_claude_goes_on_in_a_new_conversation_that_is_told_the_context_once(claude: ClaudeStage, managed: bool) -> None:
    session = filled(claude)
    first = claude.token(session)
    claude.model.when(asks(claude), Reply(SUMMARY) if managed else TOO_LONG)
    claude.model.when(rehydrates(claude), Reply("answer two"))
    claude.machine.ok("send", session, called("the second thing"))
    claude.until_said(session, "answer two")
    texts = went_on_once(claude, session, first)
    [told] = [text for text in texts if HEADING in text]
    assert called("the second thing") in told
    assert ("the door is green" if managed else "We go with the green door") in told
    reason = claude.machine.receipt(session)["reason"]
    assert ("the agent's own summary" if managed else "made without a model") in reason


def test_claude_refused_in_the_middle_of_its_work_goes_on_with_a_summary_without_a_model(claude: ClaudeStage) -> None:
    session = filled(claude)
    first = claude.token(session)
    claude.model.when(asks(claude), TOO_LONG)
    claude.model.when(lambda one: newest(claude, one).startswith(called("the second thing")), TOO_LONG)
    claude.model.when(rehydrates(claude), Reply("answer two"))
    claude.machine.ok("send", session, called("the second thing"))
    claude.until_said(session, "answer two")
    went_on_once(claude, session, first)


def run(command: str) -> Use:
    return Use("Bash", {"command": command, "description": "a command of the test"})


def at_work(claude: ClaudeStage) -> str:
    """The real agent works through a skill, at its phase 1, and its context is nearly full."""
    work = claude.machine.work
    if not (work / ".git").exists():
        subprocess.run(["git", "init", "-q"], cwd=work, check=True)
    place = work / ".claude" / "skills" / "paint" / "SKILL.md"
    place.parent.mkdir(parents=True)
    place.write_text(SKILL)
    (work / "a.txt").write_text("what the file says")
    (work / "notes.json").write_text(json.dumps(NOTES))
    begin = "rekindle session activate sessions/door paint && rekindle session continue sessions/door"
    is_first = lambda one: newest(claude, one).startswith(called("the skill"))  # noqa: E731
    claude.model.when(is_first, Reply("I begin.", (run(f"{begin} && rekindle session phase 1"),)), 1)
    claude.model.when(is_first, Reply("At work.", input_tokens=NEARLY_FULL))
    return claude.begin(called("the skill"), "--policy", "continue")


def state(machine: Machine) -> dict[str, object]:
    return dict(json.loads((machine.work / "sessions" / "door" / ".state.json").read_text()))


@pytest.mark.parametrize("managed", [True, False], ids=["dehydrated", "prompt is too long"])
def test_a_skill_session_of_claude_goes_on_unattended_at_the_same_phase(claude: ClaudeStage, managed: bool) -> None:
    hand_over = Reply("I sum up.", (run("rekindle session dehydrate sessions/door < notes.json"),))
    claude.model.when(asks(claude), hand_over if managed else TOO_LONG, 1)
    claude.model.when(asks(claude), Reply("It is handed over.") if managed else TOO_LONG)
    again = "rekindle session activate sessions/door paint && rekindle session continue sessions/door"
    claude.model.when(rehydrates(claude), Reply("I resume.", (run(again),)), 1)
    claude.model.when(rehydrates(claude), Reply("On at the same phase."))
    session = at_work(claude)
    until(lambda: "On at the same phase." in claude.machine.said(session), "the resumed phase", 90)
    first = claude.machine.show(session)["session"]["attempts"][0]["token"]
    texts = went_on_once(claude, session, first)
    [told] = [text for text in texts if HEADING in text]
    assert "Resuming at: 1: Work" in told
    assert ("the door is green" in told and "what the file says" in told) if managed else "without a model" in told
    found = state(claude.machine)
    assert (found["currentPhase"], found["lifecycle"], found["dehydratedContext"]) == ("1: Work", "active", None)
    assert found["resumes"][-1]["proof"]["resumePath"] == "fast"  # type: ignore[index]


@pytest.mark.parametrize("victim", ["agent", "keeper", "daemon", "all"])
@pytest.mark.parametrize("moment", ["asked", "left", "restarting", "first prompt"])
def test_claude_killed_at_any_moment_of_it_comes_to_the_same_end(claude: ClaudeStage, moment: str, victim: str) -> None:
    session = filled(claude)
    first, gate = claude.token(session), Gate()
    gate = gate if moment in ("asked", "first prompt") else opened()
    claude.model.when(asks(claude), Hang("I am", Reply(SUMMARY), gate=gate) if moment == "asked" else Reply(SUMMARY), 1)
    claude.model.when(asks(claude), Reply(SUMMARY))
    if moment == "first prompt":
        claude.model.when(rehydrates(claude), Hang("I go", Reply("answer two"), gate=gate), 1)
    claude.model.when(rehydrates(claude), Reply("answer two"))
    claude.machine.ok("send", session, called("the second thing"))
    reached = {
        "asked": lambda: any(asks(claude)(one) for one in claude.model.turns()),
        "left": lambda: attempt(claude.machine, session, 1)["status"] == "gone",
        "restarting": lambda: attempt(claude.machine, session, 2)["status"] != "none",
        "first prompt": lambda: any(rehydrates(claude)(one) for one in claude.model.turns()),
    }
    until(reached[moment], moment, 60)
    kill(claude.machine, session, victim)
    gate.open()
    claude.until_said(session, "answer two")
    went_on_once(claude, session, first)


def opened() -> Gate:
    gate = Gate()
    gate.open()
    return gate


def kill(machine: Machine, session: str, victim: str) -> None:
    """SIGKILL; whoever comes next is a command like any other."""
    machine.kill_victim(session, victim)
    if victim in ("daemon", "all"):
        machine.run("inbox")


def test_codex_goes_on_in_a_new_conversation(stand_up: StandUp) -> None:
    stage = stand_up("codex")
    tokens = 230_000
    stage.model.when(
        lambda one: newest(stage, one).startswith(called("the first thing")),
        Reply("We go with the green door.", input_tokens=tokens),
    )
    session = stage.begin(called("the first thing"), *UNATTENDED, "--dehydrate-at", "0.5")
    stage.until_said(session, "the green door")
    context = stage.machine.show(session)["context"]
    assert context is not None and context["used"] >= tokens * 0.9
    first = stage.token(session)
    stage.model.when(asks(stage), Reply(SUMMARY))
    stage.model.when(rehydrates(stage), Reply("answer two"))
    stage.machine.ok("send", session, called("the second thing"))
    stage.until_said(session, "answer two")
    assert stage.token(session) != first
    given = [one for one in stage.model.turns() if rehydrates(stage)(one)]
    told = [text for text in stage.model.user_texts(given[-1]) if HEADING in text]
    assert len(told) == 1 and "the door is green" in told[0] and called("the second thing") in told[0]
    assert not any(text.startswith(called("the first thing")) for text in stage.model.user_texts(given[-1]))
    assert stage.machine.receipt(session)["kind"] == "rebuilt"
