"""The promises of kept copies. Nobody has a fake of them, so the vaults alone are held to them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rekindle.adapters.session_folder.records import VaultRecords
from rekindle.adapters.session_folder.vaults import VaultsOnDisk
from rekindle.ports.vault import VaultCopies
from tests.conformance.test_records import ONE, SESSION, TOKEN, TWO, Telling


@pytest.fixture
def kept(tmp_path: Path) -> VaultCopies:
    """One session with a record that was copied, damaged and put back."""
    home = tmp_path / "home"
    home.mkdir()
    records = VaultRecords(str(tmp_path / "sessions"), lambda _: {"AGENT_HOME": str(home)}, {"scripted": Telling()})
    path = home / f"{TOKEN}.txt"
    path.write_bytes(ONE + TWO)
    asyncio.run(records.copy(SESSION))
    path.write_bytes(ONE)
    assert asyncio.run(records.check(SESSION, TOKEN)).state == "restored"
    records.close()
    return VaultsOnDisk(str(tmp_path / "sessions"))


def test_every_session_with_a_folder_is_there(kept: VaultCopies, tmp_path: Path) -> None:
    assert kept.sessions() == [SESSION.id]
    assert VaultsOnDisk(str(tmp_path / "nowhere")).sessions() == []


def test_copies_that_are_whole_have_no_damage_and_looking_changes_nothing(kept: VaultCopies, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in (tmp_path / "sessions").rglob("*") if path.is_file()}
    found = kept.check(SESSION.id)
    assert max(one.bytes for one in found) == len(ONE + TWO)
    assert [one.damage for one in found] == [()] * len(found)
    assert {path: path.read_bytes() for path in (tmp_path / "sessions").rglob("*") if path.is_file()} == before
    assert kept.check("nobody") == []


@pytest.mark.parametrize("how", ["changed", "shortened", "removed"])
def test_damage_is_found_wherever_it_is(kept: VaultCopies, how: str) -> None:
    copy = Path(max(kept.check(SESSION.id), key=lambda one: one.bytes).path)
    data = copy.read_bytes()
    copy.chmod(0o600)
    if how == "removed":
        copy.unlink()
    else:
        at = data.index(b"first")
        copy.write_bytes(data[:at] if how == "shortened" else data[:at] + b"F" + data[at + 1 :])
    assert any(one.damage for one in kept.check(SESSION.id))


def test_what_was_put_back_is_told(kept: VaultCopies) -> None:
    assert "two" in kept.difference(SESSION.id)
    assert kept.difference("nobody") == ""
