"""Ctrl-C before anybody watches: what goes on is said all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rekindle.core.feature.staffing import RunTerms
from rekindle.doors.cli import features
from rekindle.doors.cli.outcome import INTERRUPTED


class Hasty:
    """Somebody presses Ctrl-C while the daemon is being asked, or while the board is being put up."""

    def __init__(self, moment: str) -> None:
        self._moment = moment

    def feature_resuming(self) -> Hasty:
        return self

    def begin(self, _asked: Any) -> dict[str, Any]:
        if self._moment == "asking":
            raise KeyboardInterrupt
        return {"feature": "shop", "sid": "12345678", "tasks": 1, "waves": 1, "finished": None}


@pytest.mark.parametrize("moment", ["asking", "opening the board"])
def test_an_early_interrupt_says_what_goes_on(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_words: Any, **_more: Any) -> None:
        raise KeyboardInterrupt

    plan = tmp_path / "plan.toml"
    plan.write_text('feature = "shop"\nagent = "scripted"\n[[task]]\nid = "a"\nprompt = "x"\n')
    monkeypatch.setattr(features, "use_cases", lambda: Hasty(moment))
    monkeypatch.setattr(features, "Board", interrupted)
    terms = RunTerms("scripted", "edits")
    done = features.run_plan(str(tmp_path), str(plan), None, None, terms, again=False, detach=False, as_json=False)
    assert done == INTERRUPTED
    said = capsys.readouterr().err
    assert "Still running. Reattach: rekindle attach shop\nStop it: rekindle stop shop\n" in said
