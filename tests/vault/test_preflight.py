"""The pre-flight on real files: modes, folders, what is kept, and what happens when the disk says no."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from rekindle import files
from rekindle.adapters.session_folder.records import VaultRecords
from rekindle.adapters.vault import kept
from rekindle.adapters.vault.vault import Vault, copies, editions, transcript
from rekindle.core.session import facts as f
from rekindle.ports.records import Checked, RecordsError
from tests.records import LineDialect
from tests.sessions import created, folded

TOKEN = "tok"
SESSION = folded(
    [
        created(),
        f.LaunchIntended(at=3.0, attempt=1, generation=1, how="new"),
        f.Launched(at=4.0, attempt=1, folder="/keep/1", pid=42),
        f.Opened(at=5.0, attempt=1, how="new", token=TOKEN),
    ]
)
GOOD = b"u:one;\na:first;\n"


class Place:
    def __init__(self, folder: Path) -> None:
        self.home = folder / "home" / "deep"
        self.home.mkdir(parents=True)
        self.file = self.home / f"{TOKEN}.txt"
        self.sessions = folder / "sessions"
        self.records = VaultRecords(
            str(self.sessions), lambda _: {"AGENT_HOME": str(self.home)}, {"scripted": LineDialect()}
        )
        self.vault = Path(self.records.folder(SESSION.id))

    def check(self) -> Checked:
        return asyncio.run(self.records.check(SESSION, TOKEN))

    def copy(self) -> None:
        asyncio.run(self.records.copy(SESSION))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = Place(tmp_path)
    yield found
    found.records.close()


def test_the_original_is_kept_and_its_mode_stays(place: Place) -> None:
    place.file.write_bytes(GOOD + b"u:tor")
    place.file.chmod(0o640)
    found = place.check()
    assert found.kept is not None
    assert Path(found.kept).read_bytes() == GOOD + b"u:tor"
    assert stat.S_IMODE(os.stat(found.kept).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(found.kept)).st_mode) == 0o700
    assert stat.S_IMODE(place.file.stat().st_mode) == 0o640
    assert place.file.read_bytes() == GOOD
    assert os.listdir(place.home) == [place.file.name]
    assert "-u:tor" in kept.difference(place.records.folder(SESSION.id)).splitlines()


def test_a_folder_that_was_swept_away_is_made_again(place: Place) -> None:
    place.file.write_bytes(GOOD)
    place.copy()
    place.file.unlink()
    place.home.rmdir()
    assert place.check().state == "restored"
    assert place.file.read_bytes() == GOOD
    assert stat.S_IMODE(place.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.home.stat().st_mode) == 0o700


def test_a_link_stays_a_link(place: Place) -> None:
    real = place.home / "elsewhere.txt"
    real.write_bytes(GOOD + b"u:tor")
    place.file.symlink_to(real)
    assert place.check().state == "repaired"
    assert place.file.is_symlink()
    assert real.read_bytes() == GOOD


def test_what_was_repaired_is_copied_too_and_the_damaged_edition_stays(place: Place) -> None:
    place.file.write_bytes(GOOD + b"u:tor")
    place.check()
    kept = [one.read().data for one in editions(str(place.vault))]
    assert kept == [GOOD + b"u:tor", GOOD]


def test_a_check_that_died_before_the_replacement_is_done_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.file.write_bytes(GOOD + b"u:tor")
    real = files.replace
    left = 0

    def dying(path: str | os.PathLike[str], data: bytes, *, mode: int = 0o644, durable: bool = False) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(28, "No space left on device")
        real(path, data, mode=mode, durable=durable)

    monkeypatch.setattr(files, "replace", dying)
    for allowed in range(4):
        left = allowed
        with pytest.raises(RecordsError, match="No space"):
            place.check()
        assert place.file.read_bytes() == GOOD + b"u:tor"
    monkeypatch.setattr(files, "replace", real)
    found = place.check()
    assert found.state == "repaired"
    assert found.kept is not None
    assert Path(found.kept).read_bytes() == GOOD + b"u:tor"


def test_a_record_that_cannot_be_read_is_an_error_that_says_so(place: Place) -> None:
    place.file.mkdir()
    with pytest.raises(RecordsError, match=r"tok\.txt"):
        place.check()


def test_what_is_no_file_makes_way_for_the_copy_and_is_kept(place: Place) -> None:
    place.file.write_bytes(GOOD)
    place.copy()
    for number, make in ((1, os.mkdir), (2, os.mkfifo)):
        place.file.unlink()
        make(place.file)
        place.copy()
        found = place.check()
        aside = place.home / f"{TOKEN}.txt.aside-{number}"
        assert found.state == "restored"
        assert str(aside) in found.notes[0]
        assert place.file.read_bytes() == GOOD
        assert aside.exists()


def test_an_edition_that_cannot_be_read_stays_and_costs_nothing_else(place: Place) -> None:
    place.file.write_bytes(GOOD)
    place.copy()
    [first] = editions(str(place.vault))
    os.unlink(first.path)
    os.mkdir(first.path)
    again = VaultRecords(str(place.sessions), lambda _: {"AGENT_HOME": str(place.home)}, {"scripted": LineDialect()})
    assert asyncio.run(again.check(SESSION, TOKEN)).state == "intact"
    assert os.path.isdir(first.path)
    assert list(copies(str(place.vault), first.source)) == [GOOD]


def test_everything_that_was_said_is_copied_over_all_attempts(place: Place) -> None:
    own = place.sessions / SESSION.id
    for name in ("out", "in"):
        (own / "1").mkdir(parents=True, exist_ok=True)
        (own / "1" / name).write_bytes(name.encode() * 10)
    place.file.write_bytes(GOOD)
    place.copy()
    (own / "1" / "out").write_bytes(b"out" * 20)
    place.copy()
    kept = {one.source: one.read().data for one in editions(str(place.vault))}
    assert kept == {"out-1": b"out" * 20, "in-1": b"in" * 10, transcript(str(place.file)).name: GOOD}


def test_what_a_check_found_is_known_to_the_next_daemon(place: Place) -> None:
    place.file.write_bytes(GOOD)
    found = place.check()
    again = VaultRecords(str(place.sessions), lambda _: {"AGENT_HOME": str(place.home)}, {"scripted": LineDialect()})
    assert again.checked(SESSION, TOKEN) == found
    place.file.write_bytes(GOOD + b"u:two;\n")
    assert asyncio.run(again.compare(SESSION, TOKEN, found)).extends is True


def test_a_rewritten_record_with_everything_in_it_is_still_the_same(place: Place) -> None:
    """An agent may close its torn line, or leave NULs out, and write the file anew."""
    place.file.write_bytes(GOOD)
    before = place.check()
    place.file.write_bytes(b"\n" + GOOD + b"u:two;\n")
    assert asyncio.run(place.records.compare(SESSION, TOKEN, before)).extends is True


def test_a_vault_that_somebody_holds_makes_the_check_wait(place: Place) -> None:
    place.file.write_bytes(GOOD)

    async def check() -> Checked:
        holder = Vault(str(place.vault), SESSION.id)
        work = asyncio.ensure_future(place.records.check(SESSION, TOKEN))
        done, _ = await asyncio.wait([work], timeout=0.2)
        assert not done
        holder.close()
        return await work

    assert asyncio.run(check()).state == "intact"
    assert list(copies(str(place.vault), transcript(str(place.file)).name)) == [GOOD]
