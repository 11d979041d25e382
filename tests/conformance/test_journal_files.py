"""The promises of journals as files. Nobody has a fake of them, so the files alone are held to them."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from rekindle.adapters.journal_file.files_here import JournalFilesHere
from rekindle.ports.errors import NoSuchFeature
from rekindle.ports.journal_files import JournalFiles
from tests.journals import interrupted_in_wave_two, journal

LINES = interrupted_in_wave_two()


@pytest.fixture
def files(tmp_path: Path) -> JournalFiles:
    return JournalFilesHere(str(tmp_path / "state"), str(tmp_path / "cache"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    made = folder / "events.jsonl"
    made.write_bytes(journal(*LINES))
    return made


def test_a_journal_is_meant_by_its_file_and_by_its_folder(files: JournalFiles, path: Path) -> None:
    assert files.place_of(str(path)) == files.place_of(str(path.parent)) == path
    for wrong in (str(path.parent / "no"), str(path.parent.parent), "a\0b"):
        with pytest.raises(NoSuchFeature):
            files.place_of(wrong)


def test_what_a_journal_says_is_read_through_a_link_too(files: JournalFiles, path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(path)
    for one in (path, link):
        assert files.state(one).lines == len(LINES)
    with pytest.raises(NoSuchFeature):
        files.state(tmp_path / "no")


def test_every_line_is_looked_at_and_nothing_is_changed(files: JournalFiles, path: Path) -> None:
    found = files.verify(path)
    assert (found.lines, found.events, found.is_whole) == (len(LINES), len(LINES), True)
    path.write_bytes(journal(LINES[0], b"\0\0", *LINES[1:]) + b'{"torn')
    before = path.read_bytes()
    found = files.verify(path)
    assert [line for line, _, _ in found.damaged] == [2, len(LINES) + 2]
    assert (found.torn_tail, found.is_whole, found.is_sound) == (True, False, False)
    assert path.read_bytes() == before


def test_a_repair_takes_out_what_cannot_be_read_and_keeps_the_original(files: JournalFiles, path: Path) -> None:
    assert files.repair(path)[1] is None
    damaged = journal(LINES[0], b"\0\0", *LINES[1:])
    path.write_bytes(damaged)
    found, original = files.repair(path)
    assert [line for line, _, _ in found.damaged] == [2]
    assert original is not None
    assert original.read_bytes() == damaged
    assert path.read_bytes() == journal(*LINES)
    assert files.repair(path)[1] is None


def test_a_file_is_followed_from_its_last_lines_on(files: JournalFiles, path: Path) -> None:
    assert list(files.grow(path, 2, once=True)) == LINES[-2:]
    assert list(files.grow(path, 99, once=True)) == LINES
    growing = files.grow(path, 1, once=False)
    assert next(growing) == LINES[-1]
    with path.open("ab") as file:
        file.write(LINES[0] + b"\n" + LINES[1] + b"\n")
    assert list(itertools.islice(growing, 2)) == LINES[:2]
    path.unlink()
    path.write_bytes(journal(LINES[3]))
    assert next(growing) == LINES[3], "a new file is read from its start"
