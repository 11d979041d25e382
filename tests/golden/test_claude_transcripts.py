"""Claude Code's transcripts, as the real program wrote them: what is read of them, also after any tear."""

from __future__ import annotations

import json
from functools import cache
from typing import NamedTuple

import pytest

from rekindle.agents.base.transcript import Repaired, extends
from rekindle.agents.claude.transcript import ClaudeTranscript
from tests.golden.claude_samples import TRANSCRIPTS

DIALECT = ClaudeTranscript()


class Told(NamedTuple):
    prompts: tuple[str, ...]
    said: str
    open_tools: tuple[str, ...] = ()


ERRORS = (*(f"Prompt {number}." for number in range(8)), "Drop it.", "Nobody is there.")
TOLD = {
    "blocks": Told(("Look.\n[image]\nWhat is it?",), "All done."),
    "command": Told(("/greet the whole world",), "All done."),
    "command_resumed": Told(("/greet the whole world", "/no-such-command at all"), "All done."),
    "compacted": Told(("First.", "Second.", "/compact"), "Two."),
    "compacted_resumed": Told(("First.", "Second.", "/compact", "Third."), "Three."),
    "ending_max_tokens": Told(("Say much.",), "I stop in the mid"),
    "ending_max_turns": Told(("Say much.", "Say more.", "Run for ever."), "I would rather not."),
    "ending_refusal": Told(("Say much.", "Say more."), "I would rather not."),
    "error_refused": Told(ERRORS, ""),
    "hooks": Told(("Run a command.",), "All done."),
    "interrupted": Told(("First.", "Second.", "Third."), "All done."),
    "interrupted_while_asking": Told(("Touch it.",), ""),
    "killed_in_bash": Told(("Wait for it.",), "It takes a while.", ("echo $$ > shell; sleep 600",)),
    "killed_in_bash_resumed": Told(("Wait for it.", "Go on, please."), "I start again."),
    "killed_in_stream": Told(("Tell me a story.",), ""),
    "killed_in_stream_resumed": Told(("Tell me a story.", "Go on, please."), "Once upon a time."),
    "live": Told(("First.", "Second.", "Third.", "Fourth."), "Four."),
    "local_command": Told(("/context",), ""),
    "partial": Told(("Run a command.",), "All done."),
    "permissions": Told(("Write it.", "Touch it.", "Touch it all the same."), "All done."),
    "plain": Told(("Say hello.",), "Hello from the model."),
    "plain_resumed": Told(("Say hello.", "Say it again."), "Hello once more."),
    "queued": Told(("First.", "Second, while you work."), "Both are done."),
    "retried": Told(("Try.",), "All done."),
    "subagent": Told(("Let another one look.",), "All done."),
    "tools": Told(("Make notes.",), "All done."),
    "torn": Told(("First.",), ""),
    "torn_resumed": Told(("First.", "Second."), "All done."),
}
WHOLE = sorted(TRANSCRIPTS.keys() - {"torn", "torn_resumed"})
SMALL = sorted(name for name, data in TRANSCRIPTS.items() if len(data) <= 8 * 1024)
RESUMED = sorted(name for name in TRANSCRIPTS if f"{name}_resumed" in TRANSCRIPTS)


def whole_records(data: bytes) -> list[dict[str, object]]:
    """The records of the lines that have their newline, by the simplest reader there can be."""
    records = []
    for line in data.split(b"\n")[:-1]:
        try:
            records.append(json.loads(line))
        except ValueError:
            continue
    return records


def test_every_sample_is_expected_to_tell_something() -> None:
    assert TOLD.keys() == TRANSCRIPTS.keys()


@pytest.mark.parametrize("name", sorted(TRANSCRIPTS))
def test_a_recorded_conversation_is_read(name: str) -> None:
    record = DIALECT.read(TRANSCRIPTS[name])
    assert Told(record.prompts, record.said, tuple(tool.title for tool in record.open_tools)) == TOLD[name]


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_whole_has_no_problems_and_stays_byte_for_byte(name: str) -> None:
    data = TRANSCRIPTS[name]
    assert DIALECT.read(data).problems == ()
    assert DIALECT.repair(data).data is data
    assert DIALECT.repair(data).changes == ()


@pytest.mark.parametrize("name", RESUMED)
def test_a_resumed_conversation_is_the_same_one_continued(name: str) -> None:
    older, newer = DIALECT.read(TRANSCRIPTS[name]), DIALECT.read(TRANSCRIPTS[f"{name}_resumed"])
    assert extends(older, newer)
    assert not extends(newer, older)


def test_another_conversation_does_not_extend_this_one() -> None:
    assert not extends(DIALECT.read(TRANSCRIPTS["plain"]), DIALECT.read(TRANSCRIPTS["live"]))


def test_a_tool_call_is_not_open_any_more_when_the_conversation_has_gone_on_without_it() -> None:
    resumed = TRANSCRIPTS["killed_in_bash_resumed"]
    up_to_the_prompt = resumed[: resumed.rindex(b"\n", 0, resumed.index(b"I start again.")) + 1]
    record = DIALECT.read(up_to_the_prompt)
    assert record.prompts[-1] == "Go on, please."
    assert record.open_tools == ()


def test_a_person_may_type_what_the_agent_writes_in_a_persons_name() -> None:
    data = TRANSCRIPTS["plain"].replace(b"Say hello.", b"[Request interrupted by user] is what I see.")
    assert DIALECT.read(data).prompts == ("[Request interrupted by user] is what I see.",)


def test_what_an_agent_of_the_agents_was_told_and_said_is_not_part_of_the_conversation() -> None:
    record = DIALECT.read(TRANSCRIPTS["killed_in_bash"].replace(b'"isSidechain":false', b'"isSidechain":true'))
    assert (record.prompts, record.said, record.open_tools) == ((), "", ())
    assert record.entries == DIALECT.read(TRANSCRIPTS["killed_in_bash"]).entries


def test_a_line_that_the_agent_glued_to_a_torn_one_is_told_and_mended() -> None:
    data = TRANSCRIPTS["torn_resumed"]
    torn = len(TRANSCRIPTS["torn"].split(b"\n")[-1])
    [problem] = DIALECT.read(data).problems
    assert problem == f"line 6: {torn} bytes of a torn record, with a whole one glued to them"
    at = len(TRANSCRIPTS["torn"]) - torn
    assert DIALECT.repair(data).data == data[:at] + data[at + torn :]


@pytest.mark.parametrize("name", SMALL)
def test_a_transcript_torn_at_any_byte_keeps_all_that_was_whole(name: str) -> None:
    data = TRANSCRIPTS[name]
    whole = DIALECT.read(data)
    read, repair = cache(DIALECT.read), cache(DIALECT.repair)
    known: list[dict[str, object]] = []
    for size in range(len(data)):
        torn = data[:size]
        if torn.endswith(b"\n"):
            known = whole_records(torn)
        record, repaired = DIALECT.read(torn), DIALECT.repair(torn)
        assert len(record.entries) >= len(known), size
        assert {entry["uuid"] for entry in known if "uuid" in entry} <= set(record.entries), size
        assert extends(record, whole), size
        assert bool(repaired.changes) == (torn != repaired.data) == bool(record.problems), size
        assert repair(repaired.data) == Repaired(repaired.data, ()), size
        assert read(repaired.data).entries == record.entries, size
