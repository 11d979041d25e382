"""One suite for what is kept off a host: a folder, the shared database, either of them sealed, and the fake."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from rekindle import files
from rekindle.adapters.blobs.folder import FolderBlobs
from rekindle.adapters.blobs.sealed import SealedBlobs, make_key, read_key
from rekindle.adapters.sql_store.open import open_store
from rekindle.adapters.sql_store.shared_blobs import SharedBlobs
from rekindle.ports.blobs import LARGEST_PIECE, BlobError, BlobFenced, BlobGap, Blobs, Piece
from rekindle.ports.errors import UsageError
from tests.fakes.blobs import FakeBlobs, Shelf
from tests.postgres import new_database

Host = Callable[[], Blobs]
NOW = datetime(2026, 1, 2, tzinfo=UTC)
KEY = bytes(range(32))


@pytest.fixture(params=["folder", "postgresql", "folder, sealed", "postgresql, sealed", "fake"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Host]:
    """What each call gives is another host's view of the same bytes."""
    shelf, url = Shelf(), ""
    if request.param.startswith("postgresql"):
        url = new_database()
        open_store(url, now=NOW, host="a").store.close()
    with ExitStack() as parts:

        def one() -> Blobs:
            made: Blobs = FakeBlobs(shelf)
            if request.param.startswith("folder"):
                made = FolderBlobs(str(tmp_path / "mount"))
            elif url:
                made = SharedBlobs(url)
            if request.param.endswith("sealed"):
                made = SealedBlobs(made, KEY)
            parts.callback(made.close)
            return made

        yield one


def piece(name: str, offset: int, data: bytes, attempt: int = 1) -> Piece:
    return Piece(name, offset, len(data), attempt)


def add(blobs: Blobs, name: str, offset: int, data: bytes, attempt: int = 1) -> Piece:
    made = piece(name, offset, data, attempt)
    blobs.add("s1", made, data)
    return made


def content(blobs: Blobs, name: str, session: str = "s1") -> bytes:
    return b"".join(blobs.data(session, one) for one in blobs.pieces(session) if one.name == name)


def test_another_host_reads_what_was_added_in_order(host: Host) -> None:
    a, b = host(), host()
    assert a.pieces("s1") == []
    a.claim("s1", 1)
    add(a, "vault/out-1.1", 0, b"one ")
    add(a, "vault/in-1.1", 0, bytes(range(256)))
    add(a, "vault/out-1.1", 4, b"two")
    assert content(b, "vault/out-1.1") == b"one two"
    assert content(b, "vault/in-1.1") == bytes(range(256))
    assert [(one.name, one.offset, one.end) for one in b.pieces("s1")] == [
        ("vault/in-1.1", 0, 256),
        ("vault/out-1.1", 0, 4),
        ("vault/out-1.1", 4, 7),
    ]
    assert b.pieces("s2") == []
    a.close()


def test_what_is_added_again_changes_nothing_and_a_gap_is_refused(host: Host) -> None:
    a = host()
    a.claim("s1", 1)
    first = add(a, "out", 0, b"abc")
    a.add("s1", first, b"abc")
    for offset in (2, 4, 9):
        with pytest.raises(BlobGap):
            add(a, "out", offset, b"xyz")
    add(a, "out", 3, b"def")
    assert content(host(), "out") == b"abcdef"


def test_who_has_lost_the_session_is_refused_and_its_successor_goes_on_behind_it(host: Host) -> None:
    a, b = host(), host()
    a.claim("s1", 3)
    add(a, "out", 0, b"before ", 3)
    b.claim("s1", 4)
    for late in (3, 2):
        with pytest.raises(BlobFenced):
            add(a, "out", 7, b"late", late)
        with pytest.raises(BlobFenced):
            add(a, "new", 0, b"late", late)
        with pytest.raises(BlobFenced):
            a.claim("s1", late)
    add(b, "out", 7, b"after", 4)
    b.claim("s1", 4)
    assert content(a, "out") == content(host(), "out") == b"before after"
    assert {(one.name, one.attempt) for one in a.pieces("s1")} == {("out", 3), ("out", 4)}
    a.claim("s2", 1)
    a.add("s2", piece("out", 0, b"x"), b"x")


