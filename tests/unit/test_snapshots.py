"""The work-tree time machine on real repositories: everything comes back, and nothing of the user's is touched."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rekindle.adapters.git import process
from rekindle.adapters.git.git import Children
from rekindle.adapters.snapshots.restoring import restore
from rekindle.adapters.snapshots.taking import MOST_BYTES, choose, difference, listing, pin, take
from rekindle.adapters.workplace.workplace import LocalWorkplace
from rekindle.core.session.facts import Created, Cut, Exited, Launched, LaunchIntended, Opened, PromptQueued, PromptSent
from rekindle.ports.errors import BadName, GitFailed, InTheWay, NoRepository, NoSuchSnapshot, UsageError
from rekindle.ports.snapshots import Snapshot
from tests.sessions import folded

SESSION = "abcdef0123"
NOW = 1_700_000_000.0
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "t",
    "GIT_AUTHOR_EMAIL": "t@example.invalid",
    "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@example.invalid",
}


@pytest.fixture(autouse=True)
def _plain_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def git(folder: Path, *words: str, check: bool = True) -> str:
    done = subprocess.run(["git", *words], cwd=folder, env=ENVIRONMENT, check=check, capture_output=True)
    return done.stdout.decode("utf-8", "surrogateescape")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "tracked.txt").write_text("one\n")
    (root / ".gitignore").write_text("*.log\nbuild/\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "begin")
    return root


def taken(folder: Path, reason: str = "turn 1 has ended", now: float = NOW, limit: int = MOST_BYTES) -> Snapshot:
    found = take(str(folder), SESSION, reason, now, limit=limit)
    assert found is not None
    return found


def names(repo: Path, snapshot: Snapshot) -> set[str]:
    return set(git(repo, "ls-tree", "-r", "-z", "--name-only", snapshot.id).split("\0")) - {""}


def untouched(repo: Path) -> tuple[bytes, str, str, str, bytes, list[str]]:
    """Everything of the user's, byte for byte."""
    index = repo / ".git" / "index"
    refs = "".join(line for line in git(repo, "for-each-ref").splitlines(keepends=True) if "refs/rekindle/" not in line)
    return (
        index.read_bytes() if index.exists() else b"",
        (repo / ".git" / "HEAD").read_text(),
        refs,
        git(repo, "--no-optional-locks", "status", "--porcelain=v2", "-z", "--branch", check=False),
        (repo / ".git" / "config").read_bytes(),
        sorted(name for name in os.listdir(repo / ".git") if name not in ("refs", "objects", "rekindle")),
    )


def test_the_whole_tree_with_untracked_files_is_kept_and_nothing_of_the_users_is_touched(repo: Path) -> None:
    (repo / "tracked.txt").write_text("two\n")
    (repo / "staged.txt").write_text("staged")
    git(repo, "add", "staged.txt")
    (repo / "sub").mkdir()
    (repo / "sub" / "new.txt").write_text("new")
    (repo / "noise.log").write_text("ignored")
    before = untouched(repo)
    found = taken(repo / "sub")
    assert untouched(repo) == before
    assert names(repo, found) == {".gitignore", "staged.txt", "sub/new.txt", "tracked.txt"}
    assert git(repo, "show", f"{found.id}:tracked.txt") == "two\n"
    assert git(repo, "rev-parse", f"refs/rekindle/{SESSION}/00000001").strip() == found.id
    assert git(repo, "diff", "--name-only", f"{found.id}^!").split() == ["staged.txt", "sub/new.txt", "tracked.txt"]


def test_the_message_says_why_who_and_where(repo: Path) -> None:
    found = taken(repo, "attempt 1\nhas ended")
    head = git(repo, "rev-parse", "HEAD").strip()
    assert git(repo, "log", "-1", "--format=%B", found.id).strip() == (
        f"attempt 1 has ended\n\nRekindle-Session: {SESSION}\nRekindle-Head: {head}\nRekindle-Branch: main"
    )
    assert (found.head, found.branch, found.at) == (head, "main", int(NOW))


