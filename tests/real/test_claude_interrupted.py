"""The real Claude Code under rekindle, interrupted in the ways that the drill does not have.

In each the record of the mock model is held against what the receipt claims (`check_receipt`).
"""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.daemon import is_running, until
from tests.real.claude_cli import ClaudeCli
from tests.real.models.steps import Hang, Reply, Use
from tests.real.stage import ClaudeStage, called, git
from tests.real.test_drill import check_receipt, converse, go_on

pytestmark = pytest.mark.timeout(240)


def test_killed_between_two_turns_it_goes_on_in_the_same_conversation(claude: ClaudeStage) -> None:
    session = claude.begin(claude.answering("the first thing", "answer one"))
    claude.machine.until_status(session, "waiting")
    claude.until_recorded(session, "answer one")
    claude.machine.kill(claude.machine.pids(session)["agent"])
    claude.machine.until_status(session, "dead")
    go_on(claude, session)
    check_receipt(claude, session, "the first thing")
    assert claude.heard(session) == [called("the first thing"), called("the third thing")]
    assert claude.remembered(session) == ["answer one"]


@pytest.mark.parametrize("victims", [("agent", "daemon"), ("daemon", "agent"), ("daemon", "keeper"), ("keeper",)])
def test_killed_together_with_others_in_a_hanging_stream(claude: ClaudeStage, victims: tuple[str, ...]) -> None:
    session = claude.begin(claude.speaking("the report"))
    claude.until_half_said(session, "the report")
    pids = {**claude.machine.pids(session), "daemon": claude.machine.daemon()}
    for victim in victims:
        os.kill(pids[victim], signal.SIGKILL)
    claude.machine.until_status(session, "interrupted")
    until(lambda: not is_running(pids["agent"]), "the end of the agent")
    claude.machine.ok("resume", session)
    claude.machine.until_status(session, "waiting")
    assert claude.machine.show(session)["receipt"]["kind"] == "same", "at rest, and not compared"
    check_receipt(claude, session, "the report")
    assert claude.was_told(session, claude.half)
    assert len(claude.turns(session)) == 2, "the model was asked once more, and not twice"


@pytest.mark.parametrize("option", ["--timeout", "--stall"])
def test_a_turn_that_hangs_is_ended_in_time_and_the_conversation_goes_on(claude: ClaudeStage, option: str) -> None:
    session = claude.begin(claude.speaking("the report"), option, "3s")
    claude.machine.until_said(session, claude.half)
    [request] = claude.turns(session)
    assert claude.model.until_ended(request) == "client gone"
    until(lambda: claude.machine.show(session)["message"], "what has happened")
    claude.machine.ok("send", session, claude.answering("the third thing", "answer three"), "--follow")
    claude.until_said(session, "answer three")
    assert claude.has_heard(session, "the report") == 1
    assert claude.has_heard(session, "the third thing") == 1


def test_a_limit_on_tokens_ends_a_turn_between_two_commands_and_a_higher_one_lets_it_go_on(claude: ClaudeStage) -> None:
    use = Use("Bash", {"command": "echo ran >> ran.txt", "description": "a command of the test"})
    claude.model.then(Reply("I run it.", (use,)), Reply("Once more.", (use,), input_tokens=900), Hang("never said"))
    session = claude.begin(called("the commands"), "--max-tokens", "800")
    until(lambda: "its limit is 800" in claude.machine.show(session)["message"], "the limit")
    claude.machine.until_status(session, "asleep")
    assert claude.machine.run("resume", session).returncode == 2, "nothing goes on without a higher limit"
    claude.machine.ok("resume", session, "--max-tokens", "5000")
    claude.machine.until_status(session, "waiting")
    check_receipt(claude, session, "the commands")


def test_a_transcript_that_lies_in_another_folder_is_not_lost(claude: ClaudeStage) -> None:
    session = converse(claude)
    transcript = claude.transcript(session)
    elsewhere = transcript.parent.parent / "-somewhere-else"
    elsewhere.mkdir()
    transcript.rename(elsewhere / transcript.name)
    claude.machine.ok("send", session, claude.answering("the third thing", "answer three"), "--follow")
    check_receipt(claude, session, "the first thing", "the second thing")
    assert claude.remembered(session) == ["answer one", "answer two"]


def test_a_home_that_was_moved_takes_its_conversations_along(claude: ClaudeStage, folder: Path) -> None:
    session = converse(claude)
    claude.machine.run("serve", "--stop")
    until(lambda: not os.path.exists(claude.machine.places.socket), "the end of the daemon")
    claude.machine.home.rename(folder / "moved")
    claude.machine = replace(claude.machine, home=folder / "moved")
    try:
        claude.machine.run("send", session, claude.answering("the third thing", "answer three"), "--follow")
        claude.until_said(session, "answer three")
        check_receipt(claude, session, "the first thing", "the second thing", kinds=("same", "rebuilt"))
    finally:
        claude.machine.clean_up()


def test_a_conversation_that_a_stranger_has_written_on_is_not_taken_for_the_same(claude: ClaudeStage) -> None:
    """A transcript of the right name with another conversation's lines."""
    session = converse(claude)
    other = claude.begin(claude.answering("a stranger's thing", "a stranger's answer"))
    claude.machine.until_status(other, "waiting")
    claude.machine.ok("stop", other, "--sleep")
    strange = claude.transcript(other).read_text().replace(claude.token(other), claude.token(session))
    claude.transcript(session).write_text(strange)
    claude.machine.run("send", session, claude.answering("the third thing", "answer three"), "--follow")
    claude.until_said(session, "answer three")
    check_receipt(claude, session, "the first thing", "the second thing", kinds=("same", "rebuilt", "unproven"))


