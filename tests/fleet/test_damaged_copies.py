"""Copies that were damaged, cut, swapped or rolled back: what is whole goes on, what is not is said, never guessed."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rekindle import files
from rekindle.adapters.blobs.folder import FolderBlobs
from rekindle.adapters.blobs.sealed import SealedBlobs
from rekindle.adapters.git.git import Git
from rekindle.adapters.off_host import clones
from rekindle.adapters.snapshots import restoring, taking
from rekindle.agents.registry import record_place
from rekindle.ports.blobs import BlobDamaged, BlobError, Piece
from rekindle.ports.errors import RekindleError
from tests.conformance.test_off_host import NAME, TOKEN, Stage
from tests.fakes.blobs import FakeBlobs, Shelf

KEY = bytes(32)


class Copies(Stage):
    """The copies as whoever keeps them can change them."""

    def __init__(self, root: Path) -> None:
        self.shelf = Shelf()
        super().__init__(root, lambda: SealedBlobs(FakeBlobs(self.shelf), KEY))

    @property
    def kept(self) -> dict[Piece, bytes]:
        return self.shelf.kept[NAME]

    def remove(self, wanted: Callable[[Piece], bool]) -> None:
        gone = [one for one in self.kept if wanted(one)]
        assert gone
        for one in gone:
            del self.kept[one]


@pytest.fixture
def stage(tmp_path: Path) -> Copies:
    return Copies(tmp_path)


def copied_twice(stage: Copies) -> Any:
    a, session = stage.host("a"), stage.session()
    stage.record(b'{"type":"user"}\n')
    (stage.work / "new.txt").write_text("first")
    taking.take(str(stage.work), NAME, "a turn ended", 4.0)
    a.ship(session, 5.0)
    stage.record(b'{"type":"user"}\n{"type":"assistant"}\n')
    (stage.folder("a") / "1" / "out").write_bytes(b"one\ntwo\n")
    (stage.work / "new.txt").write_text("second")
    taking.take(str(stage.work), NAME, "a turn ended", 6.0)
    a.ship(session, 7.0)
    (stage.folder("a") / "1" / "out").write_bytes(b"one\ntwo\nthree\n")
    a.ship(session, 8.0)
    return session


def bring(stage: Copies, session: Any, host: str = "b") -> Any:
    return stage.host(host).bring(session, 2, stage.home(host), 9.0)


def test_a_hole_in_a_copy_is_said_and_nothing_behind_it_is_taken_for_what_follows(stage: Copies) -> None:
    session = copied_twice(stage)
    stage.remove(lambda one: one.name == "1/out@1" and one.offset == 4)
    found = bring(stage, session)
    assert (stage.folder("b") / "1" / "out").read_bytes() == b"one\n"
    assert any("1/out" in one and "damaged" in one for one in found.missing), found.missing


def test_the_end_of_a_copy_that_was_cut_off_is_missed(stage: Copies) -> None:
    session = copied_twice(stage)
    stage.remove(lambda one: one.name == "1/out@1" and one.offset == 8)
    assert any("6 bytes" in one and "gone" in one for one in bring(stage, session).missing)


def test_nothing_is_missed_if_nothing_is_gone(stage: Copies) -> None:
    missing = bring(stage, copied_twice(stage)).missing
    assert not [one for one in missing if "gone" in one or "damaged" in one], missing


def test_a_piece_that_was_changed_or_is_of_another_session_is_not_used(stage: Copies) -> None:
    session = copied_twice(stage)
    first = next(one for one in stage.kept if one.name == "1/out@1" and one.offset == 4)
    stage.kept[first] = stage.kept[first][:-1] + b"x"
    found = bring(stage, session)
    assert (stage.folder("b") / "1" / "out").read_bytes() == b"one\n"
    assert any("1/out" in one and "damaged" in one for one in found.missing)


def test_a_record_whose_copy_is_gone_is_missed_and_the_session_goes_on_without(stage: Copies) -> None:
    session = copied_twice(stage)
    stage.remove(lambda one: one.name.startswith("vault/"))
    found = bring(stage, session)
    assert any("record of the conversation" in one for one in found.missing), found.missing
    place = record_place("claude", stage.home("b"), found.cwd, TOKEN)
    assert place is not None and not os.path.exists(place)


def test_a_snapshot_whose_copy_is_damaged_leaves_those_before_it(stage: Copies) -> None:
    session = copied_twice(stage)
    last = max(one.name for one in stage.kept if one.name.startswith("tree/"))
    stage.remove(lambda one: one.name == last)
    stage.kept[Piece(last, 0, 4, 1)] = b"junk"
    found = bring(stage, session)
    assert any("snapshot" in one and "damaged" in one for one in found.missing), found.missing
    known = taking.known(Git(str(found.repository)), taking.namespace_of(NAME))
    assert [one.number for one in known] == [1]


def test_with_another_key_nothing_is_begun(stage: Copies) -> None:
    session = copied_twice(stage)
    stage.blobs = lambda: SealedBlobs(FakeBlobs(stage.shelf), bytes(31) + b"x")
    with pytest.raises(BlobError, match="another key"):
        bring(stage, session)
    assert not stage.folder("b").exists()


def test_a_state_that_nobody_can_read_is_told_in_words(stage: Copies) -> None:
    session = copied_twice(stage)
    blobs = stage.blobs()
    blobs.add(NAME, Piece("state@900", 0, 9, 1), b'{"host":1')
    with pytest.raises(BlobError, match="cannot be read"):
        bring(stage, session)


def test_names_that_nobody_of_ours_gives_hold_up_no_copy(stage: Copies) -> None:
    session = copied_twice(stage)
    for name in ("tree/abc", "tree/", "state@x", "../../x@1", "9999999999/out@1"):
        stage.kept[Piece(name, 0, 1, 1)] = b"x"
    assert stage.host("a").ship(session, 9.0).tree == 2
    bring(stage, session)
    assert not (stage.root / "x").exists()


def test_a_folder_of_copies_whose_list_is_garbage_is_told_in_words(tmp_path: Path) -> None:
    blobs = FolderBlobs(str(tmp_path / "mount"))
    blobs.claim(NAME, 1)
    for text in ("{", '{"a": 1}', '[["x"]]', "[1]", ""):
        (tmp_path / "mount" / NAME / "a1" / "inherits").write_text(text)
        with pytest.raises(BlobDamaged, match="inherits"):
            blobs.pieces(NAME)


def test_a_takeover_that_fails_again_and_again_keeps_nothing_aside_of_its_own(stage: Copies) -> None:
    session = copied_twice(stage)
    for _ in range(3):
        with pytest.raises(RekindleError, match="cannot be fetched"):
            stage.host("b", f"*={stage.root}/nowhere/{{name}}.git").bring(session, 2, stage.home("b"), 9.0)
    bring(stage, session)
    assert not (stage.root / "b" / "state" / "kept-aside").exists()
    bring(stage, session)  # nobody knows whether an agent has worked here since
    assert len(os.listdir(stage.root / "b" / "state" / "kept-aside")) == 1


def test_a_full_disk_on_the_new_host_is_told_in_words_and_leaves_nothing_half(
    stage: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = copied_twice(stage)
    real = files.replace
    for place in ("/vault/", "/projects/"):

        def full(path: str, *words: Any, place: str = place, **more: Any) -> None:
            if place in path:
                raise OSError(errno.ENOSPC, "No space left on device", path)
            real(path, *words, **more)

        monkeypatch.setattr(files, "replace", full)
        with pytest.raises(RekindleError, match="No space left"):
            bring(stage, session)
        monkeypatch.setattr(files, "replace", real)
    found = bring(stage, session)
    assert (stage.folder("b") / "1" / "out").read_bytes() == b"one\ntwo\nthree\n"
    record = record_place("claude", stage.home("b"), found.cwd, TOKEN)
    assert record is not None and Path(record).read_bytes().count(b"\n") == 2


def there_before(stage: Copies, session: Any) -> Path:
    """A host that has the session's work tree, as a session that was there before leaves it."""
    found = bring(stage, session)
    tree = Path(found.worktree)
    stage.git(Path(found.repository), "worktree", "add", "-q", "-b", "rekindle/x", str(tree), "origin/main")
    restoring.restore(str(tree), NAME, None, None, 10.0)
    assert (tree / "new.txt").read_text() == "second"
    return tree