def test_an_unchanged_tree_is_skipped_and_a_changed_one_is_the_next(repo: Path) -> None:
    first = taken(repo)
    assert take(str(repo), SESSION, "again", NOW) is None
    (repo / "b.txt").write_text("b")
    second = taken(repo, "turn 2 has ended", NOW + 5)
    assert (first.number, second.number) == (1, 2)
    assert [one.id for one in listing(str(repo), SESSION)] == [first.id, second.id]
    assert listing(str(repo), SESSION)[1].reason == "turn 2 has ended"
    assert listing(str(repo), "0000000000") == []


def test_a_change_within_the_same_tick_as_the_users_index_is_seen(repo: Path) -> None:
    """Copying the index must keep its time, or git would trust an entry that is as young as the index itself."""
    file, index = repo / "tracked.txt", repo / ".git" / "index"
    taken(repo)
    found = file.stat()
    file.write_text("eno\n")
    os.utime(file, ns=(found.st_mtime_ns, found.st_mtime_ns))
    os.utime(index, ns=(found.st_mtime_ns, found.st_mtime_ns))
    git(repo, "config", "core.trustctime", "false")
    assert git(repo, "show", f"{taken(repo).id}:tracked.txt") == "eno\n"


def test_a_folder_in_no_repository_has_no_snapshots(tmp_path: Path) -> None:
    assert take(str(tmp_path), SESSION, "x", NOW) is None
    assert listing(str(tmp_path), SESSION) == []
    with pytest.raises(NoRepository):
        restore(str(tmp_path), SESSION, None, None, NOW)


def test_a_bare_repository_and_a_git_folder_have_none(repo: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    bare.mkdir()
    git(bare, "init", "-q", "--bare")
    assert take(str(bare), SESSION, "x", NOW) is None
    assert take(str(repo / ".git"), SESSION, "x", NOW) is None


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "a.txt").write_text("a")
    before = untouched(tmp_path)
    found = taken(tmp_path)
    assert untouched(tmp_path) == before
    assert (found.head, found.branch, names(tmp_path, found)) == (None, "main", {"a.txt"})
    assert listing(str(tmp_path), SESSION) == [found]


def test_a_repository_with_nothing_in_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert names(tmp_path, taken(tmp_path)) == set()


def test_a_detached_head(repo: Path) -> None:
    git(repo, "checkout", "-q", "--detach")
    found = taken(repo)
    assert found.branch is None
    assert listing(str(repo), SESSION) == [found]


def test_somebody_elses_index_lock_does_not_matter(repo: Path) -> None:
    lock = repo / ".git" / "index.lock"
    lock.write_bytes(b"")
    (repo / "new.txt").write_text("new")
    assert "new.txt" in names(repo, taken(repo))
    assert lock.exists()


def test_a_damaged_index_does_not_matter(repo: Path) -> None:
    (repo / ".git" / "index").write_bytes(b"DIRC nonsense")
    (repo / "new.txt").write_text("new")
    assert names(repo, taken(repo)) == {".gitignore", "new.txt", "tracked.txt"}
    assert (repo / ".git" / "index").read_bytes() == b"DIRC nonsense"


