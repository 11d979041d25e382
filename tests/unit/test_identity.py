"""A repository is known again under another path, and a copy is not taken for it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rekindle.adapters.git import identity, repository
from rekindle.adapters.git.repository import Repository
from rekindle.adapters.vault.relocating import carry_records
from rekindle.agents.registry import record_place
from rekindle.core.identity import RepositoryIdentity, SeenFolder, carried, judge
from rekindle.core.session.state import Session
from rekindle.ports.identity import KnownRepository
from tests.unit.feature.repositories import make

_seen = st.builds(SeenFolder, st.sampled_from(["/a", "/b"]), st.just(1), st.integers(1, 2))


def found(path: Path) -> Repository:
    repo = repository.find(str(path))
    assert repo is not None
    return repo


@given(_seen, _seen, st.one_of(st.none(), st.builds(RepositoryIdentity, st.sampled_from(["x", "y"]), _seen)))
def test_only_what_stands_where_it_was_with_the_same_id_makes_a_copy(
    was: SeenFolder, here: SeenFolder, there: RepositoryIdentity | None
) -> None:
    verdict = judge(RepositoryIdentity("x", was), here, there)
    if here.path == was.path:
        assert verdict == "same"
    elif verdict == "copy":
        assert there is not None and there.id == "x" and there.seen.folder != here.folder
    else:
        assert verdict == "moved"


def test_paths_below_a_folder_follow_it_and_others_stay() -> None:
    assert carried("/a/b/c", "/a/b", "/x") == "/x/c"
    assert carried("/a/b", "/a/b", "/x") == "/x"
    assert carried("/a/bc", "/a/b", "/x") == "/a/bc"


def test_an_id_is_made_once_for_this_user_alone_and_stays_with_the_repository(tmp_path: Path) -> None:
    repo = make(tmp_path / "one")
    first = identity.ensure(found(repo.root))
    assert identity.ensure(found(repo.root)) == first
    [file] = (repo.root / ".git" / "rekindle").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    new = tmp_path / "two é\udcff"
    os.rename(repo.root, os.fsencode(new))
    seen = identity.find(found(new))
    assert seen == KnownRepository(first, "moved", str(repo.root))
    identity.settle(found(new), seen)
    assert identity.find(found(new)) == KnownRepository(first, "same")


def test_a_copy_gets_an_id_of_its_own_and_its_own_worktrees(tmp_path: Path) -> None:
    repo = make(tmp_path / "one")
    repo.git("worktree", "add", "-q", "-b", "w", str(repo.root / ".trees" / "w"))
    repo.git("worktree", "add", "-q", "-b", "v", str(tmp_path / "outside"))
    first = identity.ensure(found(repo.root))
    shutil.copytree(repo.root, tmp_path / "two", symlinks=True)
    copy = found(tmp_path / "two")
    assert identity.ensure(copy) != first == identity.ensure(found(repo.root))
    for root in (repo.root, tmp_path / "two"):
        tree = root / ".trees" / "w"
        assert repo.git("rev-parse", "--path-format=absolute", "--git-common-dir", cwd=tree) == str(root / ".git")
        assert str(tree) in repo.git("worktree", "list", cwd=root)
    common = repo.git("rev-parse", "--path-format=absolute", "--git-common-dir", cwd=tmp_path / "outside")
    assert common == str(repo.root / ".git"), "what was not copied stays where it belongs"


def test_a_moved_repository_finds_its_worktrees_inside_and_outside(tmp_path: Path) -> None:
    repo = make(tmp_path / "one")
    repo.git("worktree", "add", "-q", "-b", "w", str(repo.root / ".trees" / "w"))
    repo.git("worktree", "add", "-q", "-b", "v", str(tmp_path / "outside"))
    identity.ensure(found(repo.root))
    new = tmp_path / "deep" / "two"
    new.parent.mkdir()
    repo.root.rename(new)
    seen = identity.find(found(new))
    assert seen is not None
    for _ in range(2):
        identity.put_right(found(new), seen, str(tmp_path / "state"), str(new / ".claude" / "progress"))
        for tree in (new / ".trees" / "w", tmp_path / "outside"):
            assert repo.git("status", "--porcelain", cwd=tree) == ""
            assert repo.git("rev-parse", "--path-format=absolute", "--git-common-dir", cwd=tree) == str(new / ".git")


def test_a_repository_that_claims_the_place_of_another_takes_nothing_from_it(tmp_path: Path) -> None:
    victim = make(tmp_path / "victim")
    tree = victim.root / ".trees" / "w"
    victim.git("worktree", "add", "-q", "-b", "w", str(tree))
    identity.ensure(found(victim.root))
    other = make(tmp_path / "other")
    identity.ensure(found(other.root))
    file = other.root / ".git" / "rekindle" / "identity.json"
    file.write_text(file.read_text().replace(str(other.root), str(victim.root)).replace('"inode":', '"inode":1'))
    entry = other.root / ".git" / "worktrees" / "w"
    entry.mkdir(parents=True)
    (entry / "gitdir").write_text(f"{tree}/.git\n")
    seen = identity.find(found(other.root))
    assert seen is not None and seen.verdict == "moved"
    identity.put_right(found(other.root), seen, str(tmp_path / "state"), str(other.root / ".claude" / "progress"))
    common = victim.git("rev-parse", "--path-format=absolute", "--git-common-dir", cwd=tree)
    assert common == str(victim.root / ".git")


def test_the_record_of_an_agent_that_keeps_it_by_folder_follows_and_is_never_written_over(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path / "home")}
    token = "0f0e0d0c-0b0a-4908-8706-050403020100"
    session = Session("s", "claude", str(tmp_path / "one"), 0.0, token=token)
    places = [record_place("claude", env, str(tmp_path / name), token) for name in ("one", "two")]
    old, new = (Path(str(place)) for place in places)
    old.parent.mkdir(parents=True)
    old.write_text("one\n")
    assert carry_records(session, str(tmp_path / "two"), env) == []
    assert new.read_text() == "one\n" and old.exists()
    old.write_text("one\ntwo\n")
    assert carry_records(session, str(tmp_path / "two"), env) == []
    assert new.read_text() == "one\ntwo\n", "it has been added to since"
    new.write_text("another conversation\n")
    [told] = carry_records(session, str(tmp_path / "two"), env)
    assert "says something else" in told and new.read_text() == "another conversation\n"
