"""Claude Code's streams, as the real program printed them: what is understood of them, also after any tear.

What each sample tells is written down in `claude/NAME.seen.txt`; `REKINDLE_GOLDEN=write` writes them anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from rekindle.agents.base.framing import Framer, Line
from rekindle.agents.base.observation import AgentFailedTurn, AgentFinishedTurn, Noise, Observation, Said
from rekindle.agents.claude import messages
from rekindle.agents.claude.dialect import ClaudeDialect
from tests.golden.claude_samples import STREAMS

FOLDER = Path(__file__).parent / "claude"
TOKEN = "11111111-2222-4333-8444-555555555555"
SMALL = sorted(name for name, data in STREAMS.items() if len(data) <= 8 * 1024)


def echoed(data: bytes) -> Iterator[str]:
    """The uuids of the prompts that a stream repeats, in order."""
    values = (json.loads(line) for line in lines(data))
    return (value["uuid"] for value in values if value.get("isReplay") is True)


def ask(dialect: ClaudeDialect, prompt: str, uuid: str | None) -> None:
    """Prompt under the uuid that the recorded prompt had."""
    told = dialect.say(prompt, "Do it.")
    body = json.loads(told.line)
    dialect.sent(told.message_id, json.dumps({**body, "uuid": uuid or body["uuid"]}).encode())


def ready(*, asked: bool = True) -> ClaudeDialect:
    """A dialect whose conversation is open, with a turn that runs if it was `asked` for."""
    dialect = ClaudeDialect(1, "/home/dev/project", TOKEN)
    opening = messages.initialize(1, "new", TOKEN)
    dialect.sent(opening.message_id, opening.line)
    dialect.received(
        b'{"type":"control_response","response":{"subtype":"success","request_id":"%s"}}' % opening.message_id.encode()
    )
    if asked:
        ask(dialect, "p1", None)
    return dialect


def lines(data: bytes) -> list[bytes]:
    return [framed.data for framed in Framer().feed(data) if isinstance(framed, Line)]


def seen(data: bytes) -> list[Observation]:
    """What a stream tells to a reader who prompts again whenever a turn has ended."""
    dialect, found, uuids, number = ready(asked=False), list[Observation](), echoed(data), 1
    ask(dialect, "p1", next(uuids, None))
    for line in lines(data):
        told = dialect.received(line)
        found += told
        if any(isinstance(one, AgentFinishedTurn | AgentFailedTurn) for one in told):
            number += 1
            ask(dialect, f"p{number}", next(uuids, None))
    return found


def shown(found: list[Observation]) -> str:
    return "".join(f"{msgspec.json.encode(one).decode()}\n" for one in found)


@pytest.mark.parametrize("name", sorted(STREAMS))
def test_a_stream_tells_what_it_told_when_it_was_recorded(name: str) -> None:
    golden = FOLDER / f"{name}.seen.txt"
    told = shown(seen(STREAMS[name]))
    if os.environ.get("REKINDLE_GOLDEN") == "write":
        golden.write_text(told, encoding="utf-8")
    assert told == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SMALL)
def test_a_stream_that_is_torn_at_any_byte_tells_what_its_whole_lines_tell(name: str) -> None:
    data = STREAMS[name]
    ends = [at for at in range(len(data)) if data[at : at + 1] == b"\n"]
    untouched, told = ready(), ready()
    for start, end in zip([0, *(at + 1 for at in ends)], [*ends, len(data)], strict=True):
        for at in range(start, end):
            assert lines(data[start:at]) == []  # it waits for the rest
            torn = untouched.received(data[start:at])  # and if it were taken for a whole line, that would be noise
            assert all(isinstance(one, Noise) for one in torn), torn
        if end < len(data):
            told.received(data[start:end])
    assert untouched.open == ready().open, "no part of a line changes anything"
    assert told.open == _after(data).open


@pytest.mark.parametrize("name", sorted(STREAMS))
def test_lines_that_are_not_json_are_passed_over(name: str) -> None:
    between = [b"not JSON", b"{", b"[1]", b"null", b'"x"', b"", b"\xff\xfe", b'{"session_id":"forged"}']
    plain, mixed = ready(), ready()
    for line in lines(STREAMS[name]):
        told = plain.received(line)
        for noise in between:
            assert all(isinstance(one, Noise) for one in mixed.received(noise))
        assert mixed.received(line) == told
    assert (mixed.token, mixed.open) == (plain.token, plain.open)


def _after(data: bytes) -> ClaudeDialect:
    dialect = ready()
    for line in lines(data):
        dialect.received(line)
    return dialect


@pytest.mark.parametrize("name", sorted(STREAMS))
def test_the_state_is_the_same_however_the_bytes_come(name: str) -> None:
    whole, bit_by_bit = ready(), ready()
    for line in lines(STREAMS[name]):
        whole.received(line)
    framer = Framer()
    for at in range(0, len(STREAMS[name]), 7):
        for framed in framer.feed(STREAMS[name][at : at + 7]):
            assert isinstance(framed, Line)
            bit_by_bit.received(framed.data)
    assert whole.open == bit_by_bit.open


def test_partial_words_are_counted_once() -> None:
    words = "".join(one.text for one in seen(STREAMS["partial"]) if isinstance(one, Said) and not one.thought)
    assert words.count("All done.") == 1


def test_a_kill_in_mid_stream_leaves_the_words_and_the_tool_that_ran() -> None:
    dialect = ready()
    for line in lines(STREAMS["killed_in_bash"]):
        dialect.received(line)
    assert dialect.open.prompt_id == "p1"
    assert [tool.title for tool in dialect.open.tools] == ["echo $$ > shell; sleep 600"]
    assert "It takes a while." in dialect.open.said


def test_the_end_of_a_turn_that_nobody_asked_for_ends_nothing() -> None:
    dialect = ready(asked=False)
    told = [one for line in lines(STREAMS["plain"]) for one in dialect.received(line)]
    assert not any(isinstance(one, AgentFinishedTurn) for one in told)


@pytest.mark.parametrize("text", ["Do it.", "/compact"])
def test_a_turn_that_the_agent_takes_for_a_lost_background_command_does_not_end_the_prompt(text: str) -> None:
    """A resumed process deals with it first, when nothing has been repeated yet."""
    own = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 0, "result": ""}
    dialect = ready(asked=False)
    told = dialect.say("p1", text)
    dialect.sent(told.message_id, told.line)
    seen = dialect.received(json.dumps({**own, "origin": {"kind": "task-notification"}}).encode())
    assert not any(isinstance(one, AgentFinishedTurn) for one in seen)
    assert dialect.open.prompt_id == "p1", "its turn still runs"
    seen = dialect.received(json.dumps({**own, "num_turns": 1, "result": "Done."}).encode())
    assert any(isinstance(one, AgentFinishedTurn) for one in seen)


def test_a_command_in_the_background_is_running_until_the_agent_tells_of_its_end() -> None:
    """Also behind the end of its turn."""
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make serve"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "Command running in background with ID: b1."}
    dialect = ready()
    for line in (
        {"type": "assistant", "message": {"content": [use]}},
        {"type": "user", "message": {"content": [result]}, "tool_use_result": {"backgroundTaskId": "b1"}},
        {"type": "result", "subtype": "success", "is_error": False, "num_turns": 2, "result": "It runs."},
    ):
        dialect.received(json.dumps(line).encode())
    assert [tool.title for tool in dialect.open.background] == ["make serve"]
    assert not dialect.open.tools
    told = {"type": "system", "subtype": "task_notification", "tool_use_id": "t1", "status": "completed"}
    dialect.received(json.dumps(told).encode())
    assert not dialect.open.background
