"""What rekindle keeps for this user alone is closed to others from the first moment, whatever the umask is."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from rekindle.adapters.git import approvals
from rekindle.adapters.journal_file.ledger import Ledger


def _approve(home: Path) -> None:
    (home / "repo").mkdir()
    approvals.approve(str(home / "repo"), [])


def _note(home: Path) -> None:
    Ledger(str(home / ".local" / "state" / "rekindle"), str(home / "events.jsonl")).note("plan.created", b"{}")


@pytest.mark.parametrize("first", [_approve, _note])
def test_whoever_makes_the_state_folder_makes_it_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: Callable[[Path], None]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    before = os.umask(0)
    try:
        first(tmp_path)
    finally:
        os.umask(before)
    made = tmp_path / ".local" / "state" / "rekindle"
    assert [stat.S_IMODE(one.stat().st_mode) for one in (made, *made.iterdir())] == [0o700, 0o700]