def test_a_merge_with_conflicts_is_kept_as_it_lies_there(repo: Path) -> None:
    (repo / "gone.txt").write_text("base\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "base")
    git(repo, "checkout", "-q", "-b", "other")
    (repo / "tracked.txt").write_text("theirs\n")
    (repo / "gone.txt").write_text("theirs\n")
    git(repo, "commit", "-q", "-a", "-m", "theirs")
    git(repo, "checkout", "-q", "main")
    (repo / "tracked.txt").write_text("ours\n")
    git(repo, "rm", "-q", "gone.txt")
    git(repo, "commit", "-q", "-a", "-m", "ours")
    git(repo, "merge", "-q", "other", check=False)
    (repo / "gone.txt").unlink()
    before = untouched(repo)
    assert "u UU" in before[3]
    found = taken(repo)
    assert untouched(repo) == before
    assert git(repo, "show", f"{found.id}:tracked.txt") == (repo / "tracked.txt").read_text()
    assert "<<<<<<<" in git(repo, "show", f"{found.id}:tracked.txt")
    assert "gone.txt" not in names(repo, found)


ODD = [b"with space", b"new\nline", b"tab\there", b"caf\xe9", b'quo"te', b"-dash", b":colon", b"*.star", b"back\\slash"]


def test_odd_names_links_and_exec_bits_come_back_right(repo: Path, tmp_path: Path) -> None:
    top = os.fsencode(repo)
    for name in ODD:
        os.makedirs(os.path.join(top, b"odd", name))
        with open(os.path.join(top, b"odd", name, name), "wb") as file:
            file.write(b"in " + name)
    (repo / "tool").write_text("#!/bin/sh\n")
    (repo / "tool").chmod(0o755)
    (repo / "link").symlink_to("tool")
    (repo / "dangling").symlink_to("no such file")
    (repo / "to-folder").symlink_to("odd")
    taken(repo)
    target = tmp_path / "back"
    done = restore(str(repo), SESSION, None, str(target), NOW)
    assert done.to == str(target)
    back = os.fsencode(target)
    assert sorted(os.listdir(os.path.join(back, b"odd"))) == sorted(ODD)
    for name in ODD:
        with open(os.path.join(back, b"odd", name, name), "rb") as file:
            assert file.read() == b"in " + name
    assert (target / "tool").stat().st_mode & stat.S_IXUSR
    assert not (target / "tracked.txt").stat().st_mode & stat.S_IXUSR
    links = [os.readlink(target / name) for name in ("link", "dangling", "to-folder")]
    assert links == ["tool", "no such file", "odd"]


def _file_to_folder(repo: Path) -> None:
    (repo / "tracked.txt").unlink()
    (repo / "tracked.txt").mkdir()
    (repo / "tracked.txt" / "inside").write_text("x")


def _folder_to_file(repo: Path) -> None:
    (repo / "d" / "x").unlink()
    (repo / "d").rmdir()
    (repo / "d").write_text("file now")


def _folder_to_link(repo: Path) -> None:
    (repo / "elsewhere").mkdir()
    (repo / "elsewhere" / "x").write_text("different content")
    (repo / "d" / "x").unlink()
    (repo / "d").rmdir()
    (repo / "d").symlink_to("elsewhere")


def _removed(repo: Path) -> None:
    (repo / "tracked.txt").unlink()


def _intended(repo: Path) -> None:
    (repo / "later").write_text("later")
    git(repo, "add", "-N", "later")


def _staged_and_removed(repo: Path) -> None:
    (repo / "short").write_text("short")
    git(repo, "add", "short")
    (repo / "short").unlink()
    (repo / "long").write_text("long")


def _mode(repo: Path) -> None:
    (repo / "tracked.txt").chmod(0o755)


def _tracked_though_ignored(repo: Path) -> None:
    (repo / "kept.log").write_text("1")
    git(repo, "add", "-f", "kept.log")
    git(repo, "commit", "-q", "-m", "log")
    (repo / "kept.log").write_text("2")


CHANGES = [
    _file_to_folder,
    _folder_to_file,
    _folder_to_link,
    _removed,
    _intended,
    _staged_and_removed,
    _mode,
    _tracked_though_ignored,
]


@pytest.mark.parametrize("change", CHANGES)
def test_the_tree_is_the_one_that_git_add_would_make(repo: Path, change: Callable[[Path], None]) -> None:
    (repo / "d").mkdir()
    (repo / "d" / "x").write_text("x")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "d")
    first = taken(repo)
    change(repo)
    before = untouched(repo)
    found = taken(repo)
    assert found.left_out == ()
    assert untouched(repo) == before
    done = restore(str(repo), SESSION, first.id, None, NOW)
    assert done.before == found.id
    assert (repo / "tracked.txt").read_text() == "one\n"
    assert (repo / "d" / "x").read_text() == "x"
    restore(str(repo), SESSION, found.id, None, NOW)
    take(str(repo), SESSION, "the same again", NOW)
    assert listing(str(repo), SESSION)[-1].tree == found.tree
    git(repo, "add", "-A")
    assert git(repo, "write-tree").strip() == found.tree


