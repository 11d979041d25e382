"""Sessions: load, resume and list, kills in every place, continuation, cancellation, and what is refused."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scripted.client import Wire, said
from tests.scripted.conftest import Place

UNKNOWN = "step {} ({}) was started, its outcome is unknown; I do not repeat it.\n"


def seen(text: str) -> list[str]:
    found: list[str] = json.loads(text.removeprefix("I have seen: "))
    return found


def test_initialize_says_what_the_agent_can(place: Place) -> None:
    from acp.schema import InitializeResponse

    wire = Wire(place.home)
    place.wires.append(wire)
    answer = wire.initialize()
    InitializeResponse.model_validate(answer)
    assert answer["protocolVersion"] == 1
    assert answer["agentInfo"]["name"] == "rekindle-scripted"
    assert answer["agentCapabilities"]["loadSession"] is True
    assert answer["agentCapabilities"]["sessionCapabilities"] == {"list": {}, "resume": {}}


def test_a_second_greeting_gets_the_same_answer(place: Place) -> None:
    wire = place.agent()
    first = wire.seen[0]["result"]
    assert wire.initialize(terminal=True) == first


def test_string_ids_come_back_as_they_are(place: Place) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    wire.start(session, "say hello", "3-prompt-abc")
    assert wire.response("3-prompt-abc")["id"] == "3-prompt-abc"
    wire.start(session, "fail other", "3-prompt-abd")
    assert wire.response("3-prompt-abd")["error"]["data"] == {"class": "other"}


def test_a_plain_prompt_shows_all_that_the_conversation_has_heard(place: Place) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    wire.prompt(session, "say a")
    assert seen(wire.prompt(session, "what was that?").said) == ["say a", "what was that?"]


def test_load_replays_texts_and_finished_tool_calls(place: Place) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    wire.prompt(session, "say hello\nwrite a.txt x")
    wire.close()
    updates = place.agent().load(session, place.cwd)
    assert [update["sessionUpdate"] for update in updates] == ["user_message_chunk", "agent_message_chunk", "tool_call"]
    assert updates[0]["content"]["text"] == "say hello\nwrite a.txt x"
    assert updates[1]["content"]["text"] == "hello\n"
    assert (updates[2]["title"], updates[2]["status"], updates[2]["kind"]) == ("write: a.txt x", "completed", "edit")
    assert updates[2]["locations"] == [{"path": str(place.cwd / "a.txt")}]


def test_resume_replays_nothing_and_has_the_context(place: Place) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    wire.prompt(session, "say a")
    wire.kill()
    again = place.agent()
    before = len(again.seen)
    again.result("session/resume", {"sessionId": session, "cwd": str(place.cwd)})
    assert len(again.seen) == before + 1
    assert seen(again.prompt(session, "and?").said) == ["say a", "and?"]


def test_killed_in_mid_stream_the_prompt_is_kept_and_the_text_is_lost(place: Place) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    wire.start(session, "say before\nstream 1000 0.01\nsay after")
    wire.until_text("word5 ")
    wire.kill()
    again = place.agent()
    updates = again.load(session, place.cwd)
    assert [update["sessionUpdate"] for update in updates] == ["user_message_chunk", "agent_message_chunk"]
    assert said(updates) == "before\n"
    turn = again.prompt(session, "Please continue.")
    assert turn.said == UNKNOWN.format(2, "stream 1000 0.01") + "after\n"
    assert seen(again.prompt(session, "done?").said)[1:] == ["Please continue.", "done?"]


def test_killed_during_a_command_it_is_not_run_again(place: Place) -> None:
    pipe = place.cwd / "started"
    os.mkfifo(pipe)
    command = "run sh -c 'echo $$ >> pids; echo $$ > started; exec sleep 600'"
    wire = place.agent()
    session = wire.new(place.cwd)
    wire.start(session, f"{command}\nsay next")
    pid = int(pipe.read_text())  # opens when the command is at work
    wire.kill()
    try:
        again = place.agent()
        assert [update["sessionUpdate"] for update in again.load(session, place.cwd)] == ["user_message_chunk"]
        assert again.prompt(session, "Go on.").said == UNKNOWN.format(1, command) + "next\n"
        assert (place.cwd / "pids").read_text().split() == [str(pid)]
    finally:
        os.kill(pid, 9)


def test_killed_before_a_file_is_written_it_is_written_after_all(place: Place) -> None:
    pipe = place.cwd / "a.txt"
    os.mkfifo(pipe)
    wire = place.agent()
    session = wire.new(place.cwd)
    wire.start(session, "write a.txt hello\nsay next")
    wire.until_tool("in_progress")  # it waits for somebody who reads the pipe
    wire.kill()
    pipe.unlink()
    again = place.agent()
    again.load(session, place.cwd)
    told = UNKNOWN.format(1, "write a.txt hello").replace("do not repeat it", "write it again")
    assert again.prompt(session, "Go on.").said == told + "next\n"
    assert pipe.read_text() == "hello"


def test_a_cut_off_last_step_is_told_once(place: Place) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    wire.start(session, "die")
    wire.gone()
    again = place.agent()
    again.load(session, place.cwd)
    assert again.prompt(session, "Go on.").said == UNKNOWN.format(1, "die")
    assert again.prompt(session, "Go on.").said.startswith("I have seen: ")


def test_a_continuation_that_is_cut_off_too_goes_on_where_it_was(place: Place) -> None:
    session = ""
    for number in range(3):
        wire = place.agent()
        if number == 0:
            session = wire.new(place.cwd)
            wire.start(session, "say one\ndie\nsay two\ndie\nsay three")
        else:
            wire.load(session, place.cwd)
            wire.start(session, "Go on.")
        if number == 2:
            turn = wire.finish("1-3")
            assert turn.said == UNKNOWN.format(4, "die") + "three\n"
        else:
            wire.gone()


def test_a_new_script_replaces_one_that_was_cut_off(place: Place) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    wire.start(session, "die\nsay old")
    wire.gone()
    again = place.agent()
    again.load(session, place.cwd)
    assert again.prompt(session, "say new").said == "new\n"
    assert again.prompt(session, "Go on.").said.startswith("I have seen: ")


@pytest.mark.parametrize("directive", ["sleep 600", "stream 1000 600", "ask may I?"])
def test_cancel_ends_the_turn_in_the_middle_of_a_step(place: Place, directive: str) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    request = wire.start(session, f"say begin\n{directive}\nsay end")
    if directive.startswith("stream"):
        wire.until_text("word1 ")
    elif directive.startswith("ask"):
        wire.until(lambda message: message.get("method") == "session/request_permission")
    else:
        wire.until_tool("in_progress")
    wire.cancel(session)
    assert wire.finish(request).stop == "cancelled"
    assert wire.prompt(session, "go on").said == "end\n"


def test_cancel_ends_a_running_command(place: Place) -> None:
    pipe = place.cwd / "started"
    os.mkfifo(pipe)
    wire = place.agent()
    session = wire.new(place.cwd)
    request = wire.start(session, "run sh -c 'sleep 600 & echo $! > started; wait'")
    process = os.pidfd_open(int(pipe.read_text()))
    wire.cancel(session)
    turn = wire.finish(request)
    assert (turn.stop, turn.tools[-1][1]) == ("cancelled", "failed")
    ended, _, _ = select.select([process], [], [], 60)
    os.close(process)
    assert ended, "what the command started in its group is ended too"


def test_cancel_right_after_a_prompt_is_heard(place: Place) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    request = wire.start(session, "sleep 600")
    wire.cancel(session)
    assert wire.finish(request).stop == "cancelled"


def test_end_of_input_ends_agent_and_command(place: Place) -> None:
    pipe = place.cwd / "started"
    os.mkfifo(pipe)
    wire = place.agent()
    wire.start(wire.new(place.cwd), "run sh -c 'echo $$ > started; exec sleep 600'")
    pid = int(pipe.read_text())
    assert wire.close() == 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_second_prompt_during_a_turn_is_refused(place: Place) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    request = wire.start(session, "sleep 600")
    wire.until_tool("in_progress")
    error = wire.error("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "say x"}]})
    assert error["code"] == -32600
    assert session in error["message"]
    wire.cancel(session)
    wire.response(request)


def test_two_sessions_in_one_process_run_at_once(place: Place) -> None:
    wire = place.agent()
    slow, fast = wire.new(place.cwd), wire.new(place.cwd)
    request = wire.start(slow, "sleep 600\nsay slow")
    wire.until_tool("in_progress")
    assert wire.prompt(fast, "say fast").said == "fast\n"
    wire.cancel(slow)
    assert wire.finish(request).stop == "cancelled"
    assert seen(wire.prompt(fast, "and?").said) == ["say fast", "and?"]


def test_without_load_the_methods_are_not_found(place: Place) -> None:
    wire = place.agent("--no-load")
    capabilities = wire.seen[0]["result"]["agentCapabilities"]
    assert capabilities["loadSession"] is False
    assert "sessionCapabilities" not in capabilities
    session = wire.new(place.cwd)
    assert wire.prompt(session, "say works").said == "works\n"
    there = {"sessionId": session, "cwd": str(place.cwd), "mcpServers": []}
    for method in ("session/load", "session/resume", "session/list"):
        assert wire.error(method, there)["code"] == -32601


def test_methods_that_the_agent_does_not_have_are_not_found(place: Place) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    assert wire.error("session/fork", {"sessionId": session, "cwd": str(place.cwd)})["code"] == -32601
    assert wire.error("session/dance", {})["code"] == -32601


@pytest.mark.parametrize("session", ["0d0d0d0d-0000-4000-8000-000000000000", "../../etc/passwd", ""])
@pytest.mark.parametrize("method", ["session/load", "session/resume", "session/prompt"])
def test_an_unknown_session_is_named_in_the_error(place: Place, method: str, session: str) -> None:
    wire = place.agent()
    error = wire.error(method, {"sessionId": session, "cwd": str(place.cwd), "mcpServers": [], "prompt": []})
    assert error["code"] == -32002
    assert session in error["message"]
    assert error["data"] == {"sessionId": session}


def test_a_session_of_an_earlier_process_must_be_loaded_first(place: Place) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    wire.close()
    error = place.agent().error("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "x"}]})
    assert error["code"] == -32002


def test_a_folder_that_is_none_is_refused(place: Place) -> None:
    wire = place.agent()
    for folder in ("relative", str(place.cwd / "missing")):
        assert wire.error("session/new", {"cwd": folder, "mcpServers": []})["code"] == -32602


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("initialize", {}),
        ("session/new", {}),
        ("session/new", {"cwd": 3}),
        ("session/load", {"sessionId": "a"}),
        ("session/list", {"cwd": 3}),
        ("session/prompt", {"sessionId": 3, "prompt": []}),
        ("session/prompt", {"sessionId": "a", "prompt": "say a"}),
        ("session/prompt", {"sessionId": "a", "prompt": [{"type": "text"}]}),
        ("session/prompt", {"sessionId": "a", "prompt": ["say a"]}),
    ],
)
def test_params_that_make_no_sense_are_refused_and_the_agent_goes_on(
    place: Place, method: str, params: dict[str, object]
) -> None:
    wire = place.agent()
    error = wire.error(method, params)
    assert (error["code"], list(error["data"])) == (-32602, ["details"])
    assert wire.prompt(wire.new(place.cwd), "say fine").said == "fine\n"


def test_list_shows_the_sessions_of_a_folder(place: Place) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    other = wire.new(place.home)
    wire.prompt(session, "say hello")
    listed = wire.result("session/list", {})["sessions"]
    assert {one["sessionId"] for one in listed} == {session, other}
    (mine,) = wire.result("session/list", {"cwd": str(place.cwd)})["sessions"]
    assert (mine["sessionId"], mine["cwd"], mine["title"]) == (session, str(place.cwd), "say hello")


@pytest.mark.parametrize("damage", [b'{"kind":"assistant","te', b"\xff\xfe garbage"])
def test_a_torn_last_line_is_skipped_and_nothing_is_glued_to_it(place: Place, damage: bytes) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    wire.prompt(session, "say a")
    wire.kill()
    with place.transcript(session).open("ab") as file:
        file.write(damage)
    again = place.agent()
    assert said(again.load(session, place.cwd)) == "a\n"
    assert seen(again.prompt(session, "b").said) == ["say a", "b"]
    again.kill()
    third = place.agent()
    third.load(session, place.cwd)
    assert seen(third.prompt(session, "c").said) == ["say a", "b", "c"]


def test_an_emptied_transcript_is_no_session(place: Place) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    wire.kill()
    place.transcript(session).write_bytes(b"")
    error = place.agent().error("session/load", {"sessionId": session, "cwd": str(place.cwd), "mcpServers": []})
    assert error["code"] == -32002


def test_the_record_has_each_step_before_and_after(place: Place) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    wire.prompt(session, "say a\nwrite b c")
    kinds = [json.loads(line)["kind"] for line in place.transcript(session).read_text().splitlines()]
    assert kinds == [
        "session",
        "user",
        *("step-started", "assistant", "step-finished"),
        *("step-started", "step-finished"),
        "turn-ended",
    ]


def test_usage_grows_with_the_conversation(place: Place) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    first = wire.prompt(session, "say hello").answer["result"]["usage"]
    second = wire.prompt(session, "say hello again, and more").answer["result"]["usage"]
    assert first["totalTokens"] == first["inputTokens"] + first["outputTokens"]
    assert second["totalTokens"] > first["totalTokens"]


def test_a_line_that_is_no_message_does_no_harm(place: Place) -> None:
    wire = place.agent()
    assert wire.process.stdin is not None
    wire.process.stdin.write(b"not json\n[1]\n\n")
    wire.process.stdin.flush()
    assert wire.prompt(wire.new(place.cwd), "say fine").said == "fine\n"


def test_the_home_comes_from_the_environment(place: Place, tmp_path: Path) -> None:
    def home_made_with(**environment: str) -> None:
        lines = [
            {"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": str(place.cwd), "mcpServers": []}}
        ]
        subprocess.run(
            [sys.executable, "-m", "rekindle.scripted"],
            input="".join(json.dumps(line) + "\n" for line in lines),
            text=True,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path / "user"), **environment},
            check=True,
            capture_output=True,
            timeout=60,
        )

    home_made_with()
    assert list((tmp_path / "user/.local/state/rekindle/scripted").glob("*.jsonl"))
    home_made_with(XDG_STATE_HOME=str(tmp_path / "state"))
    assert list((tmp_path / "state/rekindle/scripted").glob("*.jsonl"))
    home_made_with(REKINDLE_SCRIPTED_HOME=str(tmp_path / "own"))
    assert list((tmp_path / "own").glob("*.jsonl"))
