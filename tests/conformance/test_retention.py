"""The promises of room that is given back. Nobody has a fake of it, so the sessions' folders are held to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekindle.adapters.session_folder.retention import VaultRetention
from rekindle.adapters.session_folder.spool_files import open_spool
from rekindle.ports.retention import Retention
from tests.sessions import folded
from tests.vault.place import NOW, OVER, Place

SAID = b"said\n" * 1000


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.spools(SAID)
    return made


@pytest.fixture
def port(place: Place) -> Retention:
    return VaultRetention(str(place.sessions))


def files(place: Place) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in place.own.rglob("*") if path.is_file()}


def test_what_has_no_second_copy_is_kept_and_a_look_changes_nothing(place: Place, port: Retention) -> None:
    before = files(place)
    found = port.survey([folded(OVER)], NOW)
    assert found.total >= len(SAID)
    assert not [item for item in found.items if item.what in ("spool", "session")]
    assert str(place.attempt / "out") in {one.path for one in found.kept if one.why}
    assert files(place) == before


def test_what_the_vault_has_whole_may_go_and_is_still_read(place: Place, port: Retention) -> None:
    session = folded(OVER)
    for _ in range(2):
        port.complete(session)
    found = port.survey([session], NOW)
    items = [item for item in found.items if item.what == "spool"]
    assert {Path(item.path).name for item in items} == {"in", "out"}
    assert all(item.session == "s1" and item.why for item in items)
    gone, kept = port.remove(items)
    assert (len(gone), kept) == (2, [])
    assert not (place.attempt / "out").exists()
    with open_spool(str(place.attempt), "out") as file:
        assert file.read() == SAID
    assert port.survey([session], NOW).total < found.total
    assert not [item for item in port.survey([session], NOW).items if item.what == "spool"]


def test_what_changed_between_the_look_and_the_removal_stays_and_that_is_told(place: Place, port: Retention) -> None:
    session = folded(OVER)
    port.complete(session)
    items = [item for item in port.survey([session], NOW).items if item.path.endswith("/out")]
    assert len(items) == 1
    (place.attempt / "out").write_bytes(SAID + b"and more\n")
    gone, kept = port.remove(items)
    assert gone == []
    assert [(one.path, bool(one.why)) for one in kept] == [(str(place.attempt / "out"), True)]
    assert (place.attempt / "out").read_bytes() == SAID + b"and more\n"


def test_nothing_of_an_agent_that_lives_may_go(place: Place, port: Retention) -> None:
    alive = folded(OVER[:-1])
    port.complete(folded(OVER))
    found = port.survey([alive], NOW, older_than=0.0)
    assert not [item for item in found.items if item.what in ("spool", "session")]
    assert (place.attempt / "out").exists()
