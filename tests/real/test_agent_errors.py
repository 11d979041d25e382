"""What the real agents make of a model that refuses them, and what rekindle makes of that: class and state."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.e2e.daemon import until
from tests.real.acp_stage import AcpStage
from tests.real.models.steps import Hang, Refuse, Reply
from tests.real.stage import called

pytestmark = pytest.mark.timeout(300)

StandUp = Callable[[str], AcpStage]

#: Each model's own words.
BAD_KEY = {
    "copilot": Refuse(401, "invalid_api_key", "Incorrect API key provided."),
    "gemini": Refuse(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    "qwen": Refuse(401, "invalid_api_key", "Incorrect API key provided."),
}
TOO_LONG = {
    "copilot": Refuse(400, "context_length_exceeded", "This model's maximum context length is 100000 tokens."),
    "gemini": Refuse(
        400, "INVALID_ARGUMENT", "The input token count (12) exceeds the maximum number of tokens allowed"
    ),
    "qwen": Refuse(400, "context_length_exceeded", "This model's maximum context length is 100000 tokens."),
}


@pytest.mark.parametrize("agent", BAD_KEY)
def test_a_key_that_is_refused_waits_for_a_person(stand_up: StandUp, agent: str) -> None:
    stage = stand_up(agent)
    stage.model.default = BAD_KEY[agent]
    session = stage.begin(called("the thing"))
    message = until(lambda: stage.machine.show(session)["message"], "the refusal")
    assert message.startswith("unauthorized: ")
    shown = stage.machine.show(session)
    assert (shown["state"], shown["session"]["retry_at"]) == ("WAITING_FOR_INPUT", None)
    stage.model.default = Reply("now it works")
    stage.machine.ok("send", session, called("the next thing"), "--follow")
    assert stage.has_said(session, "now it works")


@pytest.mark.parametrize("agent", TOO_LONG)
def test_a_conversation_that_is_too_long_is_known_as_that(stand_up: StandUp, agent: str) -> None:
    stage = stand_up(agent)
    stage.model.default = TOO_LONG[agent]
    session = stage.begin(called("the thing"))
    until(lambda: "context_overflow" in str(stage.machine.show(session)["session"]["prompts"]), "the refusal")
    stage.machine.ok("stop", session)


@pytest.mark.parametrize(
    ("words", "error", "comes_back"),
    [
        ("Rate limit reached. Please try again in 2s.", "rate_limited", True),
        ("You exceeded your current quota, please check your plan and billing details.", "out_of_credits", False),
    ],
)
def test_copilot_goes_on_after_a_limit_and_waits_for_money(
    stand_up: StandUp, words: str, error: str, comes_back: bool
) -> None:
    """It asks five times more by itself, as often as its model allows."""
    stage = stand_up("copilot")
    stage.model.when(lambda _: True, Refuse(429, "rate_limit_exceeded", words, {"retry-after": "1"}), 6)
    session = stage.begin(called("the thing"))
    until(lambda: error in str(stage.machine.show(session)["session"]["prompts"]), "the refusal", 120.0)
    if comes_back:
        stage.model.default = Reply("the answer at last")
        stage.until_said(session, "the answer at last")
        assert stage.has_heard(session, "the thing") == 1
    else:
        shown = stage.machine.show(session)
        assert shown["message"].startswith("out_of_credits: ")
        assert shown["session"]["retry_at"] is None


@pytest.mark.parametrize("agent", BAD_KEY)
def test_an_agent_that_is_killed_before_its_first_word_is_never_begun_anew_in_silence(
    stand_up: StandUp, agent: str
) -> None:
    """Copilot CLI writes a new conversation down a moment late, and does not know it then."""
    stage = stand_up(agent)
    stage.model.when(lambda _: True, Hang(before_headers=True), 1)
    session = stage.begin(called("the thing"))
    stage.model.until_turns(1)
    stage.machine.kill(stage.machine.pids(session)["agent"])
    stage.machine.until_status(session, "interrupted")
    stage.model.default = Reply("the answer")
    stage.machine.run("resume", session)
    stage.until_said(session, "the answer")
    assert stage.was_told(session, called("the thing"))
    receipt = stage.machine.receipt(session)
    given = stage.has_heard(session, "the thing")
    assert receipt["kind"] in ("same", "rebuilt", "fresh"), receipt
    assert (receipt["kind"] == "same") <= (given == 1), "the same conversation has its prompt"