def test_large_files_are_left_out_and_named(repo: Path) -> None:
    (repo / "large\n.bin").write_bytes(b"x" * 2001)
    (repo / "small.bin").write_bytes(b"x" * 2000)
    (repo / "tracked.txt").write_bytes(b"y" * 5000)
    found = taken(repo, limit=2000)
    assert names(repo, found) == {".gitignore", "small.bin"}
    assert set(found.left_out) == {'"large\\n.bin" (2001 bytes)', '"tracked.txt" (5000 bytes)'}
    assert listing(str(repo), SESSION) == [found]


def test_a_file_that_git_cannot_take_in_is_left_out_and_named(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    for number in range(9):
        (repo / f"n{number}").write_text(str(number))
    (repo / ".gitattributes").write_text("n4 filter=broken\n")
    git(repo, "config", "--file", str(tmp_path / "gitconfig"), "filter.broken.clean", "false")
    git(repo, "config", "--file", str(tmp_path / "gitconfig"), "filter.broken.required", "true")
    found = taken(repo)
    assert names(repo, found) >= {"n0", "n3", "n5", "n8"}
    assert "n4" not in names(repo, found)
    assert [one.partition(" (")[0] for one in found.left_out] == ['"n4"']
    assert "git cannot read it" in found.left_out[0]


def test_repositories_inside_are_recorded_by_their_commit(repo: Path) -> None:
    for name in ("inner", "empty"):
        (repo / name).mkdir()
        git(repo / name, "init", "-q")
        (repo / name / "x").write_text("x")
    git(repo / "inner", "add", "-A")
    git(repo / "inner", "commit", "-q", "-m", "x")
    found = taken(repo)
    head = git(repo / "inner", "rev-parse", "HEAD").strip()
    assert git(repo, "ls-tree", found.id, "inner") == f"160000 commit {head}\tinner\n"
    assert found.left_out == ('"empty/" (a repository without a commit)',)


def test_a_submodule_is_recorded_as_git_does(repo: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    git(source, "init", "-q")
    git(source, "commit", "-q", "--allow-empty", "-m", "one")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(source), "sub")
    git(repo, "commit", "-q", "-m", "sub")
    first = taken(repo)
    git(repo / "sub", "commit", "-q", "--allow-empty", "-m", "two")
    second = taken(repo)
    tip = git(repo / "sub", "rev-parse", "HEAD").strip()
    assert git(repo, "ls-tree", second.id, "sub").split()[2] == tip
    restore(str(repo), SESSION, first.id, None, NOW)
    assert git(repo / "sub", "rev-parse", "HEAD").strip() == tip, "a repository inside is left as it is"


def test_hooks_and_git_variables_of_the_caller_have_no_say(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    for name in ("pre-commit", "post-index-change", "reference-transaction", "post-checkout"):
        hook = repo / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch '{ran}'\n")
        hook.chmod(0o755)
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "foreign"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    (repo / "new.txt").write_text("new")
    first = taken(repo)
    (repo / "new.txt").write_text("newer")
    restore(str(repo), SESSION, first.id, None, NOW)
    assert (repo / "new.txt").read_text() == "new"
    assert not ran.exists()
    assert not (tmp_path / "foreign").exists()


def test_worktrees_share_the_snapshots_of_a_session(repo: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(repo, "worktree", "add", "-q", "-b", "work", str(other))
    (other / "here.txt").write_text("here")
    found = taken(other)
    assert (found.branch, "here.txt" in names(repo, found)) == ("work", True)
    assert listing(str(repo), SESSION) == [found]
    assert not (repo / "here.txt").exists()


def test_a_folder_that_the_agent_removed_does_not_matter(repo: Path) -> None:
    assert names(repo, taken(repo / "gone" / "deeper")) == {".gitignore", "tracked.txt"}


def test_of_many_at_once_all_are_kept_in_one_line(repo: Path) -> None:
    (repo / "f").write_text("0")

    def one(number: int) -> Snapshot | None:
        return take(str(repo), SESSION, f"n{number}", NOW)

    with ThreadPoolExecutor(6) as pool:
        same = [found for found in pool.map(one, range(6)) if found is not None]
    assert len(same) == 1, "the tree was the same for all"

    copies = [repo.parent / f"w{number}" for number in range(4)]
    for copy in copies:
        git(repo, "worktree", "add", "-q", "--detach", str(copy))
        (copy / "own").write_text(copy.name)
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda copy: take(str(copy), SESSION, copy.name, NOW), copies))
    kept = {one.id for one in listing(str(repo), SESSION)}
    assert kept == {found.id for found in (*same, *made) if found is not None}
    assert len(kept) == 5


def test_a_ref_that_stays_locked_is_told(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rekindle.adapters.snapshots.taking._TRIES", 2)
    lock = repo / ".git" / "refs" / "rekindle" / SESSION / "00000001.lock"
    lock.parent.mkdir(parents=True)
    lock.write_bytes(b"")
    with pytest.raises(GitFailed, match="could not be made"):
        take(str(repo), SESSION, "x", NOW)


def test_a_restore_in_place_keeps_first_what_is_there(repo: Path) -> None:
    (repo / "a.txt").write_text("old")
    first = taken(repo)
    (repo / "a.txt").write_text("new")
    (repo / "b.txt").write_text("later")
    (repo / "noise.log").write_text("ignored")
    before = untouched(repo)
    done = restore(str(repo), SESSION, first.id, None, NOW + 9)
    assert (repo / "a.txt").read_text() == "old"
    assert not (repo / "b.txt").exists(), "it is in the snapshot that was taken first"
    assert (repo / "noise.log").read_text() == "ignored"
    assert untouched(repo)[:3] == before[:3]
    assert done.before is not None
    restore(str(repo), SESSION, done.before, None, NOW + 10)
    assert ((repo / "a.txt").read_text(), (repo / "b.txt").read_text()) == ("new", "later")


def _ignored_file(repo: Path) -> None:
    (repo / ".gitignore").write_text("a.txt\n")
    (repo / "a.txt").write_text("precious")


def _too_large(repo: Path) -> None:
    (repo / "a.txt").write_text("p" * 3000)


def _ignored_inside_a_folder(repo: Path) -> None:
    (repo / "a.txt").unlink()
    (repo / "a.txt").mkdir()
    (repo / "a.txt" / "x.log").write_text("precious")


def _ignored_in_place_of_a_folder(repo: Path) -> None:
    (repo / "c" / "x").unlink()
    (repo / "c").rmdir()
    (repo / ".gitignore").write_text("c\n")
    (repo / "c").write_text("precious")


@pytest.mark.parametrize("change", [_ignored_file, _too_large, _ignored_inside_a_folder, _ignored_in_place_of_a_folder])
def test_what_no_snapshot_has_is_never_overwritten(repo: Path, change: Callable[[Path], None]) -> None:
    (repo / "a.txt").write_text("old")
    (repo / "c").mkdir()
    (repo / "c" / "x").write_text("x")
    first = taken(repo)
    change(repo)
    there = {path: path.read_bytes() for path in repo.rglob("*") if path.is_file() and ".git" not in path.parts}
    with pytest.raises(InTheWay, match="no snapshot has"):
        restore(str(repo), SESSION, first.id, None, NOW, limit=2000)
    assert there == {path: path.read_bytes() for path in repo.rglob("*") if path.is_file() and ".git" not in path.parts}


def test_a_restore_goes_only_to_a_new_or_empty_folder(repo: Path, tmp_path: Path) -> None:
    taken(repo)
    full, empty, file = tmp_path / "full", tmp_path / "empty", tmp_path / "file"
    full.mkdir()
    (full / "x").write_text("x")
    empty.mkdir()
    file.write_text("x")
    for target in (full, file, file / "below", repo):
        with pytest.raises(UsageError, match="not empty"):
            restore(str(repo), SESSION, None, str(target), NOW)
    restore(str(repo), SESSION, None, str(empty), NOW)
    assert (empty / "tracked.txt").read_text() == "one\n"


def test_differences_between_snapshots_and_with_the_tree_as_it_is(repo: Path) -> None:
    taken(repo)
    (repo / "new.txt").write_text("alpha\n")
    second = taken(repo)
    (repo / "new.txt").write_text("beta\n")
    before = untouched(repo)
    assert b"+alpha" in difference(str(repo), SESSION, "~1", second.id[:8])
    assert b"-alpha\n+beta" in difference(str(repo), SESSION)
    assert b"+beta" in difference(str(repo), SESSION, "~1")
    assert untouched(repo) == before
    assert len(listing(str(repo), SESSION)) == 2


def test_a_snapshot_is_named_by_the_beginning_of_its_id_or_from_the_end(repo: Path) -> None:
    with pytest.raises(NoSuchSnapshot, match="no snapshots"):
        choose([], None)
    first = taken(repo)
    (repo / "b").write_text("b")
    second = taken(repo)
    known = listing(str(repo), SESSION)
    assert choose(known, None) == choose(known, "~0") == choose(known, second.id[:6].upper()) == second
    assert choose(known, "~1") == first
    for unknown in ("", "~2", "~x", "zz", first.id + "0"):
        with pytest.raises(NoSuchSnapshot):
            choose(known, unknown)


@pytest.mark.parametrize("name", ["", "../x", "a/b", "-x", "a b", "a..b", "é"])
def test_a_name_that_cannot_be_a_sessions_is_refused(repo: Path, name: str) -> None:
    with pytest.raises(BadName):
        take(str(repo), name, "x", NOW)


def test_a_tree_of_20000_files(repo: Path) -> None:
    for number in range(200):
        folder = repo / f"d{number}"
        folder.mkdir()
        for file in range(100):
            (folder / f"f{file}").write_bytes(b"x")
    assert len(names(repo, taken(repo))) == 20_002


def of(repo: Path, content: str, name: str = "f.txt") -> Snapshot | None:
    (repo / name).write_text(content)
    return take(str(repo), SESSION, content, NOW)


def _ignore_in_a_file(repo: Path) -> None:
    (repo / ".gitignore").write_text("*.log\nbuild/\ngenerated\n")


def _ignore_in_the_exclude_file(repo: Path) -> None:
    (repo / ".git" / "info" / "exclude").write_text("generated\n")


def _ignore_below(repo: Path) -> None:
    (repo / "sub" / ".gitignore").write_text("generated\n")


@pytest.mark.parametrize("ignore", [_ignore_in_a_file, _ignore_in_the_exclude_file, _ignore_below])
def test_what_is_ignored_later_is_in_no_later_snapshot(repo: Path, ignore: Callable[[Path], None]) -> None:
    (repo / "sub").mkdir()
    (repo / "sub" / "generated").write_text("x")
    assert "sub/generated" in names(repo, taken(repo))
    (repo / "b.txt").write_text("b")
    assert "sub/generated" in names(repo, taken(repo)), "from the index that the first one left"
    ignore(repo)
    (repo / "c.txt").write_text("c")
    assert names(repo, taken(repo)) & {"sub/generated", "b.txt", "c.txt"} == {"b.txt", "c.txt"}


def test_what_is_ignored_and_added_by_force_later_is_in_the_next(repo: Path) -> None:
    (repo / "kept.log").write_text("1")
    assert "kept.log" not in names(repo, taken(repo))
    git(repo, "add", "-f", "kept.log")
    assert "kept.log" in names(repo, taken(repo))
    (repo / "kept.log").unlink()
    assert "kept.log" not in names(repo, taken(repo))
    (repo / "kept.log").write_text("again")
    assert "kept.log" in names(repo, taken(repo))


def test_a_change_in_the_same_tick_as_the_last_snapshot_is_seen(repo: Path) -> None:
    """The session's own index is as young as its entries; git must not trust them."""
    git(repo, "config", "core.trustctime", "false")
    git(repo, "config", "core.checkStat", "minimal")
    for content in ("one", "two", "six", "ten"):
        assert of(repo, content) is not None
    assert of(repo, "ten") is None
    stamp = (repo / "f.txt").stat().st_mtime_ns
    assert of(repo, "ten") is None, "the entries are settled now, or still in doubt; either is right"
    (repo / "f.txt").write_text("two")
    os.utime(repo / "f.txt", ns=(stamp, stamp + 3_000_000_000))
    assert take(str(repo), SESSION, "x", NOW) is not None


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"DIRC\0\0\0\2" + bytes(40)])
def test_a_damaged_index_of_our_own_does_not_matter(repo: Path, damage: bytes) -> None:
    taken(repo)
    index = repo / ".git" / "rekindle" / f"index-{SESSION}"
    found = index.stat()
    index.write_bytes(damage.ljust(found.st_size, b"\0"))
    os.utime(index, ns=(found.st_atime_ns, found.st_mtime_ns))
    (repo / "new.txt").write_text("new")
    assert names(repo, taken(repo)) == {".gitignore", "new.txt", "tracked.txt"}


