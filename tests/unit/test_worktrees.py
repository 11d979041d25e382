"""A worktree per session on real repositories: made beside the user's checkout, and built again when it is gone."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from rekindle.adapters.git.git import Git
from rekindle.adapters.git.linked_worktrees import make, registered
from rekindle.adapters.snapshots.changes import changed_since, conflict, look
from rekindle.adapters.snapshots.taking import listing, take
from rekindle.adapters.snapshots.thinning import thin
from rekindle.adapters.workplace import rebuilding
from rekindle.adapters.workplace.rebuilding import Wanted, is_missing, rebuild
from rekindle.core.thinning import DAY
from rekindle.ports.errors import BadName, NoRepository, NoWorktree, WorktreeLost
from rekindle.ports.worktrees import SessionWorktree
from tests.unit.test_snapshots import NOW, ODD, SESSION, git, untouched


@pytest.fixture(autouse=True)
def _plain_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / "sub").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    (root / "tracked.txt").write_text("one\n")
    (root / "sub" / "deep.txt").write_text("deep\n")
    (root / ".gitignore").write_text("*.log\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "begin")
    (root / "dirty.txt").write_text("mine")
    (root / "tracked.txt").write_text("edited by the user\n")
    return root


def wanted(made: SessionWorktree) -> Wanted:
    return Wanted(SESSION, made.cwd, made.path, made.branch, made.repository)


def of_the_user(repo: Path) -> tuple[object, ...]:
    index, head, _, status, config, _ = untouched(repo)
    branch = git(repo, "rev-parse", "main")
    files = {path.name: path.read_bytes() for path in repo.iterdir() if path.is_file()}
    return index, head, status, config, branch, files


def keep(made: SessionWorktree, reason: str = "turn 1 has ended") -> None:
    assert take(made.cwd, SESSION, reason, NOW, within=made.path) is not None


def test_it_is_made_beside_the_checkout_which_stays_as_it_is(repo: Path) -> None:
    before = of_the_user(repo)
    made = make(str(repo / "sub"), "fix")
    assert of_the_user(repo) == before
    assert made.path == str(repo / ".worktrees" / "fix")
    assert made.cwd == str(repo / ".worktrees" / "fix" / "sub")
    assert (made.branch, made.repository) == ("rekindle/fix", str(repo))
    assert (Path(made.cwd) / "deep.txt").read_text() == "deep\n"
    assert not (Path(made.path) / "dirty.txt").exists()
    assert made.notices == (f"changes in {repo} that are not committed are not in the worktree",)
    assert "/.worktrees/" in (repo / ".git" / "info" / "exclude").read_text().splitlines()


def test_from_a_worktree_and_with_a_detached_head_it_begins_with_what_is_checked_out(
    repo: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    git(repo, "worktree", "add", "-q", "--detach", str(other))
    git(other, "commit", "-q", "--allow-empty", "-m", "more")
    made = make(str(other), "work/auth/x")
    assert (made.path, made.branch) == (str(repo / ".worktrees" / "work-auth-x"), "work/auth/x")
    assert git(Path(made.cwd), "rev-parse", "HEAD") == git(other, "rev-parse", "HEAD")
    assert made.notices == ()


def test_another_place_can_be_chosen_and_a_folder_that_is_not_committed_is_made(repo: Path, tmp_path: Path) -> None:
    (repo / "new").mkdir()
    made = make(str(repo / "new"), "x", str(tmp_path / "trees"))
    assert made.cwd == str(tmp_path / "trees" / "x" / "new")
    assert os.listdir(made.cwd) == []


def test_a_branch_that_is_there_and_a_worktree_that_is_there_are_used(repo: Path) -> None:
    git(repo, "branch", "rekindle/x")
    first = make(str(repo), "x")
    assert make(str(repo), "x") == SessionWorktree(first.cwd, first.path, first.repository, first.branch)


def test_what_cannot_be_made_is_refused_with_what_to_do(repo: Path, tmp_path: Path) -> None:
    empty, bare = tmp_path / "empty", tmp_path / "bare.git"
    empty.mkdir()
    with pytest.raises(NoRepository):
        make(str(empty), "x")
    git(empty, "init", "-q")
    git(tmp_path, "init", "-q", "--bare", str(bare))
    for place in (empty, bare):
        with pytest.raises(NoWorktree, match="no commit"):
            make(str(place), "x")
    git(repo, "worktree", "add", "-q", "-b", "rekindle/taken", str(tmp_path / "elsewhere"))
    with pytest.raises(NoWorktree, match=r"checked out in .*elsewhere"):
        make(str(repo), "taken")
    git(repo, "branch", "topic/y")
    (repo / ".worktrees" / "full").mkdir(parents=True)
    (repo / ".worktrees" / "full" / "file").write_text("x")
    with pytest.raises(NoWorktree, match="no worktree of this repository"):
        make(str(repo), "full")
    assert (repo / ".worktrees" / "full" / "file").read_text() == "x"
    made = make(str(repo), "gone")
    assert made.path is not None
    shutil.rmtree(made.path)
    with pytest.raises(NoWorktree, match="folder is gone"):
        make(str(repo), "gone")
    for name in ("", "..", "a..b", "-x", "a b~", "x.lock", "/x", "x/", "a\nb", "a" * 200):
        with pytest.raises(BadName):
            make(str(repo), name)


def test_a_bare_repository_with_commits_has_worktrees_too(repo: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(bare))
    made = make(str(bare), "x")
    assert made.cwd == made.path
    assert (Path(made.cwd) / "tracked.txt").read_text() == "one\n"


@pytest.mark.parametrize("pruned", [False, True])
def test_a_deleted_worktree_comes_back_with_everything_that_git_can_keep(repo: Path, *, pruned: bool) -> None:
    made = make(str(repo / "sub"), "x")
    top = Path(made.path or "")
    raw = os.fsencode(top)
    (top / "tracked.txt").write_text("changed\n")
    (top / "sub" / "deep.txt").unlink()
    for name in ODD:
        os.makedirs(os.path.join(raw, b"odd", name))
        with open(os.path.join(raw, b"odd", name, name), "wb") as file:
            file.write(b"in " + name)
    (top / "tool").write_text("#!/bin/sh\n")
    (top / "tool").chmod(0o755)
    (top / "link").symlink_to("no such file")
    git(top, "commit", "-q", "--allow-empty", "-m", "of the agent")
    git(top, "add", "tool")
    tip, status = git(top, "rev-parse", "HEAD"), git(top, "status", "--porcelain", "-z")
    keep(made)
    shutil.rmtree(top)
    if pruned:
        git(repo, "worktree", "prune")
    before = of_the_user(repo)
    assert is_missing(wanted(made))
    [told] = rebuild(wanted(made))
    assert "built again" in told
    assert of_the_user(repo) == before
    assert not is_missing(wanted(made))
    assert (git(top, "rev-parse", "HEAD"), git(top, "branch", "--show-current").strip()) == (tip, "rekindle/x")
    if not pruned:
        assert git(top, "status", "--porcelain", "-z") == status, "git had kept the index"
    assert (top / "tracked.txt").read_text() == "changed\n"
    assert os.path.isdir(made.cwd)
    assert not (top / "sub" / "deep.txt").exists()
    assert sorted(os.listdir(os.path.join(raw, b"odd"))) == sorted(ODD)
    for name in ODD:
        with open(os.path.join(raw, b"odd", name, name), "rb") as file:
            assert file.read() == b"in " + name
    assert (top / "tool").stat().st_mode & stat.S_IXUSR
    assert os.readlink(top / "link") == "no such file"
    assert changed_since(made.cwd, SESSION) == []


def test_a_branch_that_was_deleted_too_is_made_again(repo: Path) -> None:
    made = make(str(repo), "x")
    top = Path(made.path or "")
    (top / "new.txt").write_text("new")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "only here")
    tip = git(top, "rev-parse", "HEAD")
    (top / "untracked.txt").write_text("u")
    keep(made)
    shutil.rmtree(top)
    git(repo, "worktree", "prune")
    git(repo, "branch", "-D", "rekindle/x")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "-q", "--prune=now")
    [told] = rebuild(wanted(made))
    assert "was made again" in told
    assert git(top, "rev-parse", "HEAD") == tip
    assert ((top / "new.txt").read_text(), (top / "untracked.txt").read_text()) == ("new", "u")


def test_a_branch_that_the_main_worktree_has_is_left_to_it(repo: Path, tmp_path: Path) -> None:
    """A session that worked in a checkout of another host comes to a clone that has the same branch checked out."""
    assert take(str(repo), SESSION, "turn 1 has ended", NOW) is not None
    head, top = git(repo, "rev-parse", "HEAD"), tmp_path / SESSION
    before = of_the_user(repo)
    [told] = rebuild(Wanted(SESSION, str(top), str(top), f"rekindle/{SESSION}", str(repo)))
    assert f"the branch rekindle/{SESSION}" in told
    assert git(top, "rev-parse", "--abbrev-ref", "HEAD").strip() == f"rekindle/{SESSION}"
    assert git(top, "rev-parse", "HEAD") == head
    assert (top / "tracked.txt").read_text() == "edited by the user\n"
    assert (top / "dirty.txt").read_text() == "mine"
    assert of_the_user(repo) == before


def test_without_a_snapshot_it_is_built_from_its_branch(repo: Path) -> None:
    made = make(str(repo), "x")
    shutil.rmtree(made.path or "")
    git(repo, "worktree", "prune")
    rebuild(wanted(made))
    assert (Path(made.cwd) / "tracked.txt").read_text() == "one\n"
    assert git(Path(made.cwd), "status", "--porcelain") == ""


def test_a_branch_that_has_moved_keeps_what_it_has_and_the_rest_is_told(repo: Path, tmp_path: Path) -> None:
    made = make(str(repo), "x")
    top = Path(made.path or "")
    (top / "tracked.txt").write_text("of the agent\n")
    (top / "untracked.txt").write_text("of the agent\n")
    keep(made)
    shutil.rmtree(top)
    git(repo, "worktree", "prune")
    other = tmp_path / "other"
    git(repo, "worktree", "add", "-q", str(other), "rekindle/x")
    (other / "tracked.txt").write_text("of the branch\n")
    (other / "sub" / "deep.txt").write_text("of the branch\n")
    git(other, "commit", "-q", "-a", "-m", "moved")
    with pytest.raises(WorktreeLost, match=r"other.*rekindle restore"):
        rebuild(wanted(made))
    git(repo, "worktree", "remove", str(other))
    told = rebuild(wanted(made))
    assert "other contents of: tracked.txt" in told[1]
    contents = [(top / name).read_text() for name in ("tracked.txt", "sub/deep.txt", "untracked.txt")]
    assert contents == ["of the branch\n", "of the branch\n", "of the agent\n"]


def test_a_locked_worktree_waits_for_its_disk(repo: Path) -> None:
    made = make(str(repo), "x")
    keep(made)
    git(repo, "worktree", "lock", "--reason", "on a stick", made.path or "")
    shutil.rmtree(made.path or "")
    with pytest.raises(WorktreeLost, match=r"locked \(on a stick\).*git worktree unlock"):
        rebuild(wanted(made))
    assert not os.path.exists(made.path or "")


def test_what_stands_in_its_place_is_left_alone(repo: Path) -> None:
    made = make(str(repo), "x")
    top = Path(made.path or "")
    keep(made)
    shutil.rmtree(top)
    git(repo, "worktree", "prune")
    top.mkdir()
    (top / "somebody.txt").write_text("else's")
    with pytest.raises(WorktreeLost, match="move it away"):
        rebuild(wanted(made))
    assert os.listdir(top) == ["somebody.txt"]


def test_a_worktree_that_lost_its_link_has_it_again_and_its_files_stay(repo: Path) -> None:
    made = make(str(repo), "x")
    top = Path(made.path or "")
    keep(made)
    (top / "tracked.txt").write_text("later\n")
    (top / ".git").unlink()
    assert is_missing(wanted(made))
    [told] = rebuild(wanted(made))
    assert "left as they are" in told
    assert (top / "tracked.txt").read_text() == "later\n"
    assert not is_missing(wanted(made))


def test_a_folder_in_the_worktree_comes_back_alone(repo: Path) -> None:
    made = make(str(repo / "sub"), "x")
    top = Path(made.path or "")
    (top / "sub" / "new.txt").write_text("new")
    keep(made)
    shutil.rmtree(top / "sub")
    (top / "tracked.txt").write_text("later\n")
    rebuild(wanted(made))
    assert ((top / "sub" / "new.txt").read_text(), (top / "tracked.txt").read_text()) == ("new", "later\n")


def test_a_session_in_a_worktree_of_the_users_gets_that_back_and_nothing_else(repo: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(repo, "worktree", "add", "-q", "--detach", str(other))
    (other / "new.txt").write_text("new")
    assert take(str(other), SESSION, "x", NOW) is not None
    shutil.rmtree(other)
    rebuild(Wanted(SESSION, str(other), repository=str(repo)))
    assert (other / "new.txt").read_text() == "new"
    assert [one.path for one in registered(Git(str(repo)))] == [str(repo), str(other)]
    plain = tmp_path / "plain"
    for place in (plain, repo / "no such folder"):
        with pytest.raises(WorktreeLost, match="rekindle resume"):
            rebuild(Wanted(SESSION, str(place), repository=str(repo)))
        assert not place.exists()


def test_a_tree_that_is_gone_is_not_mistaken_for_the_one_around_it(repo: Path) -> None:
    made = make(str(repo), "x")
    keep(made)
    shutil.rmtree(made.path or "")
    assert take(made.cwd, SESSION, "attempt 1 has ended", NOW, within=made.path) is None
    assert changed_since(made.cwd, SESSION, made.path) is None
    assert len(listing(str(repo), SESSION)) == 1


def test_files_that_changed_since_are_named_in_order(repo: Path) -> None:
    assert changed_since(str(repo), SESSION) is None
    assert take(str(repo), SESSION, "turn 1 has ended", NOW) is not None
    assert changed_since(str(repo), SESSION) == []
    before = untouched(repo)
    objects = sum(len(found) for _, _, found in os.walk(repo / ".git" / "objects"))
    (repo / "z.txt").write_text("z")
    (repo / "b\n.txt").write_text("b")
    (repo / "tracked.txt").unlink()
    assert changed_since(str(repo), SESSION) == ["b\\n.txt", "tracked.txt", "z.txt"]
    assert conflict(look(str(repo), SESSION), SESSION) is None, "nothing else was checked out"
    assert untouched(repo)[:3] == before[:3]
    assert objects == sum(len(found) for _, _, found in os.walk(repo / ".git" / "objects")), "looking leaves nothing"


def test_work_that_went_away_with_the_branch_is_told(repo: Path) -> None:
    made = make(str(repo), "x")
    top = Path(made.path or "")
    (top / "tracked.txt").write_text("of the agent\n")
    keep(made)
    git(top, "commit", "-q", "-a", "-m", "somebody committed it")
    assert conflict(look(made.cwd, SESSION), SESSION) is None, "it is all there"
    git(top, "reset", "-q", "--hard", "HEAD~1")
    assert conflict(look(made.cwd, SESSION), SESSION) is None, "nothing has moved after all"
    git(top, "commit", "-q", "--allow-empty", "-m", "elsewhere")
    told = conflict(look(made.cwd, SESSION), SESSION)
    assert told is not None
    assert "rekindle/x was moved" in told
    assert "tracked.txt; nothing was overwritten" in told
    assert changed_since(made.cwd, SESSION) == ["tracked.txt"]


def test_old_snapshots_go_and_nothing_that_must_stay(repo: Path) -> None:
    for number in range(6):
        (repo / "n.txt").write_text(str(number))
        assert take(str(repo), SESSION, f"n{number}", NOW + number * 60) is not None
    before = untouched(repo)
    gone = thin(str(repo), SESSION, NOW + 40 * DAY)
    assert [one.reason for one in gone] == ["n1", "n2", "n3", "n4"]
    assert [one.reason for one in listing(str(repo), SESSION)] == ["n0", "n5"]
    assert thin(str(repo), SESSION, NOW + 40 * DAY) == []
    assert untouched(repo) == before
    (repo / "n.txt").write_text("more")
    made = take(str(repo), SESSION, "n6", NOW)
    assert made is not None
    assert made.number == 7, "numbers are not used again"


@pytest.mark.parametrize("pruned", [True, False])
@pytest.mark.parametrize("killed_in", ["laying out", "before it"])
def test_who_is_killed_while_building_it_again_leaves_it_marked_and_the_next_start_goes_on(
    repo: Path, monkeypatch: pytest.MonkeyPatch, killed_in: str, *, pruned: bool
) -> None:
    made = make(str(repo), "x")
    top = Path(made.path or "")
    (top / "new.txt").write_text("of the agent")
    keep(made)
    shutil.rmtree(top)
    if pruned:
        git(repo, "worktree", "prune")

    def killed(_git: Git, *_: object) -> list[str]:
        if killed_in == "laying out":
            (top / "new.txt").write_text("of")  # as far as it had got
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(rebuilding, "_lay_out", killed)
        with pytest.raises(KeyboardInterrupt):
            rebuild(wanted(made))
    assert is_missing(wanted(made)), "an agent would take the missing files for removed ones"
    [told] = rebuild(wanted(made))
    assert "half built" in told
    assert not is_missing(wanted(made))
    assert (top / "new.txt").read_text() == "of the agent"
    assert (top / "tracked.txt").read_text() == "one\n"
    assert [one.locked for one in registered(Git(str(repo)))] == [None, None]
    assert git(top, "status", "--porcelain").split() == ["??", "new.txt"]
