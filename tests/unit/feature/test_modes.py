"""What each mode checks, as a table: the commands that run after each wave, and the rounds that a task gets."""

from __future__ import annotations

import pytest

from rekindle.core.feature.decide import wave_commands
from rekindle.core.feature.modes import MODES, Mode
from rekindle.core.feature.plan_file import parse
from rekindle.core.feature.situation import ROUNDS

PLAN = b"""
feature = "shop"
lint = ["ruff check"]
checks = ["pytest -q"]
[[task]]
id = "a"
prompt = "say a"
"""
TABLE: dict[Mode, tuple[int, tuple[str, ...]]] = {
    "strict": (3, ("ruff check", "pytest -q")),
    "standard": (2, ("ruff check",)),
    "fast": (1, ()),
}


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_has_its_rounds_and_runs_its_commands_after_each_wave(mode: Mode) -> None:
    plan = parse(PLAN, "plan.toml")
    assert (ROUNDS[mode], wave_commands(plan.plan, mode)) == TABLE[mode]
