"""What the real agents said over ACP, told again: every line is understood, and means what it meant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rekindle.agents.base import observation as o
from rekindle.agents.base.dialect import Dialect
from rekindle.agents.registry import AGENTS
from tests.spooled import understood

FOLDER = Path(__file__).parent / "acp"
RECORDED = sorted(one.name for one in FOLDER.iterdir() if one.is_dir())
#: The error classes, where it is not the one that the case is named after.
CLASSES = {"too_long": "context_overflow", "no_credit": "out_of_credits"}
EXCEPTIONS: dict[tuple[str, str], str] = {}
#: Killed with their whole tree, they had not yet written down the prompt that they worked on.
LATE = {"copilot", "qwen"}


def told(agent: str, case: str, generation: int = 1) -> tuple[Dialect, list[o.Observation]]:
    """A recording folded as the daemon folds the two spools of a keeper."""
    sent = [json.loads(line) for line in (FOLDER / agent / f"{case}.sent.jsonl").read_text().splitlines()]
    records = [(str(one["id"]), json.dumps(one).encode()) for one in sent if "id" in one]
    received = (FOLDER / agent / f"{case}.received.jsonl").read_bytes()
    dialect = AGENTS[agent].dialect(generation, "/place/work", None)
    return dialect, understood(dialect, records, received)


def errors() -> list[tuple[str, str]]:
    return [
        (agent, path.name.removeprefix("error_").removesuffix(".sent.jsonl"))
        for agent in RECORDED
        for path in sorted((FOLDER / agent).glob("error_*.sent.jsonl"))
    ]


def test_there_are_recordings_of_every_agent_that_runs_without_an_account() -> None:
    assert {"codex", "copilot", "gemini", "opencode", "qwen"} <= set(RECORDED)


@pytest.mark.parametrize("agent", RECORDED)
def test_a_turn_that_was_cut_is_open_with_the_words_that_were_said(agent: str) -> None:
    dialect, seen = told(agent, "begun")
    assert [one.stop_reason for one in seen if isinstance(one, o.AgentFinishedTurn)] == ["end_turn"]
    assert "the first answer" in "".join(one.text for one in seen if isinstance(one, o.Said))
    assert dialect.open.prompt_id == "p2"
    assert dialect.open.said.endswith("half of the second")
    assert not [one for one in seen if isinstance(one, o.Noise)]


@pytest.mark.parametrize("agent", [one for one in RECORDED if AGENTS[one].native])
def test_a_load_shows_every_prompt_and_then_the_next_turn_is_no_replay(agent: str) -> None:
    _, seen = told(agent, "resumed", 2)
    shown = [one.text for one in seen if isinstance(one, o.UserReplayed)]
    assert "the first question" in shown
    assert ("the second question" in shown) is (agent not in LATE), "also the one that was cut"
    after = seen[next(at for at, one in enumerate(seen) if isinstance(one, o.ConversationOpened)) :]
    said = "".join(one.text for one in after if isinstance(one, o.Said) and not one.replay)
    assert "mock reply" in said
    assert isinstance(seen[-1], o.AgentFinishedTurn) or any(isinstance(one, o.AgentFinishedTurn) for one in after)


@pytest.mark.parametrize("agent", RECORDED)
def test_an_unknown_conversation_is_told_from_every_other_problem(agent: str) -> None:
    _, seen = told(agent, "unknown")
    [refused] = [one for one in seen if isinstance(one, o.AgentRefusedToOpen)]
    assert refused.problem == "unknown_session", refused


@pytest.mark.parametrize(("agent", "case"), errors())
def test_an_error_of_the_model_has_its_class(agent: str, case: str) -> None:
    _, seen = told(agent, f"error_{case}")
    [failed] = [one for one in seen if isinstance(one, o.AgentFailedTurn)]
    assert failed.error_class == EXCEPTIONS.get((agent, case), CLASSES.get(case, case)), failed
