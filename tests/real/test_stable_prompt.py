"""What Claude Code's model is given at a resume: in a changed work tree it begins as before, if the user agrees."""

from __future__ import annotations

import json

import pytest

from tests.real.models.server import Request
from tests.real.stage import ClaudeStage


def resumed(claude: ClaudeStage, *options: str) -> tuple[Request, Request]:
    """The last request before a resume and the first one after it; the work tree changes in between."""
    machine = claude.machine
    session = machine.begin("begin here", options=options)
    machine.until_status(session, "waiting")
    before = claude.model.requests_with("begin here")[-1]
    machine.ok("stop", "--sleep", session)
    (machine.work / "new.txt").write_text("new\n")
    machine.ok("send", session, "and on", "--follow")
    return before, claude.model.requests_with("and on")[0]


def beginning(request: Request) -> list[object]:
    """What is sent before the messages, without the marks that say up to where to cache."""
    return [request.body["tools"], [block["text"] for block in request.body["system"]]]


@pytest.mark.parametrize("switch", ["on", "off"])
def test_a_stable_prompt_is_the_same_after_a_change_of_the_work_tree(claude: ClaudeStage, switch: str) -> None:
    before, after = resumed(claude, "--stable-prompt", switch)
    assert ("gitStatus" in json.dumps(before.body)) == (switch == "off")
    assert (beginning(before) == beginning(after)) == (switch == "on")


def test_with_rekindle_three_tools_are_offered_that_need_somebody_to_answer(claude: ClaudeStage) -> None:
    machine = claude.machine
    machine.until_status(machine.begin("begin here"), "waiting")
    offered = {tool["name"] for tool in claude.model.requests_with("begin here")[-1].body["tools"]}
    assert {"AskUserQuestion", "EnterPlanMode", "ExitPlanMode"} <= offered
