"""Resuming the real Claude Code from an earlier answer: a copy goes another way, and the original stays."""

from __future__ import annotations

import json

import pytest

from tests.real.stage import ClaudeStage

pytestmark = pytest.mark.timeout(240)


def test_a_copy_begins_behind_an_earlier_answer_and_the_original_goes_on(claude: ClaudeStage) -> None:
    session = claude.begin(claude.answering("the first thing", "answer one"))
    claude.machine.until_status(session, "waiting")
    claude.machine.ok("send", session, claude.answering("the second thing", "answer two"), "--follow")
    points = json.loads(claude.machine.ok("resume", session, "--at", "list", "--json"))["points"]
    assert [point["text"] for point in points] == ["answer one", "answer two"]

    other = claude.answering("another thing", "answer three")
    copy = json.loads(claude.machine.ok("resume", session, "--at", "1", "--prompt", other, "--json"))["id"]
    claude.until_said(copy, "answer three")
    [turn] = claude.turns(copy)
    given = "\n".join(claude.model.user_texts(turn))
    assert "the first thing" in given and "another thing" in given and "the second thing" not in given

    claude.machine.ok("send", session, claude.answering("the fourth thing", "answer four"), "--follow")
    last = "\n".join(claude.model.user_texts(claude.turns(session)[-1]))
    assert "the second thing" in last and "another thing" not in last


def test_an_answer_that_is_not_there_and_a_copy_without_words_are_refused(claude: ClaudeStage) -> None:
    session = claude.begin(claude.answering("the first thing", "answer one"))
    claude.machine.until_status(session, "waiting")
    for words in (("--at", "9", "--prompt", "x"), ("--at", "1"), ("--at", "nosuch", "--prompt", "x")):
        assert claude.machine.run("resume", session, *words).returncode == 2
