"""Copies of sessions off their host, and back on another: real folders and repositories, over each kind of blobs."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from rekindle.adapters.blobs.folder import FolderBlobs
from rekindle.adapters.blobs.sealed import SealedBlobs
from rekindle.adapters.git.git import Git
from rekindle.adapters.off_host.off_host import OffHost
from rekindle.adapters.snapshots import taking
from rekindle.adapters.sql_store.open import open_store
from rekindle.adapters.sql_store.shared_blobs import SharedBlobs
from rekindle.adapters.vault.vault import Vault, transcript
from rekindle.agents.registry import record_place
from rekindle.core.off_host import newest
from rekindle.core.session import facts as f
from rekindle.core.session.state import Session
from rekindle.ports.blobs import BlobError, BlobFenced, Blobs
from rekindle.ports.errors import RekindleError
from rekindle.ports.off_host import OffHostCopies
from tests.fakes.blobs import FakeBlobs, Shelf
from tests.postgres import new_database
from tests.sessions import booked, created

NAME, TOKEN = "abc123", "11111111-2222-3333-4444-555555555555"


class Stage:
    """Two hosts with homes of their own, and what both of them reach."""

    def __init__(self, root: Path, blobs: Callable[[], Blobs]) -> None:
        self.root, self.blobs = root, blobs
        self.origin, self.work = root / "origin.git", root / "a" / "project"
        self.work.mkdir(parents=True)
        self.git(self.work, "init", "-q", "-b", "main")
        (self.work / "tracked.txt").write_text("one\n")
        self.git(self.work, "add", "-A")
        self.git(self.work, "commit", "-q", "-m", "begin")
        self.git(root, "clone", "-q", "--bare", str(self.work), str(self.origin))
        self.git(self.work, "remote", "add", "origin", str(self.origin))
        self.git(self.work, "fetch", "-q", "origin")

    def host(self, name: str, source: str | None = None) -> OffHostCopies:
        state = self.root / name / "state"
        (state / "sessions").mkdir(parents=True, exist_ok=True)
        sources = [] if source == "" else [source or f"project={self.origin}"]
        return OffHost(self.blobs(), str(state), name, sources)

    def home(self, name: str) -> dict[str, str]:
        return {"HOME": str(self.root / name / "home"), "PATH": "/usr/bin:/bin"}

    def folder(self, name: str) -> Path:
        return self.root / name / "state" / "sessions" / NAME

    def session(self) -> Session:
        """A session of Claude Code whose agent runs on host a, with its folder and its record."""
        life: list[f.AnyFact] = [
            created(NAME),
            f.LaunchIntended(at=2.0, attempt=1, generation=1, how="new"),
            f.Launched(at=3.0, attempt=1, folder=str(self.folder("a") / "1"), pid=1),
        ]
        where = str(self.work)
        session = replace(booked(life), agent="claude", cwd=where, repository=where, token=TOKEN)
        attempt = self.folder("a") / "1"
        attempt.mkdir(parents=True, exist_ok=True)
        (self.folder("a") / "environment.json").write_text(json.dumps(self.home("a") | {"SECRET": "hush"}))
        (self.folder("a") / "session.json").write_text("{}")
        (attempt / "spec.json").write_text(json.dumps({"argv": ["x"], "env": {"SECRET": "hush"}}))
        (attempt / "out").write_bytes(b"one\n")
        (attempt / "lock").write_text("not to be copied")
        return session

    def record(self, text: bytes) -> None:
        place = record_place("claude", self.home("a"), str(self.work), TOKEN)
        assert place is not None
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        Path(place).write_bytes(text)
        with Vault(str(self.folder("a") / "vault"), NAME) as vault:
            vault.copy(transcript(os.path.realpath(place)))

    @staticmethod
    def git(cwd: Path, *words: str) -> str:
        line = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", *words]
        return subprocess.run(line, cwd=cwd, check=True, capture_output=True, text=True).stdout


@pytest.fixture(params=["fake", "sealed folder", "postgresql"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    shelf, url = Shelf(), ""
    if request.param == "postgresql":
        url = new_database()
        open_store(url, now=datetime.now(UTC), host="a").store.close()
    with ExitStack() as parts:

        def blobs() -> Blobs:
            made: Blobs = FakeBlobs(shelf)
            if url:
                made = SharedBlobs(url)
            elif request.param == "sealed folder":
                made = SealedBlobs(FolderBlobs(str(tmp_path / "mount")), bytes(32))
            parts.callback(made.close)
            return made

        yield Stage(tmp_path, blobs)


def test_only_what_is_new_is_copied_and_nothing_that_another_host_must_not_have(stage: Stage) -> None:
    a, session = stage.host("a"), stage.session()
    stage.record(b'{"type":"user"}\n')
    first = a.ship(session, 5.0)
    assert first.at == 5.0 and first.bytes > 0
    assert a.ship(session, 6.0).bytes == 0
    (stage.folder("a") / "1" / "out").write_bytes(b"one\ntwo\n")
    again = stage.host("a").ship(session, 7.0)
    assert 0 < again.bytes < first.bytes + 4000
    blobs = stage.blobs()
    pieces = blobs.pieces(NAME)
    out = b"".join(blobs.data(NAME, one) for one in pieces if one.name == "1/out@1")
    assert out == b"one\ntwo\n"
    assert {"1/out", "1/spec.json", "session.json", "state"} <= set(newest(one.name for one in pieces))
    assert not [one.name for one in pieces if "lock" in one.name or "environment" in one.name]
    assert b"hush" not in b"".join(blobs.data(NAME, one) for one in pieces)


def test_another_host_gets_the_folder_the_tree_and_the_agents_record_where_it_looks(stage: Stage) -> None:
    a, session = stage.host("a"), stage.session()
    stage.record(b'{"type":"user"}\n')
    (stage.work / "untracked.txt").write_text("precious")
    stage.git(stage.work, "commit", "-q", "--allow-empty", "-m", "never pushed")
    taking.take(str(stage.work), NAME, "a turn ended", 4.0)
    a.ship(session, 5.0)
    stage.record(b'{"type":"user"}\n{"type":"assistant"}\n')
    (stage.work / "later.txt").write_text("too")
    taking.take(str(stage.work), NAME, "a turn ended", 6.0)
    a.ship(session, 7.0)
    b = stage.host("b")
    for attempt in (2, 2):
        found = b.bring(session, attempt, stage.home("b"), 9.0)
    place = record_place("claude", stage.home("b"), found.cwd, TOKEN)
    assert place is not None and Path(place).read_bytes() == b'{"type":"user"}\n{"type":"assistant"}\n'
    assert (stage.folder("b") / "1" / "out").read_bytes() == b"one\n"
    assert found.repository is not None and found.worktree is not None
    assert os.path.realpath(found.repository).startswith(os.path.realpath(stage.root / "b"))
    assert found.branch == f"rekindle/{NAME}"
    last = taking.known(Git(found.repository), taking.namespace_of(NAME))[-1]
    listed = stage.git(Path(found.repository), "ls-tree", "-r", "--name-only", last.id).split()
    assert listed == ["later.txt", "tracked.txt", "untracked.txt"]
    assert "never pushed" in stage.git(Path(found.repository), "log", "--format=%s", last.id)
    assert (found.state.host, found.state.at) == ("a", 7.0)
    assert any("after" in one and "when it was last copied" in one for one in found.missing)
    assert json.loads((stage.folder("b") / "environment.json").read_text())["HOME"] == stage.home("b")["HOME"]
    with pytest.raises(BlobFenced):
        stage.host("a").ship(session, 10.0)
    assert stage.folder("a").is_dir(), "the other host keeps what it had"


def test_a_record_that_was_copied_before_its_conversation_had_a_name_comes_along_all_the_same(stage: Stage) -> None:
    a, session = stage.host("a"), stage.session()
    stage.record(b'{"type":"user"}\n')
    a.ship(replace(session, token=None), 5.0)
    assert a.ship(session, 6.0).bytes > 0, "which conversation it is"
    found = stage.host("b").bring(session, 2, stage.home("b"), 9.0)
    place = record_place("claude", stage.home("b"), found.cwd, TOKEN)
    assert place is not None and Path(place).read_bytes() == b'{"type":"user"}\n'


def test_a_copy_says_no_more_than_the_vault_has_of_the_agents_record(stage: Stage) -> None:
    a, session = stage.host("a"), stage.session()
    place = record_place("claude", stage.home("a"), str(stage.work), TOKEN)
    assert place is not None
    Path(place).parent.mkdir(parents=True)
    Path(place).write_bytes(b'{"type":"user"}\n')
    never = a.ship(session, 5.0)
    assert (never.lags, never.at) == (True, session.created_at), "the vault has nothing of it"
    stage.record(b'{"type":"user"}\n')
    assert not a.ship(session, 6.0).lags
    Path(place).write_bytes(b'{"type":"user"}\n{"type":"assistant"}\n')
    vault = max(one.stat().st_mtime for one in (stage.folder("a") / "vault").iterdir())
    os.utime(place, (vault + 5, vault + 5))
    late = a.ship(session, vault + 9)
    assert (late.lags, late.at) == (True, 6.0), "when it had all of it last"


def test_what_is_added_to_a_record_while_its_copy_is_written_is_not_called_copied(stage: Stage) -> None:
    """The vault has read the record, the agent adds to it, the vault writes: its copy is newer, and lacks that."""
    a, session = stage.host("a"), stage.session()
    stage.record(b'{"type":"user"}\n')
    assert not a.ship(session, 6.0).lags
    place = Path(str(record_place("claude", stage.home("a"), str(stage.work), TOKEN)))
    place.write_bytes(b'{"type":"user"}\n{"type":"assistant"}\n')
    vault = max(one.stat().st_mtime for one in (stage.folder("a") / "vault").iterdir())
    os.utime(place, (vault - 1, vault - 1))
    late = a.ship(session, 7.0)
    assert (late.lags, late.at) == (True, 6.0)
    stage.record(place.read_bytes())
    assert (a.ship(session, 8.0).lags, a.ship(session, 9.0).at) == (False, 9.0)
    stage.record(place.read_bytes() + b'{"type":"more"}\n')
    place.write_bytes(place.read_bytes() + b'{"type":"and more"}\n')
    os.utime(place, (vault - 1, vault - 1))
    assert a.ship(session, 10.0).at == 9.0
    stage.record(place.read_bytes())
    place.write_bytes(place.read_bytes() + b'{"type":"it never rests"}\n')
    os.utime(place, (vault - 1, vault - 1))
    assert a.ship(session, 11.0).at == 10.0, "the copy has what was there at the look before"


def test_a_spool_that_was_cut_short_begins_anew_and_the_newest_counts(stage: Stage) -> None:
    a, session = stage.host("a"), stage.session()
    a.ship(session, 5.0)
    (stage.folder("a") / "1" / "out").write_bytes(b"x\n")
    a.ship(session, 6.0)
    found = stage.host("b").bring(session, 2, stage.home("b"), 9.0)
    assert (stage.folder("b") / "1" / "out").read_bytes() == b"x\n"
    assert any("record" in one for one in found.missing), "it was never copied, and that is said"


def test_what_cannot_be_taken_over_is_said_and_can_be_tried_again(stage: Stage) -> None:
    a, session = stage.host("a"), stage.session()
    never = stage.host("b").bring(session, 1, stage.home("b"), 9.0)
    assert never.state.token is None and any("nothing of it was copied" in one for one in never.missing)
    a.ship(session, 5.0)
    with pytest.raises(RekindleError, match="not set"):
        stage.host("b", "").bring(session, 2, stage.home("b"), 9.0)
    with pytest.raises(RekindleError, match="cannot be fetched"):
        stage.host("b", f"*={stage.root}/nowhere/{{name}}.git").bring(session, 2, stage.home("b"), 9.0)
    assert stage.host("b").bring(session, 2, stage.home("b"), 9.0).state.host == "a"


def test_a_session_that_was_lost_before_its_first_copy_begins_at_the_commit_of_its_job(stage: Stage) -> None:
    work = Path(str(stage.session().repository))
    begun = stage.git(work, "rev-parse", "origin/main").strip()
    session = replace(stage.session(), worktree=str(work / ".worktrees" / "j"), branch="rekindle/j")
    for _ in range(2):  # who is killed in between does it again
        found = stage.host("b").bring(session, 1, stage.home("b"), 9.0, begun)
        assert found.repository is not None and found.branch == "rekindle/j"
        assert stage.git(Path(found.repository), "rev-parse", "refs/heads/rekindle/j").strip() == begun
        assert any("no snapshot of it was copied" in one for one in found.missing)


def test_a_session_outside_of_a_repository_comes_without_its_files_and_that_is_said(stage: Stage) -> None:
    session = replace(stage.session(), repository=None, cwd=str(stage.root / "a" / "plain"))
    (stage.root / "a" / "plain").mkdir()
    stage.host("a").ship(session, 5.0)
    found = stage.host("b").bring(session, 2, stage.home("b"), 9.0)
    assert os.path.isdir(found.cwd) and found.repository is None
    assert any("in no repository" in one for one in found.missing)


def test_a_session_is_read_on_another_host_as_it_grows_and_stays_where_it_is(stage: Stage) -> None:
    a, b, session = stage.host("a"), stage.host("b"), stage.session()
    assert os.listdir(b.read(NAME, 4.0)) == [], "nothing was copied yet"
    a.ship(session, 5.0)
    folder = Path(b.read(NAME, 6.0))
    assert (folder / "1" / "out").read_bytes() == b"one\n"
    assert (folder / "1" / "out").stat().st_mode & 0o077 == 0
    assert json.loads((folder / "session.json").read_text()) == {}
    (stage.folder("a") / "1" / "out").write_bytes(b"one\ntwo\n")
    (stage.folder("a") / "session.json").write_text('{"agent": "claude"}')
    a.ship(session, 7.0)
    assert Path(stage.host("b").read(NAME, 8.0)) == folder, "another daemon goes on with it"
    assert (folder / "1" / "out").read_bytes() == b"one\ntwo\n"
    assert json.loads((folder / "session.json").read_text()) == {"agent": "claude"}
    (folder / "1" / "out").write_bytes(b"one\ntw")  # it was killed while it wrote
    b.read(NAME, 9.0)
    assert (folder / "1" / "out").read_bytes() == b"one\ntwo\n"
    assert not stage.folder("b").exists()
    a.ship(session, 10.0)  # a still has it
    with pytest.raises(BlobError):
        b.read("../elsewhere", 11.0)
