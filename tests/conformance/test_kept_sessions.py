"""The promises of sessions that are read without the daemon. Nobody has a fake of them: the store is held to them."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rekindle import files
from rekindle.adapters.session_folder.kept import SessionsOnDisk
from rekindle.adapters.sql_store.codec import decode_fact
from rekindle.adapters.sql_store.open import open_store
from rekindle.adapters.workplace.workplace import LocalWorkplace
from rekindle.core.daemon_lives import SUBJECT, DaemonBegan
from rekindle.core.inbox.told import TellingFailed, TellingMeant, Tellings, subject
from rekindle.core.session import facts as f
from rekindle.core.streams import TELLING
from rekindle.places import Places
from rekindle.ports.errors import RekindleError
from rekindle.ports.kept_sessions import KeptSessions
from rekindle.ports.store import StoreChange, commit_one
from rekindle.settings import load
from tests.sessions import commit, created, folded


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(load({"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")}, None))


@pytest.fixture
def kept(places: Places) -> KeptSessions:
    return SessionsOnDisk(places)


def fill(places: Places) -> None:
    places.make()
    store = open_store(Path(places.store), now=datetime(2026, 1, 2, tzinfo=UTC)).store
    for name, at in (("young", 2.0), ("old", 1.0)):
        told: list[f.AnyFact] = [created(name, at=at), f.PromptQueued(at=3.0, prompt="p", text="do it")]
        commit(store, folded(told), told)
    store.close()


def test_without_a_store_there_are_no_sessions(kept: KeptSessions) -> None:
    assert not kept.is_there()
    assert not kept.has_folders()
    assert (kept.rows(), kept.bodies(), kept.facts("old")) == ([], [], [])
    assert not kept.is_alive("old")
    assert kept.daemon_lives() is None
    assert not kept.has_keeper("old", 1)
    assert (dict(kept.begun("old")), kept.environment("old")) == ({}, None)
    assert kept.folders() == []


def test_sessions_and_facts_are_read_in_their_order(kept: KeptSessions, places: Places) -> None:
    fill(places)
    assert kept.is_there()
    assert [row["id"] for row in kept.rows()] == ["old", "young"]
    assert [json.loads(body)["id"] for body in kept.bodies()] == ["old", "young"]
    assert [type(decode_fact(one)) for one in kept.facts("old")] == [f.Created, f.PromptQueued]
    assert kept.facts("nobody") == []
    assert dict(kept.hosts()) == {}, "one machine has them all"


def test_facts_have_their_places_subjects_and_kinds(kept: KeptSessions, places: Places) -> None:
    assert kept.placed("session") == []
    fill(places)
    found = kept.placed("session", "old")
    assert [(type(fact), about) for _, about, fact in found] == [(f.Created, "old"), (f.PromptQueued, "old")]
    assert [seq for seq, _, _ in found] == sorted({seq for seq, _, _ in found})
    begun = kept.placed("session", kinds=["created"])
    assert [about for _, about, _ in begun] == ["young", "old"]
    assert kept.placed("job") == []


def test_daemons_that_came_and_went_are_remembered(kept: KeptSessions, places: Places) -> None:
    fill(places)
    assert kept.daemon_lives() is None
    store = open_store(Path(places.store), now=datetime(2026, 1, 2, tzinfo=UTC)).store
    facts = [DaemonBegan(at=1.0, pid=7, version="1"), DaemonBegan(at=5.0, pid=8, version="2")]
    commit_one(store, StoreChange("machine", SUBJECT, facts))
    store.close()
    lives = kept.daemon_lives()
    assert lives is not None
    assert (lives.pid, lives.version, lives.is_serving, lives.sudden) == (8, "2", True, (5.0,))


def test_what_people_were_told_is_remembered(kept: KeptSessions, places: Places) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC).timestamp()
    assert kept.tellings(now) == Tellings()
    fill(places)
    store = open_store(Path(places.store), now=datetime(2026, 1, 2, tzinfo=UTC)).store
    earlier = TellingMeant(at=now - 86400, message="n1", keys=["q1"], receivers=["ntfy"])
    commit_one(store, StoreChange(TELLING.kind, subject(earlier.at), [earlier]))
    failed = TellingFailed(at=now, message="n1", receiver="ntfy", why="no", final=True)
    commit_one(store, StoreChange(TELLING.kind, subject(failed.at), [failed]))
    store.close()
    found = kept.tellings(now)
    assert (list(found.keys), found.troubles["ntfy"].lost, found.pending) == (["q1"], 1, {})


def test_what_was_written_down_at_the_beginning_is_there(kept: KeptSessions, places: Places) -> None:
    fill(places)
    LocalWorkplace(places.sessions, places.sockets).prepare(created("old"), {"KEY": "value"})
    assert kept.has_folders()
    assert kept.begun("old")["session"] == "old"
    assert kept.environment("old") == {"KEY": "value"}
    assert Path(kept.folder("old")).is_dir()
    LocalWorkplace(places.sessions, places.sockets).prepare(created("an"), {})
    Path(places.sessions, "a file").write_text("")
    assert kept.folders() == ["an", "old"]


def test_a_record_is_read_as_it_lies_there(kept: KeptSessions, tmp_path: Path) -> None:
    (tmp_path / "record").write_bytes(b"\0said")
    assert kept.record(str(tmp_path / "record")) == b"\0said"
    assert kept.record(str(tmp_path / "gone")) is None
    assert kept.record(str(tmp_path)) is None


def test_a_session_lives_as_long_as_somebody_holds_its_lock(kept: KeptSessions, places: Places) -> None:
    fill(places)
    os.makedirs(kept.folder("old"))
    fd = os.open(os.path.join(kept.folder("old"), "lock"), os.O_RDWR | os.O_CREAT)
    assert not kept.is_alive("old")
    assert files.lock_within(fd, 1.0)
    assert kept.is_alive("old")
    assert not kept.has_keeper("old", 1), "that is no keeper"
    os.close(fd)
    assert not kept.is_alive("old")


def test_a_store_that_cannot_be_read_is_an_error_that_says_what_to_do(kept: KeptSessions, places: Places) -> None:
    places.make()
    Path(places.store).write_bytes(b"no database at all" * 100)
    for read in (kept.rows, kept.bodies, lambda: kept.facts("old")):
        with pytest.raises(RekindleError) as raised:
            read()
        assert raised.value.hint
