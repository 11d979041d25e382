"""Copies in the vault: whole, in editions, crash-safe, and for this user alone."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekindle.adapters.vault import edition
from rekindle.adapters.vault.edition import EditionCalls
from rekindle.adapters.vault.vault import Source, Vault, copies, editions, transcript
from rekindle.core.vault import frames
from rekindle.ports.errors import OwnedError

ROOT = Path(__file__).parents[2]


class Place:
    """A session's folder with a source in it."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "record"
        self.vault = folder / "s1" / "vault"
        self.source = transcript(str(self.file))

    def open(self, system: EditionCalls | None = None) -> Vault:
        return Vault(str(self.vault), "s1", lambda: 1.0, system=system)

    def copy(self, *, thorough: bool = False) -> int:
        with self.open() as vault:
            return vault.copy(self.source, thorough=thorough)

    def kept(self) -> list[bytes]:
        return [one.read().data for one in editions(str(self.vault))]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_what_is_new_is_copied_once(place: Place) -> None:
    place.file.write_bytes(b"one")
    assert (place.copy(), place.copy()) == (3, 0)
    place.file.write_bytes(b"one, two")
    assert place.copy() == 5
    assert place.kept() == [b"one, two"]
    assert list(copies(str(place.vault), place.source.name)) == [b"one, two"]


def test_a_source_that_is_not_there_is_no_error(place: Place) -> None:
    assert place.copy() == 0
    assert editions(str(place.vault)) == []


def test_folder_and_files_are_for_this_user_alone(place: Place) -> None:
    place.file.write_bytes(b"x")
    old = os.umask(0)
    try:
        place.copy()
    finally:
        os.umask(old)
    assert stat.S_IMODE(place.vault.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in place.vault.iterdir()} == {0o600}


@pytest.mark.parametrize("then", [b"", b"12", b"other", b"other and more", b"12345X789"])
def test_a_source_that_is_not_a_continuation_begins_a_new_edition_and_the_old_one_stays(
    place: Place, then: bytes
) -> None:
    place.file.write_bytes(b"123456789")
    with place.open() as vault:
        vault.copy(place.source)
        place.file.write_bytes(then)
        vault.copy(place.source)
    assert place.kept() == [b"123456789", then]


def test_a_replaced_source_that_begins_in_the_same_way_goes_on(place: Place) -> None:
    place.file.write_bytes(b"one")
    with place.open() as vault:
        vault.copy(place.source)
        other = place.file.with_name("other")
        other.write_bytes(b"one, two")
        other.replace(place.file)
        vault.copy(place.source)
    assert place.kept() == [b"one, two"]


def test_a_change_in_the_middle_that_the_quick_look_misses_is_seen_by_the_thorough_one(place: Place) -> None:
    edge = edition.EDGE
    data = bytes(edge) + b"middle" + bytes(edge)
    place.file.write_bytes(data)
    with place.open() as vault:
        vault.copy(place.source)
        changed = data.replace(b"middle", b"MIDDLE") + b"more"
        with place.file.open("r+b") as file:
            file.write(changed)
        vault.copy(place.source)
        assert place.kept() == [data + b"more"]
        vault.copy(place.source, thorough=True)
    assert place.kept() == [data + b"more", changed]


def test_a_replaced_source_is_compared_in_full(place: Place) -> None:
    edge = edition.EDGE
    data = bytes(edge) + b"middle" + bytes(edge)
    place.file.write_bytes(data)
    with place.open() as vault:
        vault.copy(place.source)
        other = place.file.with_name("other")
        other.write_bytes(data.replace(b"middle", b"MIDDLE"))
        other.replace(place.file)
        vault.copy(place.source)
    assert place.kept() == [data, data.replace(b"middle", b"MIDDLE")]


def test_a_long_torn_end_is_cut_off_by_a_short_frame(place: Place) -> None:
    place.file.write_bytes(b"one")
    place.copy()
    (only,) = editions(str(place.vault))
    torn = frames.encode(frames.VaultFrame(frames.Kind.BYTES, 0, "x", 3, bytes(5000)), frames.START)[:3000]
    with open(only.path, "ab") as file:
        file.write(torn)
    place.file.write_bytes(b"one, two")
    place.copy()
    found = only.read()
    assert (found.data, found.is_whole, found.scan.torn) == (b"one, two", True, None)


def test_two_writers_are_not_let_in(place: Place) -> None:
    with place.open(), pytest.raises(OwnedError):
        place.open()
    place.open().close()


def test_a_damaged_edition_is_left_as_it_is_and_a_new_one_begun(place: Place) -> None:
    place.file.write_bytes(b"one")
    place.copy()
    (only,) = editions(str(place.vault))
    data = bytearray(Path(only.path).read_bytes())
    data[-40] ^= 1
    Path(only.path).write_bytes(data)
    place.file.write_bytes(b"one, two")
    place.copy()
    assert Path(only.path).read_bytes() == data
    assert list(copies(str(place.vault), place.source.name)) == [b"one, two"]