def test_snapshots_that_were_removed_by_hand_are_not_counted_on(repo: Path) -> None:
    (repo / "new.txt").write_text("new")
    first = taken(repo)
    git(repo, "update-ref", "-d", f"refs/rekindle/{SESSION}/00000001")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "-q", "--prune=now")
    again = taken(repo)
    assert (again.tree, git(repo, "show", f"{again.id}:new.txt")) == (first.tree, "new")


def test_git_is_ended_at_once_and_there_is_no_half_of_a_snapshot(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    (repo / ".gitattributes").write_text("slow filter=slow\n")
    (repo / "slow").write_text("x")
    git(repo, "config", "--file", str(tmp_path / "gitconfig"), "filter.slow.clean", f"touch '{started}'; exec sleep 60")
    children = Children()
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(take, str(repo), SESSION, "x", NOW, children=children)
        while not started.exists() and not work.done():
            os.sched_yield()
        children.end()
        with pytest.raises(GitFailed):
            work.result(20)
    assert listing(str(repo), SESSION) == []
    with pytest.raises(GitFailed, match="stopping"):
        take(str(repo), SESSION, "x", NOW, children=children)


def test_pinned_ones_and_those_that_were_put_back_are_marked(repo: Path) -> None:
    first = taken(repo)
    assert of(repo, "1") is not None
    third = of(repo, "2")
    assert third is not None
    pin(str(repo), SESSION, third.id)
    restore(str(repo), SESSION, first.id, None, NOW)
    known = {one.reason: one.pinned for one in listing(str(repo), SESSION)}
    assert known == {"turn 1 has ended": True, "1": False, "2": True, f"{first.id[:10]} was put back": False}
    assert pin(str(repo), SESSION, third.id, pinned=False).pinned is False
    assert [one.pinned for one in listing(str(repo), SESSION)] == [True, False, False, False]


def test_all_of_it_is_on_the_disk_before_the_ref_is_made(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: set[str] = set()
    monkeypatch.setattr(
        "rekindle.adapters.git.new_objects.os.fsync", lambda fd: synced.add(os.readlink(f"/proc/self/fd/{fd}"))
    )
    monkeypatch.setattr("rekindle.adapters.snapshots.taking._TRIES", 1)
    lock = repo / ".git" / "refs" / "rekindle" / SESSION / "00000001.lock"
    lock.parent.mkdir(parents=True)
    lock.write_bytes(b"")
    (repo / "sub").mkdir()
    (repo / "sub" / "new.txt").write_text("new")
    (repo / "staged.txt").write_text("by the user")
    git(repo, "add", "staged.txt")
    objects = repo / ".git" / "objects"
    with pytest.raises(GitFailed):
        take(str(repo), SESSION, "x", NOW)
    loose = {str(path) for path in objects.glob("??/*")}
    begun = {str(objects / name[:2] / name[2:]) for name in git(repo, "rev-list", "--objects", "main").split()}
    assert loose - begun <= synced
    assert {str(Path(path).parent) for path in loose - begun} | {str(objects)} <= synced


def test_a_snapshot_that_came_too_late_for_a_turn_that_was_cut_does_not_hide_what_the_turn_wrote(
    repo: Path, tmp_path: Path
) -> None:
    began = time.time()
    for path in repo.iterdir():
        os.utime(path, (began - 60, began - 60))  # what was there before is older than any clock is coarse
    (repo / "ran.txt").write_text("by the turn")
    taken(repo, "the session begins", began - 5)
    cut = folded(
        [
            Created(at=began - 9, session=SESSION, agent="scripted", cwd=str(repo)),
            PromptQueued(at=began - 8, prompt="p", text="do it"),
            LaunchIntended(at=began - 7, attempt=1, generation=1, how="new"),
            Launched(at=began - 6, attempt=1, folder="/k/1", pid=1),
            Opened(at=began - 5, attempt=1, how="new", token="tok"),
            PromptSent(at=began, attempt=1, prompt="p", message=3, text="do it"),
            Exited(at=began + 1, attempt=1, how_ended="killed", by_us=False, cut=Cut(said="I do")),
        ]
    )
    place = LocalWorkplace(str(tmp_path / "sessions"), str(tmp_path / "sockets"))
    assert asyncio.run(place.changed(cut)) == ["ran.txt"]


def test_a_start_looks_at_the_work_tree_of_an_idle_session_once(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "a.txt").write_text("as the agent left it\n")
    take(str(repo), SESSION, "turn", NOW)
    (repo / "new.txt").write_text("by a person\n")
    idle = folded(
        [
            Created(at=1.0, session=SESSION, agent="scripted", cwd=str(repo)),
            LaunchIntended(at=2.0, attempt=1, generation=1, how="new"),
            Launched(at=3.0, attempt=1, folder="/k/1", pid=1),
            Exited(at=4.0, attempt=1, how_ended="stopped", by_us=True),
        ]
    )
    calls: list[str] = []
    start = process.start

    def counted(folder: str, words: Sequence[str], *more: Any) -> process.Process:
        calls.append(words[0])
        return start(folder, words, *more)

    monkeypatch.setattr(process, "start", counted)
    place = LocalWorkplace(str(tmp_path / "sessions"), str(tmp_path / "sockets"))
    asyncio.run(place.ready(idle))
    assert asyncio.run(place.changed(idle)) == ["new.txt"]
    assert calls.count("for-each-ref") == calls.count("diff-files") == 1
    (repo / "later.txt").write_text("after that\n")
    assert asyncio.run(place.changed(idle)) == ["later.txt", "new.txt"], "asked by itself it looks again"
