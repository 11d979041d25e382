"""What rekindle makes of the errors that the real Claude Code meets: what is said, what goes on, what waits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.e2e.daemon import until
from tests.real.models.anthropic import Anthropic
from tests.real.models.server import ModelServer
from tests.real.models.steps import Drop, Limit, Refuse, Reply, Step
from tests.real.stage import ClaudeStage, called

pytestmark = pytest.mark.timeout(240)


def until_message(claude: ClaudeStage, session: str, words: str) -> dict[str, Any]:
    until(lambda: words in claude.machine.show(session)["message"], words)
    told: dict[str, Any] = claude.machine.show(session)
    return told


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Refuse(429, "rate_limit_error"), "rate_limited"),
        (Refuse(529, "overloaded_error"), "overloaded"),
        (Refuse(500, "api_error"), "error"),
        (Drop(), "no_internet"),
    ],
    ids=["429 without a reset", "529", "500", "dropped"],
)
def test_a_fault_that_passes_is_waited_out(claude: ClaudeStage, step: Step, words: str) -> None:
    claude.retrying(0)
    rule = claude.model.when(lambda _: True, step)
    session = claude.begin(called("the thing"))
    told = until_message(claude, session, "by itself")
    assert words in told["message"]
    claude.model.withdraw(rule)
    claude.model.default = Reply("the answer at last")
    claude.until_said(session, "the answer at last")
    assert claude.has_heard(session, "the thing") == 1
    assert claude.machine.show(session)["attempt"] == 1, "the agent lived on"


def test_a_limit_with_a_reset_is_kept_to_the_second(claude: ClaudeStage) -> None:
    limit = Limit(6)
    claude.model.when(limit.holds, limit.step)
    session = claude.begin(claude.answering("the thing", "the answer at last"))
    claude.until_said(session, "the answer at last")
    assert [one.step for one in claude.turns(session)].count(limit.step) == 1, "nobody knocked before the time"


def test_a_refused_key_is_told_and_nothing_is_tried_again_until_it_is_mended(claude: ClaudeStage) -> None:
    claude.retrying(0)
    rule = claude.model.when(lambda _: True, Refuse(401, "authentication_error", "invalid x-api-key"))
    session = claude.begin(called("the thing"))
    told = until_message(claude, session, "unauthorized")
    assert "by itself" not in told["message"]
    asked = len(claude.turns(session))
    claude.model.withdraw(rule)
    claude.machine.ok("send", session, claude.answering("the second thing", "answer two"), "--follow")
    claude.until_said(session, "answer two")
    assert len(claude.turns(session)) == asked + 1


def test_a_model_that_nobody_answers_for_is_asked_again_when_it_is_back(
    claude: ClaudeStage, model: ModelServer
) -> None:
    port = model.port
    claude.retrying(0)
    model.__exit__()
    session = claude.begin(called("the thing"))
    until_message(claude, session, "no_internet")
    with ModelServer(Anthropic(), port) as back:
        back.default = Reply("the answer at last")
        claude.model = back
        claude.until_said(session, "the answer at last")
        assert claude.has_heard(session, "the thing") == 1


def test_a_stalled_stream_is_noticed_by_itself(claude: ClaudeStage) -> None:
    session = claude.begin(claude.speaking("the report"), "--stall", "3s")
    claude.machine.until_said(session, claude.half)
    assert claude.model.until_ended(claude.turns(session)[0]) == "client gone"
    told = claude.machine.show(session)
    assert told["message"] or told["notices"]


def test_an_agent_that_is_not_installed_is_told(claude: ClaudeStage) -> None:
    nothing = {**claude.machine.variables, "PATH": "/nonexistent"}
    done = replace(claude.machine, variables=nothing).run("run", "--agent", "claude", "hello")
    assert done.returncode != 0
    assert "npm install" in done.stderr
    assert claude.model.turns() == []
