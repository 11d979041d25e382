"""Lock files in a feature's way, and gits that are killed: nothing of the living is taken, nothing of ours stays."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rekindle.adapters.feature_git.git_feature import GitFeature
from rekindle.adapters.git import locks as git_locks
from rekindle.adapters.git import process as git_process
from rekindle.ports.errors import GitKilled, GitLocked
from tests.unit.feature.repositories import Repo, make


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make(tmp_path / "repo")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_locks, "WATCHED", 0.3)
    monkeypatch.setattr(git_locks, "PATIENCE", 1.0)


def locked(folder: str | Path, name: str) -> Path:
    lock = Path(folder, f"{name}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_bytes(b"")
    return lock


def git_dir(repo: Repo, tree: str) -> Path:
    return Path(repo.git("rev-parse", "--absolute-git-dir", cwd=tree))


@contextmanager
def holding(lock: Path) -> Iterator[int]:
    """A living process that has a lock open."""
    code = "import sys; held = open(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


def work(repo: Repo, feature: GitFeature) -> None:
    """Everything that a run does with a task."""
    repo.worked(feature, "a")
    feature.begin_checks("a", "work/shop/a", repo.git("rev-parse", "work/shop/a"))
    assert repo.merged(feature, "a") == repo.git("rev-parse", "feature/shop")
    feature.clear("a", "work/shop/a")
    feature.clear_integration()


@pytest.mark.parametrize("when", [0, 1, 2**33])
@pytest.mark.parametrize("where", ["index", "HEAD", "integration index", "integration HEAD", "left", "done"])
def test_a_lock_of_the_dead_where_only_we_write_is_removed_and_named(repo: Repo, where: str, when: int) -> None:
    feature = repo.begun("a")
    tree = feature.integration() if where.startswith("integration") else feature.tree_of("a", "work/shop/a")
    refs = repo.root / ".git" / "refs" / "rekindle"
    lock = (
        locked(refs / where / "shop", "a")
        if where in ("left", "done")
        else locked(git_dir(repo, tree), where.split()[-1])
    )
    if when:
        os.utime(lock, (when, when))
    if where.startswith("integration"):
        Path(tree, "left.txt").write_text("so that the index has to be written")
    work(repo, feature)
    assert not lock.exists()
    assert [str(lock) in one for one in feature.notices() if one.startswith("a lock")] == [True]


@pytest.mark.parametrize("name", ["refs/heads/feature/shop", "refs/heads/work/shop/a", "packed-refs"])
def test_any_other_lock_is_named_with_age_and_owner_and_left_to_a_person(repo: Repo, name: str) -> None:
    feature = repo.begun("a")
    lock = locked(repo.root / ".git", name)
    os.utime(lock, (1, 1))
    with pytest.raises(GitLocked) as met:
        work(repo, feature)
    told = met.value.message
    assert str(lock) in told and "days old" in told and "no process has it open" in told
    assert f"created by {os.environ.get('USER', '')}" in told
    assert met.value.hint.endswith("rekindle resume shop --remove-locks")
    repo.seen(feature, "a")
    [found] = feature.locks()
    assert found.path == str(lock) and found.may_go
    assert git_locks.remove(found) and not git_locks.remove(found)
    if os.path.isdir(feature.tree_of("a", "work/shop/a")):
        repo.worked(feature, "a")
    assert repo.merged(feature, "a") and feature.clear("a", "work/shop/a").deleted_branch


def test_a_stale_lock_of_the_configuration_is_found(repo: Repo) -> None:
    feature = repo.begun("a")
    lock = locked(repo.root / ".git", "config")
    assert [one.path for one in feature.locks()] == [str(lock)]


def test_a_lock_that_a_living_process_has_open_is_waited_for_and_named_and_stays(repo: Repo) -> None:
    feature = repo.begun("a")
    Path(feature.tree_of("a", "work/shop/a"), "a.txt").write_text("x")
    lock = locked(git_dir(repo, feature.tree_of("a", "work/shop/a")), "index")
    os.utime(lock, (1, 1))
    with holding(lock) as pid:
        with pytest.raises(GitLocked, match=rf"\(pid {pid}\) has it open"):
            feature.commit("a", "work/shop/a", "work")
        assert lock.exists()
    feature.commit("a", "work/shop/a", "work")
    assert not lock.exists()


def test_a_git_that_works_in_the_repository_may_be_the_owner_of_a_lock(repo: Repo) -> None:
    feature = repo.begun("a")
    Path(feature.tree_of("a", "work/shop/a"), "a.txt").write_text("x")
    lock = locked(git_dir(repo, feature.tree_of("a", "work/shop/a")), "index")
    with subprocess.Popen(["git", "cat-file", "--batch"], cwd=repo.root, stdin=subprocess.PIPE) as process:
        with pytest.raises(GitLocked, match=rf"git \(pid {process.pid}\) works in this repository"):
            feature.commit("a", "work/shop/a", "work")
        process.kill()
    assert lock.exists()


def test_a_lock_that_goes_away_in_time_holds_nobody_up(repo: Repo) -> None:
    feature = repo.begun("a")
    Path(feature.tree_of("a", "work/shop/a"), "a.txt").write_text("x")
    lock = locked(git_dir(repo, feature.tree_of("a", "work/shop/a")), "index")
    with subprocess.Popen(["sh", "-c", 'exec 3<"$1"; sleep 0.5; rm "$1"', "sh", str(lock)]):
        feature.commit("a", "work/shop/a", "work")
    assert feature.notices() == ()


class Killer:
    """Kills chosen calls of git in the middle, as often as it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, command: str, times: int) -> None:
        self.command, self.times = command, times
        self._start = git_process.start
        monkeypatch.setattr(git_process, "start", self.start)

    def start(self, folder: str, words: list[str], *more: object, **named: object) -> git_process.Process:
        process = self._start(folder, words, *more, **named)  # type: ignore[arg-type]
        if self.times and self.command in words:
            self.times -= 1
            process.kill()
        return process


