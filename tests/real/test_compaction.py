"""Real agents that shorten a conversation by themselves: the person is told, while it goes on and after a resume.

The model counts the tokens that it is given, so that nothing here depends on a number that a test made up.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.daemon import until
from tests.real.acp_stage import AcpStage
from tests.real.models.openai import OpenAI

pytestmark = pytest.mark.timeout(300)

StandUp = Callable[[str], AcpStage]


def _opencode(home: Path) -> dict[str, str]:
    path = home / ".config/opencode/opencode.json"
    config = json.loads(path.read_text())
    config["provider"]["mock"]["models"]["mock-model"]["limit"] = {"context": 24_000, "output": 4_000}
    path.write_text(json.dumps(config))
    return {}


def _codex(home: Path) -> dict[str, str]:
    path = home / ".codex/config.toml"
    narrow = "model_context_window = 30000\nmodel_auto_compact_token_limit = 14000\n"
    path.write_text(narrow + path.read_text())
    return {}


def _qwen(home: Path) -> dict[str, str]:
    path = home / ".qwen/settings.json"
    model = {"generationConfig": {"contextWindowSize": 120_000}}
    path.write_text(json.dumps({**json.loads(path.read_text()), "model": model}))
    return {}


def _copilot(_home: Path) -> dict[str, str]:
    return {"COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "40000", "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS": "2000"}


#: How the agent's model gets a narrow window, and how many letters a prompt has that fills it in a few turns.
NARROW: dict[str, tuple[Callable[[Path], dict[str, str]], int]] = {
    "opencode": (_opencode, 28_000),
    "codex": (_codex, 22_000),
    "qwen": (_qwen, 120_000),
    "copilot": (_copilot, 40_000),
}


@pytest.mark.parametrize("agent", NARROW)
def test_an_agent_that_shortens_its_conversation_by_itself_is_noticed(stand_up: StandUp, agent: str) -> None:
    stage = stand_up(agent)
    narrow, letters = NARROW[agent]
    stage.machine = replace(stage.machine, variables={**stage.machine.variables, **narrow(stage.machine.home)})
    assert isinstance(stage.model.dialect, OpenAI)
    stage.model.dialect.truthful = True
    filler = "words that fill the window " * (letters // 27)
    session = stage.begin(f"{stage.answering('thing 0', 'answer 0')} {filler}")
    stage.machine.until_status(session, "waiting")
    number = 0
    while not number or remembers(stage, "answer 0"):
        assert not is_told(stage, session), "nothing is told that did not happen"
        number += 1
        assert number < 6, "the agent has not shortened anything"
        prompt = stage.answering(f"thing {number}", f"answer {number}")
        stage.machine.ok("send", session, f"{prompt} {filler}", "--follow")
    until(lambda: is_told(stage, session), "a notice")
    stage.machine.ok("stop", session, "--sleep")
    stage.machine.ok("send", session, stage.answering("the last thing", "the last answer"), "--follow")
    assert not remembers(stage, "answer 0"), "the model has it in a summary, or not at all"
    receipt = stage.machine.receipt(session)
    assert "compacted" in receipt["reason"], receipt


def remembers(stage: AcpStage, answer: str) -> bool:
    """Whether the model was given an answer of its own when it was asked last."""
    return answer in [text.strip() for text in stage.model.assistant_texts(stage.model.turns()[-1])]


def is_told(stage: AcpStage, session: str) -> bool:
    return any("compacted" in one for one in stage.machine.show(session)["notices"])
