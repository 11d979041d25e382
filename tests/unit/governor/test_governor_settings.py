"""The limits for all sessions together hold until somebody lifts them: a file that cannot be read lifts nothing."""

from __future__ import annotations

import os
from pathlib import Path

from rekindle.adapters.machine.governor_settings import GovernorSettings


def test_what_is_put_in_the_place_of_the_file_lifts_no_limit(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("max_cost_per_night = 5\n")
    settings = GovernorSettings(str(file))
    assert settings.rules().cost_per_night == 5.0
    file.unlink()
    os.mkfifo(file)
    assert settings.rules().cost_per_night == 5.0
    file.unlink()
    file.symlink_to(file)  # a loop
    assert settings.rules().cost_per_night == 5.0
    file.unlink()
    assert settings.rules().cost_per_night is None
