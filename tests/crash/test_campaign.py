"""Whatever is killed at whatever moment: no prompt is lost, doubled, out of order or unnamed; no session is hidden."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.crash.campaign import Campaign
from tests.e2e.daemon import Machine
from tests.soaking import SOAK, only_in_soak

pytestmark = [pytest.mark.timeout(900)]
#: In soak 40 campaigns of 25 kills each: a thousand.
SEEDS = only_in_soak(*range(40)) if SOAK else [1]
KILLS, SECONDS = (25, 600.0) if SOAK else (12, 500.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_doubled_unnamed_or_hidden_whatever_is_killed(seed: int) -> None:
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        machine = Machine(Path(folder, "home"), Path(folder, "work"))
        machine.home.mkdir()
        machine.work.mkdir()
        campaign = Campaign(machine, seed)
        try:
            campaign.begin()
            campaign.run(KILLS, SECONDS)
            campaign.settle()
            faults = campaign.faults()
        finally:
            machine.clean_up()
        assert machine.stamped() == []
        assert faults == [], f"seed {seed}, {campaign.kills} kills: {dict(campaign.killed)}"
        assert campaign.kills == KILLS and any(one.acknowledged for one in campaign.prompts)
