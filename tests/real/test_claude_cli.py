"""What rekindle relies on in the real Claude Code, with no rekindle: a version that behaves otherwise fails here."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.daemon import is_running, until
from tests.real.claude_cli import ClaudeCli
from tests.real.models.server import ModelServer
from tests.real.models.steps import Drop, Fail, Hang, Refuse, Reply, Use
from tests.real.programs import program

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def cli(folder: Path, claude_environment: dict[str, str]) -> ClaudeCli:
    variables = {**claude_environment, "CLAUDE_CODE_MAX_RETRIES": "0"}
    return ClaudeCli(program("claude"), folder / "home", folder / "work", variables)


def partial(text: str) -> Any:
    return lambda line: text in json.dumps(line.get("event", {}))


def test_a_session_id_of_ours_is_used_and_its_conversation_can_be_resumed(cli: ClaudeCli, model: ModelServer) -> None:
    model.then(Reply("the first answer"))
    done = cli.ask("the first prompt", "--session-id", cli.id)
    assert (done.status, done.result["session_id"], done.result["result"]) == (0, cli.id, "the first answer")
    again = cli.ask("the second prompt", "--resume", cli.id)
    assert (again.status, again.result["session_id"]) == (0, cli.id)
    assert model.user_texts(model.turns()[-1]) == ["the first prompt", "the second prompt"]
    assert model.assistant_texts(model.turns()[-1]) == ["the first answer"]
    assert {one.headers["x-claude-code-session-id"] for one in model.turns()} == {cli.id}


def test_a_session_id_that_has_a_conversation_is_refused(cli: ClaudeCli, model: ModelServer) -> None:
    cli.ask("the first prompt", "--session-id", cli.id)
    done = cli.ask("the second prompt", "--session-id", cli.id)
    assert done.status == 1
    assert "already in use" in done.errors
    assert len(model.turns()) == 1


@pytest.mark.parametrize("damage", ["unknown", "deleted", "emptied", "other folder"])
def test_a_conversation_that_is_not_there_is_refused_and_the_model_hears_nothing(
    cli: ClaudeCli, model: ModelServer, damage: str, folder: Path
) -> None:
    if damage != "unknown":
        cli.ask("the first prompt", "--session-id", cli.id)
    if damage == "deleted":
        cli.transcript().unlink()
    if damage == "emptied":
        cli.transcript().write_bytes(b"")
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    before = len(model.turns())
    done = (replace(cli, work=elsewhere) if damage == "other folder" else cli).ask("second", "--resume", cli.id)
    assert done.status == 1
    assert f"No conversation found with session ID: {cli.id}" in done.errors
    assert len(model.turns()) == before


def test_a_torn_last_line_is_skipped_in_silence(cli: ClaudeCli, model: ModelServer) -> None:
    model.then(Reply("the first answer"))
    cli.ask("the first prompt", "--session-id", cli.id)
    lines = cli.transcript().read_bytes().splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if b"the first answer" in line)
    cli.transcript().write_bytes(b"".join(lines[:last]) + lines[last][:-40])
    done = cli.ask("the second prompt", "--resume", cli.id)
    assert (done.status, done.errors) == (0, "")
    assert "the first answer" not in model.assistant_texts(model.turns()[-1])


def test_a_conversation_moves_to_another_home_and_folder_with_its_transcript(
    cli: ClaudeCli, model: ModelServer, folder: Path
) -> None:
    model.then(Reply("the first answer"))
    cli.ask("the first prompt", "--session-id", cli.id)
    moved = replace(cli, home=folder / "other home", work=folder / "other work")
    moved.work.mkdir()
    moved.transcript().parent.mkdir(parents=True)
    shutil.copy(cli.transcript(), moved.transcript())
    done = moved.ask("the second prompt", "--resume", cli.id)
    assert (done.status, done.result["session_id"]) == (0, cli.id)
    assert model.user_texts(model.turns()[-1]) == ["the first prompt", "the second prompt"]
    assert model.assistant_texts(model.turns()[-1]) == ["the first answer"]


def test_killed_in_a_hanging_stream_it_keeps_the_prompt_and_loses_the_text(cli: ClaudeCli, model: ModelServer) -> None:
    model.then(Hang("half of an answer"))
    with cli.talk("--session-id", cli.id) as talk:
        talk.say("the first prompt")
        talk.until(partial("half of an answer"))
        until(lambda: cli.transcript().exists() and "the first prompt" in cli.transcript().read_text())
        talk.process.kill()
    assert model.until_ended(model.turns()[0]) == "client gone"
    cli.ask("the second prompt", "--resume", cli.id)
    heard = model.user_texts(model.turns()[-1])
    assert heard[0] == "the first prompt"
    assert heard[-1] == "the second prompt"
    assert "half of an answer" not in json.dumps(model.turns()[-1].body)


def test_killed_during_a_command_it_leaves_the_command_running_and_forgets_it(
    cli: ClaudeCli, model: ModelServer
) -> None:
    command = "echo $$ > pid; exec sleep 600"
    model.then(Reply("I run it.", (Use("Bash", {"command": command, "description": "waits"}),)))
    with cli.talk("--session-id", cli.id, "--permission-mode", "acceptEdits", "--allowedTools", "Bash") as talk:
        talk.say("the first prompt")
        pid = int(until(lambda: (cli.work / "pid").exists() and (cli.work / "pid").read_text().strip()))
        until(lambda: cli.transcript().exists() and command in cli.transcript().read_text())
        talk.process.kill()
    try:
        assert is_running(pid)
        cli.ask("the second prompt", "--resume", cli.id)
        assert command not in json.dumps(model.turns()[-1].body["messages"])
    finally:
        os.kill(pid, signal.SIGKILL)


def test_two_processes_in_one_conversation_are_not_kept_apart(cli: ClaudeCli, model: ModelServer) -> None:
    cli.ask("the first prompt", "--session-id", cli.id)
    step = Hang(then=Reply("a late answer"))
    model.then(step, Reply("another answer"))
    with cli.talk("--resume", cli.id) as talk:
        talk.say("one branch")
        model.until_turns(2)
        assert cli.ask("another branch", "--resume", cli.id).status == 0
        step.gate.open()
        assert talk.until_type("result")["result"].endswith("a late answer")
    cli.ask("the third prompt", "--resume", cli.id)
    remembered = model.assistant_texts(model.turns()[-1])
    assert ("a late answer" in remembered) != ("another answer" in remembered)


TOO_LONG = Refuse(400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum")


@pytest.mark.parametrize(
    ("step", "error", "status", "reason"),
    [
        (Refuse(429, "rate_limit_error"), "rate_limit", 429, "completed"),
        (Refuse(529, "overloaded_error"), "server_error", 529, "completed"),
        (Fail("overloaded_error", partial="half"), "server_error", 529, "completed"),
        (Refuse(500, "api_error"), "server_error", 500, "completed"),
        (Refuse(401, "authentication_error"), "authentication_failed", 401, "completed"),
        (Refuse(403, "permission_error"), "authentication_failed", 403, "completed"),
        (TOO_LONG, "invalid_request", 400, "prompt_too_long"),
        (Refuse(400, "invalid_request_error", "Your credit balance is too low"), "billing_error", 400, "completed"),
        (Drop(), "server_error", None, "completed"),
    ],
    ids=["429", "529", "529-in-stream", "500", "401", "403", "too-long", "credit", "drop"],
)
def test_errors_have_these_marks(
    cli: ClaudeCli, model: ModelServer, step: Any, error: str, status: int | None, reason: str
) -> None:
    model.when(lambda _: True, step)
    done = cli.ask("a prompt", "--session-id", cli.id)
    assert (done.status, done.errors) == (1, "")
    assert [line["error"] for line in done.lines if line["type"] == "assistant" and "error" in line] == [error]
    assert (done.result["is_error"], done.result["subtype"]) == (True, "success")
    assert (done.result["api_error_status"], done.result["terminal_reason"]) == (status, reason)


def test_a_refused_connection_has_these_marks(cli: ClaudeCli, model: ModelServer) -> None:
    nobody = replace(cli, variables={**cli.variables, "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"})
    done = nobody.ask("a prompt", "--session-id", cli.id)
    assert done.status == 1
    assert (done.result["is_error"], done.result["api_error_status"]) == (True, None)
    assert "Unable to connect to API" in done.result["result"]
    assert model.turns() == []


def test_it_waits_as_long_as_the_model_says_and_tells_so(cli: ClaudeCli, model: ModelServer) -> None:
    model.then(Refuse(429, "rate_limit_error", "slow down", {"retry-after": "2"}), Reply("the answer"))
    patient = replace(cli, variables={**cli.variables, "CLAUDE_CODE_MAX_RETRIES": "1"})
    began = time.monotonic()
    done = patient.ask("a prompt", "--session-id", cli.id)
    assert time.monotonic() - began >= 2
    assert (done.status, done.result["result"]) == (0, "the answer")
    [retry] = [line for line in done.lines if line.get("subtype") == "api_retry"]
    assert (retry["error_status"], retry["attempt"], retry["max_retries"]) == (429, 1, 1)
    assert 2000 <= retry["retry_delay_ms"] < 3000


def test_initialize_is_answered_before_any_prompt(cli: ClaudeCli, model: ModelServer) -> None:
    with cli.talk("--session-id", cli.id) as talk:
        told = talk.request("initialize")
        assert told["subtype"] == "success"
        assert {"commands", "models"} <= set(told["response"])
        assert [line["type"] for line in talk.lines] == ["control_response"]
    assert model.turns() == []


def test_each_turn_of_a_long_conversation_has_one_init_and_one_result(cli: ClaudeCli, model: ModelServer) -> None:
    with cli.talk("--session-id", cli.id) as talk:
        for number in range(1, 4):
            model.then(Reply(f"answer {number}"))
            talk.say(f"prompt {number}")
            assert talk.until_type("result", number)["result"] == f"answer {number}"
        assert sum(line.get("subtype") == "init" for line in talk.lines) == 3
    assert model.user_texts(model.turns()[-1]) == ["prompt 1", "prompt 2", "prompt 3"]


def test_an_interrupt_ends_the_turn_and_not_the_process(cli: ClaudeCli, model: ModelServer) -> None:
    model.then(Hang("half of an answer"))
    with cli.talk("--session-id", cli.id) as talk:
        talk.say("the first prompt")
        talk.until(partial("half of an answer"))
        assert talk.request("interrupt")["subtype"] == "success"
        assert talk.until_type("result")["subtype"] == "error_during_execution"
        assert model.until_ended(model.turns()[0]) == "client gone"
        model.then(Reply("still here"))
        talk.say("the second prompt")
        assert talk.until_type("result", 2)["result"] == "still here"
    told = model.user_texts(model.turns()[-1])
    assert told == ["the first prompt", "[Request interrupted by user]", "the second prompt"]
    assert "half of an answer" in model.assistant_texts(model.turns()[-1])


@pytest.mark.parametrize("allowed", [True, False])
def test_a_tool_that_needs_permission_asks_on_standard_output(
    cli: ClaudeCli, model: ModelServer, allowed: bool
) -> None:
    use = Use("Write", {"file_path": str(cli.work / "made.txt"), "content": "made"})
    model.then(Reply("I write it.", (use,)), Reply("done"))
    with cli.talk("--session-id", cli.id, "--permission-prompt-tool", "stdio") as talk:
        talk.say("write it")
        asked = talk.until_type("control_request")
        assert (asked["request"]["subtype"], asked["request"]["tool_name"]) == ("can_use_tool", "Write")
        assert asked["request"]["input"] == use.arguments
        assert not (cli.work / "made.txt").exists()
        if allowed:
            talk.answer(asked, behavior="allow", updatedInput=asked["request"]["input"])
        else:
            talk.answer(asked, behavior="deny", message="not today")
        talk.until_type("result")
    assert (cli.work / "made.txt").exists() == allowed
    [told] = model.tool_results(model.turns()[-1])
    assert ("not today" in told) != allowed


def test_a_line_that_is_no_json_ends_the_process(cli: ClaudeCli, model: ModelServer) -> None:
    with cli.talk("--session-id", cli.id) as talk:
        talk.request("initialize")
        assert talk.process.stdin is not None
        talk.process.stdin.write("this is no json\n")
        talk.process.stdin.flush()
        assert talk.process.wait(30) == 1
    assert model.turns() == []


@pytest.mark.parametrize(("days", "stays"), [(29, True), (31, False)])
def test_a_conversation_stays_valid_until_claude_code_sweeps_it_away_after_30_days(
    cli: ClaudeCli, model: ModelServer, days: int, stays: bool
) -> None:
    cli.ask("the first prompt", "--session-id", cli.id)
    kept = cli.transcript()
    old = time.time() - days * 86400
    os.utime(kept, (old, old))
    model.then(Hang())
    other = cli.start("another prompt", "--session-id", "11111111-2222-4333-8444-555555555555")
    try:
        deadline = time.monotonic() + 30  # it sweeps in the background, some seconds after its start
        while kept.exists() and time.monotonic() < deadline:
            time.sleep(0.2)
        assert kept.exists() is stays, sorted(p.name for p in (cli.home / ".claude").iterdir())
    finally:
        other.kill()
        other.communicate()