def test_nobody_adds_what_it_has_not_claimed(host: Host) -> None:
    a = host()
    with pytest.raises(BlobError):
        add(a, "out", 0, b"x")
    a.claim("s1", 1)
    with pytest.raises(BlobError):
        add(a, "out", 0, b"x", 2)


@pytest.mark.parametrize("name", ["", "a//b", "../x", "a/./b", "a b", "é", "x" * 300, "/etc/passwd", "a\0"])
def test_a_name_that_could_lead_elsewhere_is_refused(host: Host, name: str) -> None:
    a = host()
    a.claim("s1", 1)
    with pytest.raises(BlobError):
        add(a, name, 0, b"x")


def test_pieces_of_all_sizes_up_to_the_largest(host: Host) -> None:
    a = host()
    a.claim("s1", 1)
    large = os.urandom(LARGEST_PIECE)
    add(a, "large", 0, large)
    add(a, "large", len(large), b"\0")
    assert content(host(), "large") == large + b"\0"
    for bad in (b"", b"x" * (LARGEST_PIECE + 2000)):
        with pytest.raises(BlobError):
            add(a, "bad", 0, bad)
    with pytest.raises(BlobError):
        a.data("s1", piece("large", 7, b"x"))


def test_a_claim_in_the_middle_of_many_additions_lets_nothing_in_afterwards(host: Host) -> None:
    """Whatever the successor finds when it has claimed the session is all that there will ever be of the other."""
    for round_ in range(3):
        session, a, b = f"r{round_}", host(), host()
        a.claim(session, 1)
        added, started = [0], threading.Event()

        def go_on(
            session: str = session, a: Blobs = a, added: list[int] = added, go: threading.Event = started
        ) -> None:
            for number in range(10_000):
                try:
                    a.add(session, Piece("out", number, 1, 1), b"x")
                except BlobFenced:
                    return
                added[0] += 1
                if number == 5:
                    go.set()

        thread = threading.Thread(target=go_on)
        thread.start()
        started.wait(60)
        b.claim(session, 2)
        found = [one for one in b.pieces(session) if one.attempt == 1]
        thread.join()
        assert added[0] < 10_000
        assert [one for one in b.pieces(session) if one.attempt == 1] == found
        assert added[0] <= len(found), "what was acknowledged is lost"
        b.add(session, Piece("out", len(found), 1, 2), b"y")
        assert content(host(), "out", session) == b"x" * len(found) + b"y"


# What only a sealed one promises


def test_what_is_kept_cannot_be_read_swapped_or_changed_without_the_key(tmp_path: Path) -> None:
    mount = tmp_path / "mount"
    inner = FolderBlobs(str(mount))
    sealed = SealedBlobs(inner, KEY)
    for session in ("s1", "s2"):
        sealed.claim(session, 1)
        for offset, text in ((0, b"a secret of mine"), (16, b"another secret.."), (32, b"")):
            if text:
                sealed.add(session, Piece("out", offset, len(text), 1), text)
    everything = b"".join(path.read_bytes() for path in mount.rglob("*") if path.is_file())
    assert b"secret" not in everything
    one, two = (mount / "s1" / "a1" / f"p{offset}-16~out" for offset in (0, 16))
    first, second = sealed.pieces("s1")
    assert sealed.data("s1", first) == b"a secret of mine"
    good = one.read_bytes()
    elsewhere = (mount / "s2" / "a1" / "p0-16~out").read_bytes()
    for bad in (two.read_bytes(), elsewhere, good[:-1], good[:-1] + bytes([good[-1] ^ 1]), b"", b"a secret of mine"):
        one.write_bytes(bad)
        with pytest.raises(BlobError, match="changed"):
            sealed.data("s1", first)
    one.write_bytes(good)
    assert sealed.data("s1", second) == b"another secret.."
    with pytest.raises(BlobError, match="changed"):
        SealedBlobs(inner, bytes(32)).data("s1", first)
    os.rename(mount / "s1" / "a1", mount / "s1" / "a2")
    with pytest.raises(BlobError, match="changed"):
        sealed.data("s1", Piece("out", 0, 16, 2))


