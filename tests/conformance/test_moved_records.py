"""The promises of records that follow their session. Nobody has a fake of them, so the files are held to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekindle.adapters.vault import relocating
from rekindle.agents.registry import record_place
from rekindle.core.session.state import Session
from rekindle.ports.records import MovedRecords

PORT: MovedRecords = relocating
TOKEN = "0f0e0d0c-0b0a-4908-8706-050403020100"


@pytest.fixture
def records(tmp_path: Path) -> tuple[Path, Path]:
    """Where Claude Code keeps its record of a session, by the folder's old name and by its new one."""
    places = [record_place("claude", environment(tmp_path), str(tmp_path / name), TOKEN) for name in ("one", "two")]
    old, new = (Path(str(place)) for place in places)
    old.parent.mkdir(parents=True)
    return old, new


def environment(root: Path) -> dict[str, str]:
    return {"HOME": str(root / "home")}


def carry(root: Path) -> list[str]:
    session = Session("s", "claude", str(root / "one"), 0.0, token=TOKEN)
    return PORT.carry_records(session, str(root / "two"), environment(root))


def test_a_record_is_copied_and_the_old_one_stays(records: tuple[Path, Path], tmp_path: Path) -> None:
    old, new = records
    assert carry(tmp_path) == [], "there is nothing to take along"
    assert not new.exists()
    for text in ("one\n", "one\ntwo\n"):
        old.write_text(text)
        for _ in range(2):
            assert carry(tmp_path) == []
            assert (old.read_text(), new.read_text()) == (text, text)


def test_another_record_in_that_place_is_not_written_over_and_that_is_told(
    records: tuple[Path, Path], tmp_path: Path
) -> None:
    old, new = records
    old.write_text("one\n")
    new.parent.mkdir(parents=True)
    new.write_text("another conversation\n")
    [told] = carry(tmp_path)
    assert str(new) in told
    assert new.read_text() == "another conversation\n"


def test_a_record_that_cannot_be_read_is_told(records: tuple[Path, Path], tmp_path: Path) -> None:
    records[0].mkdir()
    assert len(carry(tmp_path)) == 1
