"""Every directive, done by a real process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rekindle.scripted.failures import CODES
from tests.scripted.client import AgentGone, Message
from tests.scripted.conftest import Place


def test_say_and_stream_are_talk_one_update_each(place: Place) -> None:
    wire = place.agent()
    turn = wire.prompt(wire.new(place.cwd), "say hello there\nstream 3 0 w")
    assert [update["content"]["text"] for update in turn.updates] == ["hello there\n", "w1 ", "w2 ", "w3\n"]
    assert turn.stop == "end_turn"


def test_write_reports_an_edit_with_its_place(place: Place) -> None:
    wire = place.agent()
    turn = wire.prompt(wire.new(place.cwd), r"write deep/a.txt one\ntwo")
    assert (place.cwd / "deep" / "a.txt").read_text() == "one\ntwo"
    begun = turn.updates_of("tool_call")[0]
    assert (begun["title"], begun["kind"]) == ("write: deep/a.txt one\\ntwo", "edit")
    assert begun["locations"] == [{"path": str(place.cwd / "deep/a.txt")}]
    assert [status for _, status in turn.tools] == ["in_progress", "completed"]


def test_run_takes_words_and_no_shell(place: Place) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    turn = wire.prompt(session, "run echo 'a  b' $HOME ; pwd")
    assert turn.output == "a  b $HOME ; pwd\n"
    title = "run: echo 'a  b' $HOME ; pwd"
    assert turn.tools == [(title, "in_progress"), (title, "completed")]
    assert turn.updates[0]["kind"] == "execute"
    assert wire.prompt(session, "run pwd").output == f"{place.cwd}\n"


def test_a_command_that_fails_is_a_failed_tool_call_and_the_script_goes_on(place: Place) -> None:
    wire = place.agent()
    turn = wire.prompt(wire.new(place.cwd), "run sh -c 'echo bad; exit 7'\nrun no-such-command\nsay on")
    assert [status for _, status in turn.tools] == ["in_progress", "failed", "in_progress", "failed"]
    assert "bad\n\n[exit status 7]" in json.dumps(turn.updates).replace("\\n", "\n")
    assert turn.said == "on\n"


def test_long_output_is_cut_and_said(place: Place) -> None:
    wire = place.agent()
    turn = wire.prompt(wire.new(place.cwd), "run head -c 100000 /dev/zero")
    assert turn.output.endswith(f"[{100000 - 65536} more bytes]")


def test_terminal_goes_through_the_client(place: Place) -> None:
    asked: list[Message] = []

    def create(params: Message) -> Message:
        asked.append(params)
        return {"terminalId": "t1"}

    wire = place.agent(
        terminal=True,
        answers={
            "terminal/create": create,
            "terminal/wait_for_exit": lambda _: {"exitCode": 0},
            "terminal/output": lambda _: {"output": "from the terminal", "truncated": False},
            "terminal/release": lambda _: {},
        },
    )
    turn = wire.prompt(wire.new(place.cwd), "terminal make test")
    assert (asked[0]["command"], asked[0]["args"], asked[0]["cwd"]) == ("make", ["test"], str(place.cwd))
    assert turn.output == "from the terminal"
    assert [message["method"] for message in wire.seen if "id" in message and "method" in message] == [
        "terminal/create",
        "terminal/wait_for_exit",
        "terminal/output",
        "terminal/release",
    ]


def test_files_go_through_the_client(place: Place) -> None:
    put: list[Message] = []
    wire = place.agent(
        fs={"readTextFile": True, "writeTextFile": True},
        answers={
            "fs/read_text_file": lambda params: {"content": f"content of {params['path']}"},
            "fs/write_text_file": lambda params: put.append(params),
        },
    )
    session = wire.new(place.cwd)
    assert wire.prompt(session, "read a.txt").output == f"content of {place.cwd}/a.txt"
    assert wire.prompt(session, r"put b.txt x\n").tools[-1] == ("put: b.txt x\\n", "completed")
    assert (put[0]["path"], put[0]["content"]) == (f"{place.cwd}/b.txt", "x\n")


def test_what_the_client_does_not_offer_fails_and_is_said(place: Place) -> None:
    wire = place.agent()
    turn = wire.prompt(wire.new(place.cwd), "terminal ls\nread a\nput a b")
    assert [status for _, status in turn.tools] == ["in_progress", "failed"] * 3
    assert "offers no" in turn.output


def choose(option: str) -> dict[str, object]:
    return {"session/request_permission": lambda _: {"outcome": {"outcome": "selected", "optionId": option}}}


@pytest.mark.parametrize("option", ["allow_once", "allow_always"])
def test_ask_and_be_allowed(place: Place, option: str) -> None:
    wire = place.agent(answers=choose(option))  # type: ignore[arg-type]
    turn = wire.prompt(wire.new(place.cwd), "ask may I?\nask may I?\nsay thanks")
    assert turn.said == "thanks\n"
    requests = [message for message in wire.seen if message.get("method") == "session/request_permission"]
    assert len(requests) == (2 if option == "allow_once" else 1), "allowed for always: not asked again"
    options = requests[0]["params"]["options"]
    assert [one["kind"] for one in options] == ["allow_once", "allow_always", "reject_once"]
    assert requests[0]["params"]["toolCall"]["title"] == "ask: may I?"


def test_ask_and_be_refused_skips_the_rest_for_good(place: Place) -> None:
    wire = place.agent(answers=choose("reject_once"))  # type: ignore[arg-type]
    session = wire.new(place.cwd)
    turn = wire.prompt(session, "ask may I?\nsay a\nsay b")
    assert (turn.said, turn.stop) == ("permission was refused: may I?; 2 more steps are skipped.\n", "end_turn")
    assert wire.prompt(session, "and now?").said.startswith("I have seen: ")


def test_a_withdrawn_permission_request_ends_the_turn_as_cancelled(place: Place) -> None:
    wire = place.agent(answers={"session/request_permission": lambda _: {"outcome": {"outcome": "cancelled"}}})
    assert wire.prompt(wire.new(place.cwd), "ask may I?\nsay a").stop == "cancelled"


@pytest.mark.parametrize("failure", sorted(CODES))
def test_fail_is_an_error_with_its_class(place: Place, failure: str) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    prompt = {"sessionId": session, "prompt": [{"type": "text", "text": f"fail {failure}\nsay afterwards"}]}
    error = wire.error("session/prompt", prompt)
    assert (error["code"], error["data"]) == (CODES[failure], {"class": failure})
    assert wire.prompt(session, "go on").said == "afterwards\n"


def test_fail_says_when_it_is_over(place: Place) -> None:
    wire = place.agent()
    prompt = {"sessionId": wire.new(place.cwd), "prompt": [{"type": "text", "text": "fail rate_limited 90"}]}
    data = wire.error("session/prompt", prompt)["data"]
    assert data["retry_after_seconds"] == 90
    left = datetime.fromisoformat(data["resets_at"]) - datetime.now(UTC)
    assert timedelta(0) < left <= timedelta(seconds=90)


def test_overflow(place: Place) -> None:
    wire = place.agent()
    prompt = {"sessionId": wire.new(place.cwd), "prompt": [{"type": "text", "text": "overflow"}]}
    assert wire.error("session/prompt", prompt)["data"] == {"class": "context_overflow"}


@pytest.mark.parametrize(
    ("directive", "status"),
    [("die", -signal.SIGKILL), ("die TERM", -signal.SIGTERM), ("die INT", -signal.SIGINT), ("die exit 3", 3)],
)
def test_die(place: Place, directive: str, status: int) -> None:
    wire = place.agent()
    request = wire.start(wire.new(place.cwd), f"say last words\n{directive}")
    with pytest.raises(AgentGone):
        wire.response(request)
    assert wire.gone() == status
    assert "last words" in json.dumps(wire.seen)


def test_a_megabyte_of_noise_goes_to_stderr_and_the_turn_goes_on(place: Place, tmp_path: Path) -> None:
    wire = place.agent(stderr=tmp_path / "errors")
    assert wire.prompt(wire.new(place.cwd), "noise 1048576\nsay still here").said == "still here\n"
    assert (tmp_path / "errors").stat().st_size == 1 << 20


def test_big_is_one_update(place: Place) -> None:
    wire = place.agent()
    turn = wire.prompt(wire.new(place.cwd), "big 3000000")
    assert [len(update["content"]["text"]) for update in turn.updates] == [3000001]


def test_truncate_wipes_a_regular_file_and_the_agent_writes_on(place: Place, tmp_path: Path) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    wire.close()
    spool, pipe = tmp_path / "spool", place.cwd / "done"
    os.mkfifo(pipe)
    script = "say before\ntruncate\nsay after\nrun sh -c 'echo x > done'"
    lines: list[Message] = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": 1}},
        {"id": 2, "method": "session/load", "params": {"sessionId": session, "cwd": str(place.cwd), "mcpServers": []}},
        {
            "id": 3,
            "method": "session/prompt",
            "params": {"sessionId": session, "prompt": [{"type": "text", "text": script}]},
        },
    ]
    with spool.open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "rekindle.scripted", "--home", str(place.home)],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.DEVNULL,
        )
    assert process.stdin is not None
    process.stdin.write(b"".join(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n" for line in lines))
    process.stdin.flush()
    pipe.read_text()  # opens when all before it has been written
    process.stdin.close()
    assert process.wait(60) == 0
    content = spool.read_bytes()
    assert content.startswith(b"\n")
    assert b"before" not in content
    assert b"after" in content


def test_spawn_leaves_an_orphan_in_a_session_of_its_own(place: Place) -> None:
    wire = place.agent()
    pid = int(wire.prompt(wire.new(place.cwd), "spawn 600").output.split()[-1])
    try:
        assert os.getsid(pid) != os.getsid(wire.process.pid)
        parent = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        assert parent != wire.process.pid
    finally:
        os.kill(pid, signal.SIGKILL)


def test_once_is_done_once_in_a_conversation(place: Place) -> None:
    wire = place.agent()
    session, other = wire.new(place.cwd), wire.new(place.cwd)
    script = "once greet say hello\nsay again"
    assert wire.prompt(session, script).said == "hello\nagain\n"
    assert wire.prompt(session, script).said == "again\n"
    assert wire.prompt(other, script).said == "hello\nagain\n"


def test_once_holds_after_the_agent_died_of_it(place: Place) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    wire.start(session, "once boom die\nsay survived")
    wire.gone()
    again = place.agent()
    again.load(session, place.cwd)
    assert again.prompt(session, "once boom die\nsay survived").said == "survived\n"


def test_a_wrong_directive_is_said_with_its_line_and_nothing_is_run(place: Place) -> None:
    wire = place.agent()
    session = wire.new(place.cwd)
    turn = wire.prompt(session, "Hello\nwrite a.txt x\nsleep soon\nfail often")
    lines = turn.said.splitlines()
    assert lines[0] == "line 3: sleep wants a number of SECONDS, got 'soon'"
    assert lines[1].startswith("line 4: fail wants one of rate_limited")
    assert turn.stop == "end_turn"
    assert not (place.cwd / "a.txt").exists()
    assert wire.prompt(session, "go on").said.startswith("I have seen: ")