@given(st.lists(st.one_of(st.binary(max_size=30), st.none()), max_size=8))
@settings(max_examples=60)
def test_whatever_a_source_was_when_it_was_copied_is_there(
    tmp_path_factory: pytest.TempPathFactory, seen: list[bytes | None]
) -> None:
    place = Place(tmp_path_factory.mktemp("any"))
    for data in seen:
        if data is None:
            place.file.unlink(missing_ok=True)
        else:
            place.file.write_bytes(data)
        place.copy()
    for data in seen:
        assert data is None or any(one.startswith(data) for one in place.kept())
    last = next((data for data in reversed(seen) if data is not None), None)
    if last is not None:
        assert place.kept()[-1] == last


class Crash(Exception):
    """Power is gone: nothing after this call happened."""


class Dying(EditionCalls):
    """Dies at the n-th call; a write may have got half-way."""

    def __init__(self, at: int, half: float) -> None:
        self.calls = 0
        self._at = at
        self._half = half
        self.write = self._write
        self.sync = self._sync
        self.truncate = self._truncate

    def _count(self) -> bool:
        self.calls += 1
        return self.calls == self._at

    def _write(self, fd: int, data: bytes, at: int) -> int:
        if self._count():
            os.pwrite(fd, data[: int(len(data) * self._half)], at)
            raise Crash
        return os.pwrite(fd, data[: max(1, len(data) // 2)], at)  # and short

    def _sync(self, fd: int) -> None:
        if self._count():
            raise Crash
        os.fdatasync(fd)

    def _truncate(self, fd: int, size: int) -> None:
        if self._count():
            raise Crash
        os.ftruncate(fd, size)


@pytest.mark.parametrize("half", [0.0, 0.5, 1.0])
def test_a_copier_that_dies_between_any_two_calls_leaves_a_vault_that_goes_on(tmp_path: Path, half: float) -> None:
    at, died = 0, True
    while died:
        at += 1
        died = False
        place = Place(tmp_path / str(at))
        place.file.parent.mkdir()
        acknowledged = b""
        try:
            with place.open(Dying(at, half)) as vault:
                for size in (5, 20, 60):
                    place.file.write_bytes(b"x" * size)
                    vault.copy(place.source)
                    vault.sync()
                    acknowledged = b"x" * size
        except Crash:
            died = True
        assert any(one.startswith(acknowledged) for one in place.kept()) or not acknowledged
        place.file.write_bytes(b"x" * 60 + b"end")
        place.copy()
        assert place.kept()[-1] == b"x" * 60 + b"end"
        assert all(one.read().scan.damage == () for one in editions(str(place.vault)))
    assert at > 10


def test_a_full_disk_takes_nothing_away_and_the_copy_is_completed_later(place: Place) -> None:
    class Full(EditionCalls):
        full = False

        def __init__(self) -> None:
            self.write = self._write

        def _write(self, fd: int, data: bytes, at: int) -> int:
            if self.full:
                os.pwrite(fd, data[:7], at)
                raise OSError(errno.ENOSPC, "No space left on device")
            return os.pwrite(fd, data, at)

    system = Full()
    with place.open(system) as vault:
        place.file.write_bytes(b"one")
        vault.copy(place.source)
        system.full = True
        place.file.write_bytes(b"one, two")
        with pytest.raises(OSError, match="No space"):
            vault.copy(place.source)
        assert place.kept() == [b"one"]
        system.full = False
        vault.copy(place.source)
    assert place.kept() == [b"one, two"]
    assert editions(str(place.vault))[0].read().scan.torn is None


_COPIER = """
import sys, time
from rekindle.adapters.vault.vault import Vault, transcript
source = transcript(sys.argv[1])
with Vault(sys.argv[2], "s1") as vault:
    while True:
        vault.copy(source)
        vault.sync()
        print(vault.copied(source), flush=True)
"""


def test_a_copier_that_is_killed_for_real_loses_nothing_that_it_had_acknowledged(place: Place) -> None:
    written = b""
    for turn in range(12):
        copier = subprocess.Popen(
            [sys.executable, "-c", _COPIER, str(place.file), str(place.vault)], stdout=subprocess.PIPE, cwd=ROOT
        )
        assert copier.stdout is not None
        copier.stdout.readline()
        deadline = time.monotonic() + 0.02 * (turn % 5) + 0.01
        with place.file.open("ab") as file:
            while time.monotonic() < deadline:
                block = os.urandom(3000)
                file.write(block)
                file.flush()
                written += block
        copier.send_signal(signal.SIGKILL)
        told = copier.communicate()[0].split()
        acknowledged = int(told[-1]) if told else 0
        kept = place.kept()
        assert len(kept) <= 1
        assert not kept or (len(kept[0]) >= acknowledged and written.startswith(kept[0]))
    place.copy()
    assert place.kept() == [written]
    assert editions(str(place.vault))[0].read().is_whole


def test_a_source_that_is_no_file_is_an_error_and_not_a_hang(place: Place) -> None:
    os.mkfifo(place.file)
    with place.open() as vault, pytest.raises(OSError, match="not a regular file"):
        vault.copy(Source("transcript-00", str(place.file)))
