"""One suite for the snapshots port: git and the fake keep the same promises."""

from __future__ import annotations

import os
import shutil
import subprocess
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rekindle.adapters.snapshots.taking import listing
from rekindle.adapters.snapshots.tree_snapshots import TreeSnapshots
from rekindle.core.session import facts as f
from rekindle.core.session.state import Session
from rekindle.ports.errors import RekindleError
from rekindle.ports.snapshots import Snapshots
from tests.fakes.snapshots import FakeSnapshots, Repositories, Tree
from tests.sessions import folded

NAME = "abcdef0123"
NOW = 1_700_000_000.0
DAY = 24 * 3600.0


class World(ABC):
    """A daemon's snapshots, and the agent's hand on its work tree."""

    snapshots: Snapshots
    session: Session

    @abstractmethod
    def another(self) -> Snapshots:
        """The snapshots of the next daemon."""

    @abstractmethod
    def write(self, name: str, text: str) -> None: ...

    @abstractmethod
    def lose_tree(self) -> None:
        """The session's folder is gone."""

    @abstractmethod
    def outside(self) -> Session:
        """A session that works in no repository."""

    @abstractmethod
    def kept(self) -> list[tuple[str, Tree]]:
        """What is kept of the session, oldest first: why, and every file."""


def session(cwd: str, name: str = NAME) -> Session:
    return folded([f.Created(at=1.0, session=name, agent="scripted", cwd=cwd)])


class FakeWorld(World):
    def __init__(self) -> None:
        self._repositories = Repositories(trees={"/work": {"tracked": "one"}})
        self.snapshots = self.another()
        self.session = session("/work")

    def another(self) -> Snapshots:
        return FakeSnapshots(self._repositories)

    def write(self, name: str, text: str) -> None:
        self._repositories.trees["/work"][name] = text

    def lose_tree(self) -> None:
        del self._repositories.trees["/work"]

    def outside(self) -> Session:
        return session("/nowhere", "fedcba")

    def kept(self) -> list[tuple[str, Tree]]:
        return [(reason, tree) for _, reason, tree in self._repositories.kept.get(NAME, [])]


class GitWorld(World):
    def __init__(self, root: Path) -> None:
        self._root = root
        self._work = root / "work"
        self._work.mkdir()
        (root / "sessions" / NAME).mkdir(parents=True)
        self._git("init", "-q", "-b", "main")
        self.write("tracked", "one")
        self._git("add", "-A")
        self._git("commit", "-q", "-m", "begin")
        self.snapshots = self.another()
        self.session = session(str(self._work))

    def another(self) -> Snapshots:
        return TreeSnapshots(str(self._root / "sessions"))

    def write(self, name: str, text: str) -> None:
        (self._work / name).write_text(text)

    def lose_tree(self) -> None:
        shutil.rmtree(self._work)

    def outside(self) -> Session:
        (self._root / "nowhere").mkdir()
        return session(str(self._root / "nowhere"), "fedcba")

    def kept(self) -> list[tuple[str, Tree]]:
        return [(one.reason, self._tree(one.id)) for one in listing(str(self._work), NAME)]

    def _tree(self, commit: str) -> Tree:
        names = self._git("ls-tree", "-r", "--name-only", commit).split()
        return {name: self._git("show", f"{commit}:{name}") for name in names}

    def _git(self, *words: str) -> str:
        settings = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
        done = subprocess.run(["git", *settings, *words], cwd=self._work, check=True, capture_output=True, text=True)
        return done.stdout


@pytest.fixture(params=["git", "fake"])
def world(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return FakeWorld() if request.param == "fake" else GitWorld(tmp_path)


def test_a_state_is_kept_with_its_reason_and_untracked_files_and_only_once(world: World) -> None:
    world.write("new", "untracked")
    assert world.snapshots.take(world.session, "turn 1 has ended", NOW) is not None
    assert world.snapshots.take(world.session, "turn 2 has ended", NOW + 1) is None
    assert world.another().take(world.session, "turn 2 has ended", NOW + 2) is None
    world.write("tracked", "two")
    assert world.another().take(world.session, "turn 3 has ended", NOW + 3) is not None
    assert world.kept() == [
        ("turn 1 has ended", {"tracked": "one", "new": "untracked"}),
        ("turn 3 has ended", {"tracked": "two", "new": "untracked"}),
    ]


def test_a_state_that_comes_back_is_kept_again(world: World) -> None:
    for number, text in enumerate(("one", "two", "one")):
        world.write("tracked", text)
        assert world.snapshots.take(world.session, f"turn {number}", NOW + number) is not None
    assert [tree["tracked"] for _, tree in world.kept()] == ["one", "two", "one"]


def test_where_nothing_can_be_kept_nothing_is(world: World) -> None:
    outside = world.outside()
    assert world.snapshots.take(outside, "turn 1 has ended", NOW) is None
    assert not world.snapshots.thin(outside, NOW)


def test_a_work_tree_that_is_gone_is_no_state(world: World) -> None:
    world.lose_tree()
    assert world.snapshots.take(world.session, "turn 1 has ended", NOW) is None


def test_several_at_once_keep_a_state_once(world: World) -> None:
    world.write("tracked", "two")
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda n: world.snapshots.take(world.session, f"turn {n}", NOW), range(3)))
    assert sum(one is not None for one in found) == 1
    assert [tree for _, tree in world.kept()] == [{"tracked": "two"}]


def test_old_ones_are_let_go_and_the_first_and_the_last_never(world: World) -> None:
    for number in range(4):
        world.write("tracked", str(number))
        assert world.snapshots.take(world.session, str(number), NOW + number) is not None
    assert not world.snapshots.thin(world.session, NOW + 10)
    assert len(world.kept()) == 4
    assert world.snapshots.thin(world.session, NOW + 400 * DAY)
    kept = world.kept()
    assert [reason for reason, _ in kept] == ["0", "3"]
    assert not world.snapshots.thin(world.session, NOW + 400 * DAY)
    assert world.kept() == kept


def test_what_is_owed_is_remembered_by_the_next_daemon_until_it_is_paid(world: World) -> None:
    assert world.snapshots.owed() == {}
    world.snapshots.owe(NAME, "turn 1 has ended")
    world.snapshots.owe(NAME, "turn 2 has ended: \u00e9")
    assert world.another().owed() == {NAME: "turn 2 has ended: \u00e9"}
    world.another().paid(NAME)
    world.another().paid(NAME)
    world.snapshots.paid("nobody")
    assert world.snapshots.owed() == {}


def test_after_the_end_nothing_is_kept_or_let_go_and_what_is_owed_stays(world: World) -> None:
    world.write("tracked", "two")
    world.snapshots.end()
    world.snapshots.end()
    with pytest.raises(RekindleError):
        world.snapshots.take(world.session, "turn 1 has ended", NOW)
    with pytest.raises(RekindleError):
        world.snapshots.thin(world.session, NOW)
    assert world.kept() == []
    world.snapshots.owe(NAME, "turn 1 has ended")
    assert world.another().owed() == {NAME: "turn 1 has ended"}
    assert world.another().take(world.session, "turn 1 has ended", NOW) is not None