def test_a_key_is_made_once_for_its_owner_only_and_is_read_only_then(tmp_path: Path) -> None:
    path = tmp_path / "key"
    make_key(str(path))
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(read_key(str(path))) == 32
    with pytest.raises(UsageError):
        make_key(str(path))
    path.chmod(0o644)
    with pytest.raises(UsageError, match="others"):
        read_key(str(path))
    for text in ("", "abc", "zz" * 32, "ab" * 31, "ab" * 32 + "\n" + "ab"):
        path.chmod(0o600)
        path.write_text(text)
        with pytest.raises(UsageError):
            read_key(str(path))
    with pytest.raises(UsageError):
        read_key(str(tmp_path / "nothing"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away, and read another user's")
def test_a_key_that_another_user_can_change_is_none(tmp_path: Path) -> None:
    path = tmp_path / "key"
    make_key(str(path))
    os.chown(path, 65534, 65534)
    with pytest.raises(UsageError, match="another user"):
        read_key(str(path))


def test_to_read_a_piece_from_a_folder_needs_no_list_of_the_others(tmp_path: Path) -> None:
    """Whoever takes a session over reads every piece: a list for each would be a billion names after a long night."""
    a, b = FolderBlobs(str(tmp_path)), FolderBlobs(str(tmp_path))
    a.claim("s1", 1)
    first = add(a, "out", 0, b"abc")
    b.claim("s1", 2)
    second = add(b, "out", 3, b"def", 2)
    (tmp_path / "s1" / "a2" / "inherits").write_bytes(b"the list")
    assert b.data("s1", first) + b.data("s1", second) == b"abcdef"


def test_a_piece_is_found_although_its_folder_is_closed_just_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host that reads along is not told that a piece is gone because another one takes the session over."""
    a, b = FolderBlobs(str(tmp_path)), FolderBlobs(str(tmp_path))
    a.claim("s1", 1)
    first = add(a, "out", 0, b"abc")
    read = files.read

    def claims_after_the_first_look(path: str) -> bytes:
        try:
            return read(path)
        except FileNotFoundError:
            if not (tmp_path / "s1" / "a2").exists():
                FolderBlobs(str(tmp_path)).claim("s1", 2)
            raise

    monkeypatch.setattr(files, "read", claims_after_the_first_look)
    assert b.data("s1", first) == b"abc"


def test_to_add_a_piece_to_a_long_stream_in_the_database_reads_as_little_as_to_a_short_one() -> None:
    url = new_database()
    open_store(url, now=datetime.now(UTC), host="a").store.close()
    blobs = SharedBlobs(url)
    read: list[int] = []

    def count(_connection: Any, cursor: Any, statement: str, *_more: Any) -> None:
        if statement.startswith("SELECT") and "FROM blobs" in statement:
            read.append(cursor.rowcount)

    try:
        blobs.claim("s", 1)
        sa.event.listen(blobs._engine, "after_cursor_execute", count)
        for number in range(12):
            blobs.add("s", Piece("out", number, 1, 1), b"x")
            blobs.add("s", Piece("out", number, 1, 1), b"x")  # again, after a lost answer
        with pytest.raises(BlobGap):
            blobs.add("s", Piece("out", 20, 1, 1), b"x")
        blobs.add("s", Piece("out", 3, 1, 1), b"x")
        assert read and max(read) <= 2
    finally:
        blobs.close()
