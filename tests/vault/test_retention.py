"""Retention: only second copies go, and what stays is told with the reason."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekindle.adapters.session_folder import retention
from rekindle.adapters.session_folder.conversation import open_conversation
from rekindle.adapters.session_folder.spool_files import kept_spool, open_spool
from rekindle.adapters.vault import kept
from rekindle.adapters.vault.vault import Vault, editions
from rekindle.app.freeing import enough
from rekindle.core.session import facts as f
from rekindle.keeper import kernel, lockfile
from rekindle.keeper.spec import STAMP_VARIABLE
from tests.e2e.daemon import until
from tests.sessions import created, folded
from tests.vault.place import DAYS, NOW, OVER, Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_spools_that_are_in_the_vault_go_and_are_read_from_there(place: Place) -> None:
    place.spools(b"noise\n")
    before = [entry.text for entry in open_conversation(str(place.own)).poll()]
    place.copy()
    assert {Path(item.path).name for item in place.collect()} == {"out", "in"}
    assert not (place.attempt / "out").exists()
    with open_spool(str(place.attempt), "out") as file:
        assert file.read() == b"noise\n"
    assert [entry.text for entry in open_conversation(str(place.own)).poll()] == before != []


@pytest.mark.parametrize("lack", ["no copy", "an older copy", "a damaged copy", "a living attempt", "a process left"])
def test_a_spool_stays_while_anything_is_missing(place: Place, lack: str) -> None:
    place.spools(ended=lack != "a process left")
    session = folded(OVER[:-1]) if lack == "a living attempt" else folded(OVER)
    if lack != "no copy":
        place.copy()
    if lack == "an older copy":
        (place.attempt / "out").write_bytes(b"said\n" * 1001)
    if lack == "a damaged copy":
        path = next(one.path for one in editions(str(place.vault)) if one.source == "out-1")
        data = bytearray(Path(path).read_bytes())
        data[-100] ^= 1
        Path(path).write_bytes(data)
    with stray(place) if lack == "a process left" else nullcontext():
        found = place.look(session)
    assert str(place.attempt / "out") not in [item.path for item in found.items]
    assert str(place.attempt / "out") in [one.path for one in found.kept]


@contextmanager
def stray(place: Place) -> Iterator[None]:
    """A process that carries the stamp of the place's session."""
    process = subprocess.Popen(["sleep", "1000"], env={"PATH": os.environ["PATH"], STAMP_VARIABLE: place.stamp})
    environment = Path(f"/proc/{process.pid}/environ")
    try:
        until(lambda: place.stamp.encode() in environment.read_bytes(), "the stamp, which a new program gets last")
        yield
    finally:
        process.kill()
        process.wait()


def reserve(place: Place) -> Path:
    """Room ahead of the output, as a keeper has it."""
    with (place.attempt / "out").open("r+b") as file:
        kernel.reserve(file.fileno(), 0, 4 << 20)
    (place.attempt / "out").chmod(0o400)
    return place.attempt / "out"


def test_a_dead_attempt_whose_end_nobody_lived_to_write_goes_as_any_other(place: Place) -> None:
    place.spools(ended=False)
    place.copy()
    assert {Path(item.path).name for item in place.collect()} == {"out", "in"}


def test_room_that_a_dead_attempt_reserved_comes_back_and_its_output_stays(place: Place) -> None:
    place.spools(ended=False)
    out = reserve(place)
    still_up = folded(OVER[:-1])  # nobody has told the store yet that it died
    found = place.look(still_up)
    assert [(item.what, item.size > 4_000_000) for item in found.items] == [("room", True)]
    assert [item.what for item in place.collect(still_up)] == ["room"]
    assert (out.stat().st_blocks * 512 < 100_000, out.read_bytes()) == (True, b"said\n" * 1000)
    assert out.stat().st_mode & 0o777 == 0o400


def test_reserved_room_is_left_alone_while_a_keeper_or_a_process_of_the_attempt_may_live(place: Place) -> None:
    place.spools(ended=False)
    before = reserve(place).stat().st_blocks
    found = place.look()
    with stray(place):
        assert [item.what for item in place.look().items] == []
        assert retention.remove(str(place.sessions), found.items)[0] == []
    lock = lockfile.take(str(place.own / "lock"))
    assert lock is not None
    refused = retention.remove(str(place.sessions), found.items)[1]
    os.close(lock)
    assert [one.why for one in refused] == ["its session has an agent"]
    assert (place.attempt / "out").stat().st_blocks == before


