"""What rekindle makes of the errors that Codex and OpenCode meet: what is said, what goes on, what waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.daemon import until
from tests.real.acp_stage import AcpStage
from tests.real.models.steps import Refuse, Reply
from tests.real.stage import called

pytestmark = pytest.mark.timeout(300)

StandUp = Callable[[str], AcpStage]
BOTH = ("codex", "opencode")


def told_of(stage: AcpStage, session: str) -> dict[str, Any]:
    told: dict[str, Any] = stage.machine.show(session)
    return told


def until_message(stage: AcpStage, session: str, words: str) -> dict[str, Any]:
    until(lambda: words in told_of(stage, session)["message"], words)
    return told_of(stage, session)


def is_no_fresh_start(stage: AcpStage, session: str) -> bool:
    told = told_of(stage, session)
    return (told["attempt"], told["session"]["lost"]) == (1, [])


@pytest.mark.parametrize("agent", BOTH)
def test_a_refused_key_waits_for_a_person_who_mends_it(stand_up: StandUp, agent: str) -> None:
    stage = stand_up(agent)
    rule = stage.model.when(lambda _: True, Refuse(401, "invalid_api_key", "Incorrect API key provided: fake."))
    session = stage.begin(called("the thing"))
    told = until_message(stage, session, "unauthorized")
    assert told["state"] == "WAITING_FOR_INPUT"
    assert "by itself" not in told["message"]
    asked = len(stage.model.turns())
    stage.model.withdraw(rule)
    stage.machine.ok("send", session, stage.answering("the second thing", "answer two"), "--follow")
    assert len(stage.model.turns()) == asked + 1, "nothing was tried until then"
    assert is_no_fresh_start(stage, session)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Refuse(429, "rate_limit_exceeded", "Rate limit reached."), "rate_limited"),
        (Refuse(500, "server_error", "It has fallen over."), "overloaded"),
    ],
    ids=["429 without a reset", "500"],
)
def test_codex_gives_up_at_once_and_rekindle_waits_for_it(stand_up: StandUp, step: Refuse, words: str) -> None:
    stage = stand_up("codex")
    rule = stage.model.when(lambda _: True, step)
    session = stage.begin(called("the thing"))
    told = until_message(stage, session, "by itself")
    assert words in told["message"]
    stage.model.withdraw(rule)
    stage.model.default = Reply("the answer at last")
    stage.until_said(session, "the answer at last")
    assert stage.has_heard(session, "the thing") == 1
    assert is_no_fresh_start(stage, session)


@pytest.mark.parametrize("headers", [{}, {"retry-after": "3"}], ids=["without a reset", "with a reset"])
def test_opencode_waits_out_a_limit_in_its_own_process(stand_up: StandUp, headers: dict[str, str]) -> None:
    stage = stand_up("opencode")
    rule = stage.model.when(lambda _: True, Refuse(429, "rate_limit_exceeded", "Rate limit reached.", headers))
    session = stage.begin(called("the thing"))
    stage.model.until_turns(2)
    assert told_of(stage, session)["status"] == "working"
    stage.model.withdraw(rule)
    stage.model.default = Reply("the answer at last")
    stage.until_said(session, "the answer at last")
    assert stage.has_heard(session, "the thing") == 1
    assert is_no_fresh_start(stage, session)


def test_codex_without_money_waits_for_a_person(stand_up: StandUp) -> None:
    stage = stand_up("codex")
    stage.model.when(lambda _: True, Refuse(429, "insufficient_quota", "You exceeded your current quota."))
    session = stage.begin(called("the thing"))
    told = until_message(stage, session, "out_of_credits")
    assert (told["state"], "by itself" in told["message"]) == ("WAITING_FOR_INPUT", False)
    assert is_no_fresh_start(stage, session)


def test_opencode_that_has_shortened_its_conversation_is_the_same_and_that_is_said(stand_up: StandUp) -> None:
    stage = stand_up("opencode")
    session = stage.begin(stage.filling("the first thing", "answer one"))
    stage.machine.until_status(session, "waiting")
    stage.machine.ok("send", session, stage.overflowing("the last straw", "a short answer"), "--follow")
    told = told_of(stage, session)
    assert any("compacted" in one and "fell from 80000" in one for one in told["notices"])
    assert is_no_fresh_start(stage, session)
    stage.machine.ok("stop", session, "--sleep")
    stage.machine.ok("send", session, stage.answering("the third thing", "answer three"), "--follow")
    told = told_of(stage, session)
    assert (told["receipt"]["kind"], told["session"]["lost"]) == ("same", []), told["receipt"]
