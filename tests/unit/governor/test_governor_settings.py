"""The limits for all sessions together hold until somebody lifts them: a file that cannot be read lifts nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rekindle.adapters.machine.governor_settings import GONE_SECONDS, GovernorSettings


def test_what_is_put_in_the_place_of_the_file_lifts_no_limit(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("max_cost_per_night = 5\n")
    now = 100.0
    settings = GovernorSettings(str(file), lambda: now)
    assert settings.rules().cost_per_night == 5.0
    file.unlink()
    os.mkfifo(file)
    assert settings.rules().cost_per_night == 5.0
    file.unlink()
    file.symlink_to(file)  # a loop
    assert settings.rules().cost_per_night == 5.0
    file.unlink()
    assert settings.rules().cost_per_night == 5.0, "an editor may be saving it"
    now += GONE_SECONDS
    assert settings.rules().cost_per_night is None


@pytest.mark.parametrize("how", ["missing", "empty"])
def test_a_file_that_is_missing_or_empty_for_a_moment_lifts_no_limit(tmp_path: Path, how: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text("max_cost_per_night = 5\n")
    now = 100.0
    settings = GovernorSettings(str(file), lambda: now)
    assert settings.rules().cost_per_night == 5.0
    for _ in range(3):
        file.unlink() if how == "missing" else file.write_text("")
        now += GONE_SECONDS / 2
        assert settings.rules().cost_per_night == 5.0
        file.write_text("max_cost_per_night = 5\n")
        now += GONE_SECONDS
        assert settings.rules().cost_per_night == 5.0
    file.write_text("")
    settings.rules()
    now += GONE_SECONDS
    assert settings.rules().cost_per_night is None, "somebody has emptied it"
