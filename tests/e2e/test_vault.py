"""The vault from the command line: verify, diff, gc with no daemon; and records that were harmed while nobody ran."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rekindle.adapters.session_folder.layout import session_folder
from rekindle.adapters.sql_store.open import open_store
from rekindle.adapters.vault import kept
from rekindle.adapters.vault.vault import copies, editions, transcript
from rekindle.core.vault import frames
from tests.e2e.conftest import Scratch
from tests.e2e.daemon import Machine, until
from tests.sessions import commit, folded
from tests.vault.place import OVER, Place


@pytest.fixture
def place(scratch: Scratch) -> Place:
    state = scratch.home / ".local" / "state" / "rekindle"
    state.mkdir(parents=True)
    made = Place(state)
    made.spools()
    made.copy()
    store = open_store(state / "store.db", now=datetime.now(UTC)).store
    commit(store, folded(OVER), OVER, generation=9)
    store.close()
    return made


@pytest.mark.usefixtures("place")
def test_verify_says_that_all_is_well(scratch: Scratch) -> None:
    assert "s1: 2 copies, 5000 bytes, whole" in scratch.ok("vault", "verify")
    assert scratch.json("vault", "verify", "s1")["whole"] is True


def test_verify_names_the_place_of_a_flipped_byte(scratch: Scratch, place: Place) -> None:
    path = Path(next(one.path for one in editions(str(place.vault)) if one.source == "out-1"))
    data = bytearray(path.read_bytes())
    data[-2000] ^= 1
    path.write_bytes(data)
    done = scratch.run("vault", "verify")
    assert done.returncode == 1
    assert str(path) in done.stdout
    assert "a frame with a wrong checksum" in done.stdout
    path.write_bytes(b"anything" * 20)
    assert scratch.run("vault", "verify", "s1", "--json").returncode == 1
    assert scratch.run("vault", "verify", "nobody").returncode == 2


def test_verify_names_what_it_cannot_read_and_checks_the_rest(scratch: Scratch, place: Place) -> None:
    path = Path(next(one.path for one in editions(str(place.vault)) if one.source == "in-1"))
    path.unlink()
    path.mkdir()
    done = scratch.run("vault", "verify")
    assert done.returncode == 1
    assert "s1: 2 copies" in done.stdout
    assert f"{path}: it cannot be read (not a regular file)" in done.stdout
    assert scratch.json("gc")["removed"]
    shutil.rmtree(place.vault)
    place.vault.write_text("no folder")
    assert f"{place.vault}: no folder" in scratch.run("vault", "verify").stdout


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        ("cut at a frame", "it is cut short"),
        ("cut inside a frame", "it is cut short"),
        ("emptied", "it is empty"),
        ("deleted", "it is gone"),
        ("another copy", "another copy was put in its place"),
        ("the whole vault", "it is gone"),
    ],
)
def test_verify_finds_copies_that_were_cut_emptied_deleted_or_exchanged(
    scratch: Scratch, place: Place, harm: str, told: str
) -> None:
    (place.attempt / "out").write_bytes(b"said\n" * 2000)
    place.copy()
    path = Path(next(one.path for one in editions(str(place.vault)) if one.source == "out-1"))
    assert scratch.json("vault", "verify")["whole"] is True
    data = path.read_bytes()
    ends = [one.end for one in frames.scan(data).frames]
    match harm:
        case "cut at a frame":
            path.write_bytes(data[: ends[-2]])
        case "cut inside a frame":
            path.write_bytes(data[: ends[-1] - 10])
        case "emptied":
            path.write_bytes(b"")
        case "deleted":
            path.unlink()
        case "another copy":
            head = frames.scan(data).frames[0]
            lies, before = b"", bytes.fromhex(head.digest)
            for at in (0, 5000):  # as long as the copy, and whole by itself
                lies += frames.encode(frames.VaultFrame(frames.Kind.BYTES, 1, "out-1", at, b"lies\n" * 1000), before)
                before = lies[-frames.DIGEST :]
            path.write_bytes(data[: head.end] + lies)
        case _:
            shutil.rmtree(place.vault)
    done = scratch.run("vault", "verify")
    assert done.returncode == 1
    assert f"{path}: {told}" in done.stdout
    assert "damaged" in done.stdout
    assert scratch.run("vault", "verify", "s1", "--json").returncode == 1


def test_verify_says_so_when_the_list_of_copies_itself_is_lost(scratch: Scratch, place: Place) -> None:
    (place.own / "vault.json").write_bytes(b"{")
    done = scratch.run("vault", "verify")
    assert (done.returncode, "the list of copies and their lengths cannot be read" in done.stdout) == (1, True)
    (place.own / "vault.json").unlink()
    assert "the list of copies and their lengths is gone" in scratch.run("vault", "verify").stdout


def test_what_gc_removes_is_not_missed_afterwards(scratch: Scratch, place: Place) -> None:
    for data in (b"one", b"two, longer", b"one, and two, longer"):
        (place.record).write_bytes(data)
        place.copy()
    assert len([one for one in editions(str(place.vault)) if one.source.startswith("transcript")]) == 3
    assert [item["what"] for item in scratch.json("gc")["removed"]].count("edition") == 2
    assert scratch.json("vault", "verify")["whole"] is True


def test_diff_shows_what_a_pre_flight_changed(scratch: Scratch, place: Place) -> None:
    assert "No pre-flight" in scratch.run("vault", "diff", "s1").stderr
    note = kept.Note("tok", "/home/me/tok.jsonl", 1.0, True)
    kept.keep(str(place.vault), note, b"one\nto\x1b[2Jrn", b"one\ntwo\n")
    told = scratch.ok("vault", "diff", "s1").splitlines()
    assert json.loads(scratch.ok("vault", "diff", "s1", "--json"))["diff"].splitlines() == told
    assert "-to\\x1b[2Jrn" in told
    assert "+two" in told


def test_gc_gives_back_what_the_vault_has_and_logs_still_tell_it(scratch: Scratch, place: Place) -> None:
    before = scratch.ok("logs", "s1")
    assert "said" in before
    dry = scratch.json("gc", "--dry-run")
    assert (place.attempt / "out").exists()
    done = scratch.json("gc")
    assert [item["path"] for item in done["removed"]] == [item["path"] for item in dry["removed"]]
    assert not (place.attempt / "out").exists()
    assert scratch.ok("logs", "s1") == before
    assert scratch.json("gc")["removed"] == []


@pytest.mark.usefixtures("place")
def test_gc_with_a_quota_says_when_the_rest_is_needed(scratch: Scratch) -> None:
    assert scratch.json("gc", "--quota", "1G")["removed"] == []
    told = scratch.json("gc", "--quota", "1K")
    assert told["over_quota"] is True
    assert "everything else is needed" in scratch.ok("gc", "--quota", "1K")
    assert scratch.run("gc", "--quota", "lots").returncode == 2
    assert scratch.run("gc", "--older-than", "-1").returncode == 2


def test_with_no_sessions_there_is_nothing_to_do(scratch: Scratch) -> None:
    assert "0 bytes given back" in scratch.ok("gc")
    assert "Nothing is kept yet" in scratch.ok("vault", "verify")


@pytest.fixture
def machine() -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        made = Machine(Path(folder, "home"), Path(folder, "work"))
        made.home.mkdir()
        made.work.mkdir()
        yield made
        made.clean_up()


@pytest.mark.parametrize("harm", ["deleted", "shortened", "wiped", "torn"])
def test_an_agent_whose_record_was_harmed_goes_on_in_the_same_conversation(machine: Machine, harm: str) -> None:
    session = machine.begin("say the beginning", "stream 400 0.05 word", "say the end")
    machine.until_said(session, "word3")
    machine.kill(machine.pids(session)["agent"])
    machine.until_status(session, "interrupted")
    record = next((machine.home / ".local" / "state" / "rekindle" / "scripted").glob("*.jsonl"))
    data = record.read_bytes()
    vault = Path(session_folder(machine.places.sessions, session).vault)
    until(lambda: data in copies(str(vault), transcript(str(record)).name), "a copy of the record")
    if harm == "deleted":
        shutil.rmtree(record.parent)
    else:
        record.write_bytes({"shortened": data[:150], "wiped": bytes(len(data)), "torn": data + b'{"kind":'}[harm])
    assert "the same conversation" in machine.ok("resume", session)
    machine.until_said(session, "was started, its outcome is unknown")
    assert record.read_bytes().startswith(data)
    assert machine.show(session)["receipt"]["kind"] == "same"
    assert machine.ok("vault", "diff", session).startswith("---")
    assert "whole" in machine.ok("vault", "verify", session)
