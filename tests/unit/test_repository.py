"""Finding the repository from its files agrees with git itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rekindle.adapters.git import repository
from rekindle.adapters.skill_folder.roots import sessions_root
from rekindle.ports.errors import ForeignRepository


def git(cwd: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "protocol.file.allow=always", *words],
        cwd=cwd,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q", "-b", "feature/auth")
    (main / "sub").mkdir()
    (main / "sub" / "file").write_text("x")
    git(main, "add", ".")
    git(main, "commit", "-qm", "x")
    git(main, "worktree", "add", "-q", "-b", "work/auth/x", str(tmp_path / "tree"))
    git(main, "worktree", "add", "-q", "--detach", str(tmp_path / "detached"))
    git(tmp_path, "clone", "-q", "--bare", str(main), str(tmp_path / "bare.git"))
    git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / "of-bare"), "feature/auth")
    (tmp_path / "outer").mkdir()
    git(tmp_path / "outer", "init", "-q", "-b", "main")
    git(tmp_path / "outer", "submodule", "add", "-q", str(main), "inner")
    return {
        "main": main,
        "subfolder": main / "sub",
        "worktree": tmp_path / "tree",
        "subfolder of worktree": tmp_path / "tree" / "sub",
        "detached": tmp_path / "detached",
        "bare": tmp_path / "bare.git",
        "worktree of bare": tmp_path / "of-bare",
        "submodule": tmp_path / "outer" / "inner",
        "git folder": main / ".git",
    }


def test_it_agrees_with_git(places: dict[str, Path]) -> None:
    for name, place in places.items():
        found = repository.find(str(place))
        assert found is not None, name
        common = git(place, "rev-parse", "--path-format=absolute", "--git-common-dir")
        assert os.path.realpath(found.common) == os.path.realpath(common), name
        assert (found.branch or "") == git(place, "branch", "--show-current"), name
        assert found.head in (None, git(place, "rev-parse", "HEAD")), name


def test_what_is_checked_out_is_read_from_a_file_and_never_guessed(places: dict[str, Path]) -> None:
    main = places["main"]
    commit = git(main, "rev-parse", "HEAD")
    for name in ("main", "worktree", "detached"):
        assert getattr(repository.find(str(places[name])), "head", None) == commit, name
    git(main, "pack-refs", "--all")
    found = repository.find(str(main))
    assert found is not None
    assert found.head is None
    git(main, "symbolic-ref", "refs/heads/link", "refs/heads/feature/auth")
    git(main, "symbolic-ref", "HEAD", "refs/heads/link")
    assert found.head is None


def test_every_worktree_has_the_same_root(places: dict[str, Path]) -> None:
    roots = {name: getattr(repository.find(str(place)), "root", None) for name, place in places.items()}
    main = str(places["main"])
    assert [roots[name] for name in ("main", "subfolder", "worktree", "subfolder of worktree", "detached")] == [
        main
    ] * 5
    assert roots["bare"] == roots["worktree of bare"] == str(places["bare"])
    assert roots["submodule"] == str(places["submodule"])


def test_outside_of_a_repository_there_is_none(tmp_path: Path) -> None:
    assert repository.find(str(tmp_path)) is None


def test_a_git_file_that_points_nowhere_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /no/such/place\n")
    assert repository.find(str(tmp_path)) is None


@pytest.mark.parametrize(
    "spelled",
    [
        "[core]\n\tworktree  = {0}\n",
        "[core]\n\tWorkTree\t=\t{0}\n",
        "[core] worktree = {0}\n",
        "#" * (1 << 20) + "\n[core]\n\tworktree = {0}\n",
    ],
)
def test_a_work_tree_somewhere_else_is_refused_however_it_is_spelled(tmp_path: Path, spelled: str) -> None:
    repo, outside = tmp_path / "repo", tmp_path / "outside"
    outside.mkdir()
    git(tmp_path, "init", "-q", str(repo))
    with (repo / ".git" / "config").open("a") as config:
        config.write(spelled.format(outside))
    assert git(repo, "rev-parse", "--show-toplevel") == str(outside)
    with pytest.raises(ForeignRepository, match="work tree somewhere else"):
        repository.find(str(repo))


@pytest.mark.parametrize("place", ["main", "worktree"])
@pytest.mark.parametrize("configured", ["link/sessions", "a/link", ".git/sessions", "outer/inner"])
def test_skill_sessions_stay_in_the_worktree(places: dict[str, Path], place: str, configured: str) -> None:
    """Its files come with its branch: a link in it may lead anywhere, wherever on the way it is."""
    top = places[place]
    (top / "a").mkdir()
    (top / "link").symlink_to(top.parent)
    (top / "a" / "link").symlink_to(top.parent)
    git(top, "init", "-q", "outer")
    found = repository.find(str(top))
    assert found is not None
    with pytest.raises(ForeignRepository):
        sessions_root(found, configured, str(top))
    assert sessions_root(found, "a/sessions", str(top)) == str(top / "a" / "sessions")
    assert sessions_root(found, str(top.parent), str(top)) == str(top.parent), "a place outside is the user's choice"
