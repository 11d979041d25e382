"""git fails on a worktree that another git has half made. One at a time makes them, and what failed is repeated."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from rekindle.adapters.git import git as git_module
from rekindle.adapters.git.git import Git
from rekindle.adapters.git.linked_worktrees import make, registered
from rekindle.adapters.workplace.rebuilding import Wanted, rebuild
from rekindle.core.feature.naming import work_branch
from rekindle.core.git_half_made import changes_worktrees, half_made
from rekindle.ports.errors import GitFailed
from tests.unit.feature import repositories
from tests.unit.feature.repositories import FEATURE, Repo

REAL = shutil.which("git")
SAID = [
    (b"fatal: failed to read .git/worktrees/b/commondir: Success\n", "b"),
    (b"fatal: failed to read /r/worktrees/x/.git/worktrees/it's b/commondir: No such file or directory\n", "it's b"),
    (b"fatal: failed to read worktrees/b/commondir: Success\n", "b"),
    (b"fatal: bad object worktrees/b/HEAD\n", "b"),
    (b"fatal: could not create directory of '.git/worktrees/b': No such file or directory\n", "b"),
    (b"fatal: could not create directory of '.git/worktrees/b': Permission denied\n", None),
    (b"fatal: 'b' is already checked out at '/r/worktrees/b'\n", None),
    (b"", None),
]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return repositories.make(tmp_path / "repo")


def wrapper(folder: Path, monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """Have these lines of shell run around git, which is `real_git`."""
    folder.mkdir()
    program = folder / "git"
    program.write_text("\n".join(("#!/bin/sh", f'real_git() {{ "{REAL}" "$@"; }}', *lines)) + "\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def half_made_by_hand(repo: Repo, name: str) -> Path:
    """What another git has done when it has made `commondir` and has not written it yet."""
    entry = repo.root / ".git" / "worktrees" / name
    entry.mkdir(parents=True)
    (entry / "locked").write_text("initializing")
    (entry / "gitdir").write_text(f"{repo.root}-{name}/.git\n")
    (entry / "HEAD").write_text("0" * 40 + "\n")
    (entry / "commondir").touch()
    return entry / "commondir"


@pytest.mark.parametrize(("said", "name"), SAID)
def test_the_worktree_that_git_could_not_read(said: bytes, name: str | None) -> None:
    assert half_made(said) == name


def test_what_lists_worktrees_needs_no_turn() -> None:
    assert changes_worktrees(("worktree", "add", "x")) and changes_worktrees(["worktree", "prune"])
    assert not changes_worktrees(("worktree", "list")) and not changes_worktrees(("switch", "x"))


@pytest.mark.parametrize("how", ["one call", "several at once"])
def test_a_call_that_met_a_half_made_worktree_is_repeated_until_it_is_made(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    commondir = half_made_by_hand(repo, "b")
    count = tmp_path / "count"
    wrapper(
        tmp_path / "bin",
        monkeypatch,
        'case "$*" in *"worktree list"*) ;; *) real_git "$@"; exit;; esac',
        f'echo call >> "{count}"',
        f'[ "$(wc -l < "{count}")" -lt 4 ] || echo ../.. > "{commondir}"',
        'real_git "$@"',
    )
    git = Git(str(repo.root))
    words = ("worktree", "list", "--porcelain")
    told = git.output(*words) if how == "one call" else git.outputs(words)[0]
    assert f"worktree {repo.root}-b".encode() in told
    assert len(count.read_text().splitlines()) == 4


def test_a_worktree_that_a_killed_git_left_half_made_blocks_nobody(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    commondir = half_made_by_hand(repo, "b")
    with pytest.raises(subprocess.CalledProcessError):
        repo.git("worktree", "list")
    monkeypatch.setattr(git_module, "PAUSES", (0.01, 0.01))
    feature = repo.begun("a")
    assert Path(feature.tree_of("a", work_branch(FEATURE, "a")), "readme.txt").exists()
    assert commondir.read_text() == "../..\n"
    assert f"{repo.root}-b" in repo.git("worktree", "list")


def test_the_number_of_repetitions_is_bounded(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "fatal: failed to read .git/worktrees/b/commondir: Success"
    count = tmp_path / "count"
    wrapper(tmp_path / "bin", monkeypatch, f'echo call >> "{count}"', f'echo "{said}" >&2', "exit 128")
    monkeypatch.setattr(git_module, "PAUSES", (0.0, 0.0))
    with pytest.raises(GitFailed, match="commondir"):
        Git(str(repo.root)).output("worktree", "list")
    assert len(count.read_text().splitlines()) == 3


def test_a_feature_a_session_and_another_process_make_their_worktrees_one_after_the_other(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each `git worktree add` is slow here, so that any two that are not kept apart overlap."""
    feature = repo.begun()
    lost = make(str(repo.root), "lost")
    shutil.rmtree(lost.path or "")
    repo.git("worktree", "prune")
    inside, overlaps = tmp_path / "inside", tmp_path / "overlaps"
    wrapper(
        tmp_path / "bin",
        monkeypatch,
        'case "$*" in *"worktree add"*) ;; *) real_git "$@"; exit;; esac',
        f'mkdir "{inside}" 2>/dev/null || echo "$*" >> "{overlaps}"',
        'sleep 0.4; real_git "$@"; status=$?',
        f'rmdir "{inside}" 2>/dev/null; exit $status',
    )
    code = "import sys; from rekindle.adapters.git.linked_worktrees import make; make(sys.argv[1], sys.argv[2])"
    others = [subprocess.Popen([sys.executable, "-c", code, str(repo.root), f"other-{number}"]) for number in range(2)]
    wanted = Wanted("s1", lost.cwd, lost.path, lost.branch, lost.repository)
    with ThreadPoolExecutor() as pool:
        made: list[Future[object]] = [
            pool.submit(feature.prepare, "a", work_branch(FEATURE, "a"), "s"),
            pool.submit(repo.feature().prepare, "b", work_branch(FEATURE, "b"), "s"),
            pool.submit(make, str(repo.root), "mine"),
            pool.submit(rebuild, wanted),
        ]
        for one in made:
            one.result()
    assert [other.wait() for other in others] == [0, 0]
    assert not overlaps.exists(), overlaps.read_text()
    names = {os.path.basename(one.path) for one in registered(Git(str(repo.root)))}
    assert names == {"repo", "a", "b", "mine", "lost", "other-0", "other-1"}


def test_many_who_add_and_remove_worktrees_at_once_all_succeed(repo: Repo) -> None:
    """A plain git of the user's does the same at the same time: it takes no turn, so that ours has to try again."""
    features = [repo.begun(), repo.feature(), repo.feature()]

    def ours(number: int) -> None:
        task = f"t{number}"
        for _ in range(4):
            features[number].prepare(task, work_branch(FEATURE, task), "s")
            assert features[number].clear(task, work_branch(FEATURE, task)).removed_tree is not None

    def theirs() -> None:
        for number in range(12):
            path = f"{repo.root}-user-{number}"
            subprocess.run(
                ["git", "-C", str(repo.root), "worktree", "add", "-q", "--detach", path], capture_output=True
            )

    with ThreadPoolExecutor() as pool:
        for one in [pool.submit(ours, 0), pool.submit(ours, 1), pool.submit(ours, 2), pool.submit(theirs)]:
            one.result()