@pytest.mark.parametrize(
    "command", ["rev-parse", "merge-base", "add", "commit", "merge", "update-ref", "reset", "worktree", "status"]
)
def test_what_a_killed_git_was_at_is_done_again(repo: Repo, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    feature = repo.begun()
    killer = Killer(monkeypatch, command, 2)
    feature.prepare("a", "work/shop/a", "s")
    feature.integration()
    work(repo, feature)
    assert killer.times == 0
    assert repo.git("show", "feature/shop:a.txt") == "x"
    assert len(repo.git("rev-list", "--first-parent", "main..feature/shop").split()) == 1


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("dot_git", ["whole", "empty", "missing"])
def test_a_worktree_that_a_killed_git_left_half_made_is_made_anew(repo: Repo, dot_git: str, marked: bool) -> None:
    """It is registered without a commit in its HEAD; it may have lost git's mark, and may not have its `.git` yet."""
    feature = repo.begun("a")
    path = Path(feature.tree_of("a", "work/shop/a"))
    entry = git_dir(repo, str(path))
    (entry / "HEAD").write_text("0" * 40 + "\n")
    (entry / "index").unlink()
    (path / "readme.txt").unlink()
    if marked:
        (entry / "locked").write_text("initializing")
    if dot_git == "empty":
        (path / ".git").write_text("")
    elif dot_git == "missing":
        (path / ".git").unlink()
    feature.prepare("a", "work/shop/a", "s")
    work(repo, feature)
    assert repo.git("show", "feature/shop:a.txt") == "x"


def test_a_git_that_is_killed_again_and_again_is_named(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    feature = repo.begun("a")
    run = git_process.start

    def start(folder: str, _words: list[str], *more: object) -> git_process.Process:
        process = run(folder, ["hash-object", "--stdin"], *more)  # type: ignore[arg-type]
        process.kill()  # it waits for its input, so that it cannot have ended
        return process

    monkeypatch.setattr(git_process, "start", start)
    with pytest.raises(GitKilled, match=r"git status in .* was killed \(signal 9\)"):
        repo.seen(feature, "a")


@pytest.mark.parametrize("name", ["refs/heads/feature/shop", "packed-refs"])
def test_a_lock_that_our_own_killed_git_left_on_a_branch_is_removed(
    repo: Repo, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    feature = repo.begun("a")
    repo.worked(feature, "a")
    run = git_process.start
    left: list[Path] = []

    def start(folder: str, words: list[str], *more: object) -> git_process.Process:
        process = run(folder, words, *more)  # type: ignore[arg-type]
        wanted = "--stdin" if name.startswith("refs/heads") else "-d"
        if not left and "update-ref" in words and wanted in words:
            process.kill()
            process.wait()
            left.append(locked(repo.root / ".git", name))
        return process

    monkeypatch.setattr(git_process, "start", start)
    assert repo.merged(feature, "a") == repo.git("rev-parse", "feature/shop")
    feature.clear("a", "work/shop/a")
    assert left and not left[0].exists()
    assert any(str(left[0]) in one for one in feature.notices())