def kept_aside(stage: Copies, tree: Path) -> list[str]:
    """The file as the snapshots have it that are under no number."""
    told = stage.git(tree, "for-each-ref", "--format=%(refname) %(objectname)", f"refs/rekindle/{NAME}/pinned/")
    found = [line.split()[1] for line in told.splitlines() if "-" in line.split()[0]]
    return [stage.git(tree, "show", f"{one}:new.txt") for one in found if "new.txt" in stage.git(tree, "ls-tree", one)]


def test_a_host_that_was_killed_in_the_middle_of_putting_files_back_puts_the_same_back_again(
    stage: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = copied_twice(stage)
    tree = there_before(stage, session)
    (tree / "new.txt").write_text("what b had")

    def killed(*_: Any, **__: Any) -> None:
        taking.take(str(tree), NAME, "before a restore", 11.0)
        raise KeyboardInterrupt

    monkeypatch.setattr(restoring, "restore", killed)
    with pytest.raises(KeyboardInterrupt):
        bring(stage, session)
    monkeypatch.undo()
    bring(stage, session)
    assert (tree / "new.txt").read_text() == "second"
    assert "what b had" in kept_aside(stage, tree)


def test_a_snapshot_that_was_never_copied_does_not_keep_the_session_from_coming_back(stage: Copies) -> None:
    session = copied_twice(stage)
    tree = there_before(stage, session)
    (tree / "new.txt").write_text("only on b")
    taking.take(str(tree), NAME, "never copied", 11.0)
    numbers = {one.number for one in taking.listing(str(tree), NAME)}
    (stage.work / "new.txt").write_text("third, on a")
    for number in range(len(numbers)):
        (stage.work / "more.txt").write_text(str(number))
        taking.take(str(stage.work), NAME, "a turn ended", 12.0 + number)
    stage.shelf.fences[NAME] = 1
    stage.host("a").ship(replace(session), 20.0)
    bring(stage, session)
    assert (tree / "new.txt").read_text() == "third, on a"
    assert "only on b" in kept_aside(stage, tree)


@pytest.mark.parametrize(
    "lines",
    [
        '[core]\n\tsshCommand = "touch {mark}; false"\n',
        '[url "ssh://nowhere.invalid/"]\n\tinsteadOf = {origin}\n[core]\n\tsshCommand = "touch {mark}; false"\n',
        '[credential]\n\thelper = "!touch {mark}"\n',
        '[core]\n\thooksPath = {hooks}\n\tfsmonitor = "touch {mark}"\n',
        '[filter "x"]\n\tsmudge = "touch {mark}; cat"\n\tclean = "touch {mark}; cat"\n\trequired = true\n',
        '[remote "origin"]\n\tuploadpack = "touch {mark}; git-upload-pack"\n',
    ],
)
def test_what_an_agent_has_written_into_a_clones_configuration_is_not_run_by_a_fetch(
    stage: Copies, tmp_path: Path, lines: str
) -> None:
    """Agents work in worktrees of that clone: its configuration is theirs to change."""
    where, mark, hooks = str(tmp_path / "clones"), tmp_path / "mark", tmp_path / "hooks"
    hooks.mkdir()
    for name in ("reference-transaction", "post-checkout", "post-merge"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
        (hooks / name).chmod(0o755)
    clone = Path(clones.ready(where, "project", [f"project={stage.origin}"]))
    for name in os.listdir(hooks):
        (clone / ".git" / "hooks" / name).write_bytes((hooks / name).read_bytes())
        (clone / ".git" / "hooks" / name).chmod(0o755)
    with (clone / ".git" / "config").open("a") as file:
        file.write(lines.format(mark=mark, hooks=hooks, origin=stage.origin))
    stage.git(stage.work, "commit", "-q", "--allow-empty", "-m", "news")
    stage.git(stage.work, "push", "-q", str(stage.origin), "HEAD:main")
    with_news = stage.git(stage.work, "rev-parse", "HEAD").strip()
    if "insteadOf" in lines:
        with pytest.raises(RekindleError, match=r"has url.*insteadof in its configuration"):
            clones.ready(where, "project", [f"project={stage.origin}"])
    else:
        clones.ready(where, "project", [f"project={stage.origin}"])
        assert stage.git(clone, "rev-parse", "origin/main").strip() == with_news
    assert not mark.exists()


@pytest.mark.parametrize("name", ["../sessions", "..", "", ".", "a/../../sessions", "a\0b"])
def test_an_id_that_is_a_path_touches_nothing_of_this_host(stage: Copies, name: str) -> None:
    """What is left of an arrival is removed, and a session that was here is moved aside: both by the id."""
    session = copied_twice(stage)
    stage.host("b")
    mine = stage.root / "b" / "state" / "sessions" / "mine" / "1"
    mine.mkdir(parents=True)
    (mine / "out").write_bytes(b"precious")
    with pytest.raises(RekindleError, match="the id"):
        bring(stage, replace(session, id=name))
    assert (mine / "out").read_bytes() == b"precious"


@pytest.mark.parametrize(
    "told",
    [{"cwd": ""}, {"cwd": "a\0b"}, {"repository": "/a\0b"}, {"worktree": "/\ud800", "branch": "x"}, {"worktree": ""}],
)
def test_places_that_no_file_can_have_are_told_in_words(stage: Copies, told: dict[str, str]) -> None:
    with pytest.raises(RekindleError, match="not a place"):
        bring(stage, replace(stage.session(), **told))


@pytest.mark.parametrize("worktree", ["/r/..", "/r/.", "/r/", "/r/.git"])
def test_a_session_gets_a_work_tree_of_its_own_whatever_its_old_one_was_called(stage: Copies, worktree: str) -> None:
    session = replace(stage.session(), worktree=worktree, branch="x", cwd="/r/elsewhere")
    found = bring(stage, session)
    mine = Path(str(found.repository)) / ".worktrees" / NAME
    assert found.worktree == str(mine) and mine in (path := Path(found.cwd), *path.parents)


def test_a_session_does_not_begin_in_the_work_tree_of_another_one(stage: Copies) -> None:
    session = replace(stage.session(), worktree="/r/a", branch="x", cwd="/r/ab")
    found = bring(stage, session)
    assert found.cwd == found.worktree


def test_what_somebody_puts_in_the_place_of_a_piece_is_damage_and_not_read(tmp_path: Path) -> None:
    blobs = FolderBlobs(str(tmp_path / "mount"))
    blobs.claim(NAME, 1)
    piece = Piece("1/out@1", 0, 4, 1)
    blobs.add(NAME, piece, b"data")
    [kept] = (tmp_path / "mount" / NAME / "a1").glob("p0-*")
    (tmp_path / "secret").write_bytes(b"mine")

    def huge() -> None:
        with kept.open("wb") as file:
            file.truncate(1 << 40)

    def link() -> None:
        kept.symlink_to(tmp_path / "secret")

    def pipe() -> None:
        os.mkfifo(kept)

    plants: list[Callable[[], None]] = [link, kept.mkdir, pipe, huge]
    for planted in plants:
        kept.rmdir() if kept.is_dir() else kept.unlink()
        planted()
        with pytest.raises(BlobDamaged, match="not a file of ours"):
            blobs.data(NAME, piece)
    kept.write_bytes(b"data")
    assert blobs.data(NAME, piece) == b"data"
