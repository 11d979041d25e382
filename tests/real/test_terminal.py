"""The real Claude Code in a real tmux: prompts as keys, and the same conversation after either of them was killed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rekindle.adapters.keepers.tmux import name
from tests.e2e.daemon import Machine, until
from tests.real.models.server import ModelServer
from tests.real.programs import program
from tests.real.stage import ClaudeStage, called

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]


def answer_first_questions(home: Path, work: Path, key: str) -> None:
    """What a person answers when Claude Code is used for the first time: theme, the key, trust in the folder."""
    answers = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [key[-20:]], "rejected": []},
        "projects": {str(work.resolve()): {"hasTrustDialogAccepted": True}},
    }
    (home / ".claude.json").write_text(json.dumps(answers))


@pytest.fixture
def stage(folder: Path, claude_environment: dict[str, str], model: ModelServer) -> Iterator[ClaudeStage]:
    (folder / "bin" / "claude").symlink_to(program("claude"))
    (folder / "run").mkdir(mode=0o700)
    variables = {
        **claude_environment,
        "PATH": str(folder / "bin"),
        "XDG_RUNTIME_DIR": str(folder / "run"),
        "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1",  # it would ask the model for one
    }
    answer_first_questions(folder / "home", folder / "work", claude_environment["ANTHROPIC_API_KEY"])
    machine = Machine(folder / "home", folder / "work", "claude", variables, is_quick=False)
    yield ClaudeStage(machine, model)
    machine.clean_up()
    until(lambda: tmux(machine, "list-sessions").returncode != 0, "the end of tmux")


def tmux(machine: Machine, *words: str) -> subprocess.CompletedProcess[str]:
    line = ["tmux", "-S", machine.places.terminals, *words]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def on_screen(stage: ClaudeStage, session: str, text: str) -> None:
    until(lambda: text in stage.machine.run("capture", session).stdout, f"{text!r} on the screen")


def begin(stage: ClaudeStage, name: str, answer: str) -> str:
    session = stage.machine.begin(stage.answering(name, answer), options=("--terminal",))
    on_screen(stage, session, answer)
    stage.machine.until_status(session, "waiting")
    return session


def test_prompts_typed_into_claude_reach_its_model_and_its_record_one_by_one(stage: ClaudeStage) -> None:
    session = begin(stage, "apples", "Apples are red.")
    stage.machine.ok("send", session, stage.answering("pears", "Pears are green."))
    on_screen(stage, session, "Pears are green.")
    stage.machine.until_status(session, "waiting")
    assert stage.heard(session) == [called("apples"), called("pears")]
    kept = stage.transcript(session).read_text()
    assert called("apples") in kept and "Pears are green." in kept
    assert [one["state"] for one in stage.machine.show(session)["session"]["prompts"]] == ["done", "done"]
    logs = [(one["kind"], one["text"]) for one in stage.machine.json("logs", session)["entries"]]
    assert [kind for kind, _ in logs] == ["prompt", "said", "prompt", "said"]
    assert [text for kind, text in logs if kind == "said"] == ["Apples are red.", "Pears are green."]


def test_a_long_prompt_of_many_lines_arrives_as_it_is(stage: ClaudeStage) -> None:
    session = begin(stage, "apples", "Apples are red.")
    lines = [stage.answering("pears", "Pears are green."), *(f"{number}: a line about pears" for number in range(200))]
    stage.machine.ok("send", session, "\n".join(lines))
    on_screen(stage, session, "Pears are green.")
    stage.machine.until_status(session, "waiting")
    assert stage.heard(session)[-1] == "\n".join(lines)
    assert stage.machine.show(session)["session"]["prompts"][-1]["state"] == "done"


@pytest.mark.parametrize("victim", ["tmux session", "tmux server", "agent", "keeper"])
def test_whatever_is_killed_the_same_conversation_comes_back_in_a_new_terminal(stage: ClaudeStage, victim: str) -> None:
    machine = stage.machine
    session = begin(stage, "apples", "Apples are red.")
    stage.until_recorded(session, "Apples are red.")
    match victim:
        case "tmux session":
            tmux(machine, "kill-session", "-t", name(session))
        case "tmux server":
            machine.kill(int(tmux(machine, "display-message", "-p", "#{pid}").stdout))
        case _:
            machine.kill(machine.pids(session)[victim])
    machine.until_status(session, "dead")
    machine.ok("resume", session)
    on_screen(stage, session, "Apples are red.")
    machine.ok("send", session, stage.answering("pears", "Pears are green."))
    on_screen(stage, session, "Pears are green.")
    machine.until_status(session, "waiting")
    assert stage.heard(session) == [called("apples"), called("pears")]
    assert stage.remembered(session) == ["Apples are red."]
    assert machine.receipt(session)["kind"] == "same"
    assert [one["how"] for one in machine.show(session)["session"]["attempts"]] == ["new", "load"]


def test_a_turn_that_was_cut_off_goes_on_and_its_prompt_is_not_typed_again(stage: ClaudeStage) -> None:
    machine = stage.machine
    session = machine.begin(stage.speaking("plums"), options=("--terminal",))
    until(lambda: stage.model.turns() and called("plums") in stage.transcript(session).read_text(), "the turn")
    assert machine.status(session) == "working"
    tmux(machine, "kill-session", "-t", name(session))
    machine.until_status(session, "interrupted")
    machine.ok("resume", session)
    until(lambda: stage.has_heard(session, "plums") and len(stage.heard(session)) > 1, "the agent told to go on")
    machine.until_status(session, "waiting")
    assert stage.has_heard(session, "plums") == 1
    assert machine.receipt(session)["kind"] == "same"


#: What a shell would take for its own.
MESSAGE = 'Continue "where" you $(left) `off`; it\'s 100% – ünïcode & all.'
#: The runbook of the manual verification, with that message.
BOOK = f"""\
[agent.worker]
run = "claude"
on_dead = {{ action = "resume", message = '''{MESSAGE}''', append = true }}
on_error = [
  {{ match = "rate_limited", action = "resume", cooldown = "60s" }},
]
"""


def test_a_killed_terminal_comes_back_by_its_runbook_with_the_history_and_the_message(stage: ClaudeStage) -> None:
    machine = stage.machine
    book = machine.work.parent / "book.toml"
    book.write_text(BOOK)
    prompt = stage.speaking("plums")
    session = machine.ok("run", "--terminal", "--detach", "--runbook", str(book), "worker", prompt).strip()
    until(lambda: stage.model.turns() and called("plums") in stage.transcript(session).read_text(), "the turn")
    tmux(machine, "kill-session", "-t", name(session))
    until(lambda: any(MESSAGE in text for text in stage.heard(session)), "the message of the runbook")
    machine.until_status(session, "waiting")
    assert stage.has_heard(session, "plums") == 1
    assert sum(MESSAGE in text for text in stage.heard(session)) == 1
    assert machine.receipt(session)["kind"] == "same"
    assert [one["how"] for one in machine.show(session)["session"]["attempts"]] == ["new", "load"]