def test_a_command_that_was_finished_is_not_run_again(claude: ClaudeStage) -> None:
    """Killed when the model has the result of the command and is about to speak."""
    use = Use("Bash", {"command": "echo ran >> ran.txt", "description": "a command of the test"})
    claude.model.then(Reply("I run it.", (use,)), Hang("it is done"))
    session = claude.begin(called("the command"))
    claude.machine.until_said(session, "it is done")
    claude.machine.kill(claude.machine.pids(session)["agent"])
    claude.machine.until_status(session, "interrupted")
    claude.machine.ok("resume", session)
    claude.machine.until_status(session, "waiting")
    receipt = check_receipt(claude, session, "the command")
    assert receipt["unknown"] == []
    assert (claude.machine.work / "ran.txt").read_text() == "ran\n"


def test_a_command_in_the_background_of_an_idle_agent_is_named_when_it_is_killed_with_it(claude: ClaudeStage) -> None:
    what = {"command": "sleep 600", "description": "a command of the test", "run_in_background": True}
    claude.model.then(Reply("I start it.", (Use("Bash", what),)), Reply("it runs"))
    session = claude.begin(called("the command"))
    claude.until_said(session, "it runs")
    claude.until_recorded(session, "it runs")
    claude.machine.kill(claude.machine.pids(session)["agent"])
    claude.machine.until_status(session, "dead")
    go_on(claude, session)
    receipt = check_receipt(claude, session, "the command")
    assert receipt["unknown"] == ["was started, outcome unknown: sleep 600"]
    assert claude.was_told(session, "background shell command"), "by the agent itself"


def test_a_turn_by_hand_beside_a_live_agent_costs_none_of_its_answers(
    claude: ClaudeStage, folder: Path, claude_environment: dict[str, str]
) -> None:
    session = claude.begin(claude.answering("the first thing", "answer one"))
    claude.machine.until_status(session, "waiting")
    by_hand = ClaudeCli(folder / "bin" / "claude", claude.machine.home, claude.machine.work, claude_environment)
    done = by_hand.ask(claude.answering("a thing by hand", "an answer by hand"), "--resume", claude.token(session))
    assert done.status == 0
    claude.machine.ok("send", session, claude.answering("the second thing", "answer two"), "--follow")
    claude.until_recorded(session, "answer two")
    claude.machine.kill(claude.machine.pids(session)["agent"])
    claude.machine.until_status(session, "dead")
    go_on(claude, session)
    receipt = check_receipt(claude, session, "the first thing", "the second thing", kinds=("same",))
    assert claude.remembered(session) == ["answer one", "answer two"]
    assert any("a thing by hand" in note for note in receipt["unknown"]), "what is not loaded is named"


def test_work_that_a_person_checked_out_over_is_named_before_the_agent_goes_on(claude: ClaudeStage) -> None:
    """A conflict between the snapshot and the branch."""
    use = Use("Write", {"file_path": str(claude.machine.work / "plan.txt"), "content": "the agent's plan\n"})
    (claude.machine.work / "plan.txt").write_text("the first plan\n")
    git(claude.machine.work, "add", "-A")
    git(claude.machine.work, "commit", "-q", "-m", "a plan")
    read = Use("Read", {"file_path": str(claude.machine.work / "plan.txt")})
    claude.model.then(Reply("I read it.", (read,)), Reply("I write it.", (use,)), Reply("written"))
    session = claude.begin(called("the plan"))
    claude.until_said(session, "written")
    assert (claude.machine.work / "plan.txt").read_text() == "the agent's plan\n"
    until(lambda: claude.machine.json("snapshots", session)["snapshots"], "a snapshot")
    claude.machine.ok("stop", session, "--sleep")
    git(claude.machine.work, "checkout", "-q", "plan.txt")
    (claude.machine.work / "plan.txt").write_text("a person's plan\n")
    git(claude.machine.work, "commit", "-q", "-a", "-m", "another plan")
    claude.machine.ok("send", session, claude.answering("the third thing", "answer three"), "--follow")
    assert (claude.machine.work / "plan.txt").read_text() == "a person's plan\n", "nothing is overwritten"
    assert any("plan.txt" in notice for notice in claude.machine.show(session)["notices"]), "and it is said"
    check_receipt(claude, session, "the plan")


def test_a_question_of_the_agent_survives_the_daemon_and_can_be_answered(claude: ClaudeStage) -> None:
    made = claude.machine.work.parent / "outside.txt"
    use = Use("Bash", {"command": f"touch {made}", "description": "a command of the test"})
    claude.model.then(Reply("I need to ask.", (use,)), Reply("thank you"))
    session = claude.machine.begin(called("the question"))
    claude.machine.until_status(session, "asking")
    claude.machine.kill_daemon()
    assert not made.exists()
    [question] = claude.machine.json("inbox")["questions"]
    assert str(made) in question["detail"] + question["title"]
    claude.machine.ok("answer", question["id"], "allow")
    claude.until_said(session, "thank you")
    assert made.exists()
    assert len(claude.turns(session)) == 2