def test_what_changed_since_the_look_stays(place: Place) -> None:
    place.spools()
    place.copy()
    found = place.look()
    (place.attempt / "out").write_bytes(b"said\n" * 1001)
    gone, stayed = retention.remove(str(place.sessions), found.items)
    assert [Path(item.path).name for item in gone] == ["in"]
    assert [one.why for one in stayed] == ["the vault's copy is not complete yet"]


def test_nothing_is_taken_out_of_a_vault_that_is_in_use(place: Place) -> None:
    place.spools()
    place.copy()
    with Vault(str(place.vault), "s1"):
        assert place.collect() == []
    assert (place.attempt / "out").exists()


def test_what_the_vault_lacks_can_be_completed_first(place: Place) -> None:
    place.spools()
    retention.complete(str(place.sessions), folded(OVER))
    assert len(place.look().items) == 2


def test_an_edition_goes_when_a_newer_one_has_all_of_it_and_not_otherwise(place: Place) -> None:
    for data in (b"one, two", b"one", b"one, two, three", b"other"):
        place.record.write_bytes(data)
        place.copy()
    kept_data = [one.read().data for one in editions(str(place.vault))]
    assert kept_data == [b"one, two", b"one, two, three", b"other"]
    place.collect()
    assert [one.read().data for one in editions(str(place.vault))] == [b"one, two, three", b"other"]


@given(st.lists(st.binary(max_size=6), min_size=1, max_size=6))
@settings(max_examples=50)
def test_collecting_never_takes_the_only_copy(tmp_path_factory: pytest.TempPathFactory, seen: list[bytes]) -> None:
    place = Place(tmp_path_factory.mktemp("gc"))
    for data in seen:
        place.record.write_bytes(data)
        place.copy()
        kept.keep(str(place.vault), kept.Note("tok", str(place.record), 1.0, True), data, b"after")
    place.spools(b"x" * len(seen))
    place.copy()
    place.collect(older_than=1)
    place.collect(older_than=1)
    left = [one.read().data for one in editions(str(place.vault)) if one.source.startswith("transcript")]
    left += [Path(one.before).read_bytes() for one in kept.listing(str(place.vault))]
    assert all(any(data in one for one in left) for data in seen)
    assert kept_spool(str(place.attempt), "out") == b"x" * len(seen)


def test_originals_stay_unless_they_are_old_and_contained(place: Place) -> None:
    place.record.write_bytes(b"torn")
    place.copy()
    note = kept.Note("tok", str(place.record), NOW - 10 * DAYS, True)
    kept.keep(str(place.vault), note, b"torn", b"whole")
    kept.keep(str(place.vault), note, b"nowhere else", b"whole")
    assert place.collect() == []
    assert place.collect(older_than=11) == []
    assert [item.what for item in place.collect(older_than=9)] == ["original"]
    (left,) = kept.listing(str(place.vault))
    assert Path(left.before).read_bytes() == b"nowhere else"


FAILED: list[f.AnyFact] = [
    created(),
    f.LaunchIntended(at=3.0, attempt=1, generation=1, how="new"),
    f.LaunchFailed(at=4.0, attempt=1, message="no such program"),
    f.StopAsked(at=4.0, by="user", to="failed"),
]


def test_a_session_goes_only_if_it_is_over_old_asked_for_and_empty(place: Place) -> None:
    assert place.look(folded(FAILED)).items == ()
    assert place.look(folded(FAILED), older_than=2000).items == ()
    assert place.look(folded(FAILED[:2]), older_than=1).items == ()
    with_token = [*OVER[:-1], f.StopAsked(at=9.0, by="user", to="completed"), OVER[-1]]
    found = place.look(folded(with_token), older_than=1)
    assert (found.items, [one.why for one in found.kept]) == ((), ["it holds a token"])
    (item,) = place.collect(folded(FAILED), older_than=1)
    assert (item.what, place.own.exists()) == ("session", False)


def test_a_session_that_said_anything_stays(place: Place) -> None:
    place.spools()
    found = place.look(folded(FAILED), older_than=1)
    assert "it holds the only copy of a conversation" in [one.why for one in found.kept]


def test_with_a_quota_no_more_goes_than_has_to(place: Place) -> None:
    place.spools(b"x" * 100_000)
    place.copy()
    found = place.look()
    assert enough(found, None) == list(found.items)
    assert enough(found, found.total) == []
    assert len(enough(found, found.total - 1)) == 1
    assert enough(found, 0) == list(found.items)
    os.utime(place.attempt / "in", (1, 1))
    assert Path(place.look().items[0].path).name == "in"
