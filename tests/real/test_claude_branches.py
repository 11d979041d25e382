"""The real Claude Code opens one branch of its transcript: what the receipt claims is what the model was given.

No file is touched by anybody in the first test; in the others a record is damaged or another one lies in its place,
with the vault and without.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.daemon import until
from tests.real.stage import ClaudeStage, called
from tests.real.test_drill import TOOL, check_receipt, converse, go_on, kill_agent, lose_the_vault, running_tools

pytestmark = pytest.mark.timeout(300)

Line = dict[str, Any]


def test_a_turn_after_an_interrupted_command_is_not_lost_when_the_idle_agent_is_killed(claude: ClaudeStage) -> None:
    (claude.machine.work / "tool.py").write_text(TOOL)
    session = claude.begin(claude.commanding("the command", "python3 tool.py"))
    until(lambda: running_tools(claude), "the command")
    os.kill(claude.machine.pids(session)["agent"], signal.SIGTERM)
    claude.machine.until_status(session, "interrupted")
    claude.machine.ok("resume", session)
    claude.machine.until_status(session, "waiting")
    claude.machine.ok("send", session, claude.answering("the second thing", "answer two"), "--follow")
    claude.until_recorded(session, "answer two")
    kill_agent(claude, session, 2)
    claude.machine.until_status(session, "dead")
    go_on(claude, session)
    heard = claude.heard(session)
    assert [text for text in heard if text.startswith("This is about")] == [
        called("the command"),
        called("the second thing"),
        called("the third thing"),
    ]
    assert any("interrupted" in text and "tool.py" in text for text in heard), "the continuation is there as well"
    assert "answer two" in claude.remembered(session)
    check_receipt(claude, session, "the command", "the second thing", kinds=("same",))


def say_more(claude: ClaudeStage, session: str) -> None:
    """A third prompt, which may come behind a history that is told."""
    claude.machine.ok("send", session, claude.answering("the third thing", "answer three"), "--follow")
    claude.until_said(session, "answer three")
    assert sum(text.count(called("the third thing")) for text in claude.heard(session)) == 1


def removed(lines: list[Line]) -> list[Line]:
    return [one for one in lines if not is_answer(one, "answer one")]


def altered(lines: list[Line]) -> list[Line]:
    return [json.loads(json.dumps(one).replace("answer one", "answer nine")) for one in lines]


def swapped(lines: list[Line]) -> list[Line]:
    texts = {"answer one": "answer two", "answer two": "answer one"}
    return [
        json.loads(json.dumps(one).replace(text, texts[text]))
        if (text := next((text for text in texts if is_answer(one, text)), ""))
        else one
        for one in lines
    ]


def hung_elsewhere(lines: list[Line]) -> list[Line]:
    """The second prompt's parent is no row of the file: everything before it is not loaded."""
    lost = "00000000-0000-4000-8000-000000000000"
    second = next(one for one in lines if one.get("type") == "user" and says(one, called("the second thing")))
    later = "2030-01-01T00:00:00.000Z"  # far from every other row, so that it is hung on none of them
    return [{**one, "parentUuid": lost, "timestamp": later} if one is second else one for one in lines]


def is_answer(line: Line, text: str) -> bool:
    return line.get("type") == "assistant" and says(line, text)


def says(line: Line, text: str) -> bool:
    return text in json.dumps(line.get("message"))


@pytest.mark.parametrize("damage", [removed, altered, swapped, hung_elsewhere])
@pytest.mark.parametrize("vault", ["with the vault", "without the vault"])
def test_a_record_with_a_damaged_answer_is_put_back_or_the_history_is_told(
    claude: ClaudeStage, damage: Callable[[list[Line]], list[Line]], vault: str
) -> None:
    session = converse(claude)
    if vault == "without the vault":
        lose_the_vault(claude)
    lines = [json.loads(line) for line in claude.transcript(session).read_bytes().splitlines()]
    damaged = damage(lines)
    assert damaged != lines
    claude.transcript(session).write_text("".join(json.dumps(line) + "\n" for line in damaged))
    say_more(claude, session)
    kinds = ("same",) if vault == "with the vault" else ("rebuilt",)
    receipt = check_receipt(claude, session, "the first thing", "the second thing", kinds=kinds)
    if receipt["kind"] == "same":
        assert claude.remembered(session) == ["answer one", "answer two"], "every answer, in order, as it was"
        assert any("put back from the vault" in note for note in receipt["unknown"])
    else:
        assert claude.knows_answers(session, "answer one", "answer two")
        assert "earlier answers" in receipt["reason"] or "earlier prompts" in receipt["reason"]


@pytest.mark.parametrize("vault", ["with the vault", "without the vault"])
def test_the_record_of_another_conversation_is_never_gone_on_with(claude: ClaudeStage, vault: str) -> None:
    session = converse(claude)
    other = claude.begin(claude.answering("a stranger's thing", "a stranger's answer"))
    claude.machine.until_status(other, "waiting")
    claude.machine.ok("stop", other, "--sleep")
    if vault == "without the vault":
        lose_the_vault(claude)
    claude.transcript(session).write_bytes(claude.transcript(other).read_bytes())
    say_more(claude, session)
    assert not claude.was_told(session, "a stranger's thing")
    assert "a stranger's answer" not in claude.remembered(session)
    kinds = ("same",) if vault == "with the vault" else ("rebuilt",)
    check_receipt(claude, session, "the first thing", "the second thing", kinds=kinds)
    assert claude.knows_answers(session, "answer one", "answer two")
