"""The promises of a repository with its journals. The one in memory is held to those about journals and locks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rekindle.adapters.git import repository
from rekindle.adapters.workspace.git_workspace import open_workspace
from rekindle.adapters.workspace.glance import RepositoryGlance
from rekindle.ports.errors import BadName, JournalTracked, NoFeature, NoRepository, NoSuchFeature
from rekindle.ports.glance import Glance
from rekindle.ports.journal import NewEvent
from rekindle.ports.workspace import Checkout, FeatureJournal, HeldFeature, RunOwner, Workspace
from rekindle.settings import load
from tests.fakes.workspace import FakeWorkspace, Shelf
from tests.journals import interrupted_in_wave_two, journal
from tests.unit.feature.repositories import Repo, make

SID = "aaaa0001"


class Desk:
    """One user with one repository."""

    def __init__(self, root: Path) -> None:
        self.repo: Repo = make(root / "repo")
        self.env = {"HOME": str(root / "home"), "PATH": os.environ["PATH"]}

    def open(self, cwd: Path | None = None, **env: str) -> Workspace:
        return open_workspace({**self.env, **env}, str(cwd or self.repo.root))

    def glance(self) -> Glance:
        found = repository.find(str(self.repo.root))
        assert found is not None
        return RepositoryGlance(found, load(self.env, str(self.repo.root)))

    def begin(self, feature: str = "shop", sid: str = SID) -> FeatureJournal:
        made = self.open().writable(feature)
        made.append(NewEvent("session.start", {"command": "implement"}), sid=sid)
        made.append(NewEvent("plan.created", {"tasks": [{"id": "1", "summary": "do it"}]}), sid=sid)
        made.close()
        return made


class MemoryDesk:
    """The same in memory. The process that looks is this one."""

    def __init__(self) -> None:
        self._shelf = Shelf()

    def open(self) -> Workspace:
        return FakeWorkspace(self._shelf, os.getpid())

    def begin(self, feature: str = "shop", sid: str = SID) -> FeatureJournal:
        made = self.open().writable(feature)
        made.append(NewEvent("session.start", {"command": "implement"}), sid=sid)
        made.append(NewEvent("plan.created", {"tasks": [{"id": "1", "summary": "do it"}]}), sid=sid)
        return made


@pytest.fixture(params=["files", "memory"])
def any_desk(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk | MemoryDesk:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return Desk(tmp_path) if request.param == "files" else MemoryDesk()


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return Desk(tmp_path)


def test_a_checkout_says_where_it_is_from_each_of_its_worktrees(desk: Desk, tmp_path: Path) -> None:
    main: Checkout = desk.open().repository
    assert (main.root, main.top, main.branch, main.feature) == (str(desk.repo.root),) * 2 + ("main", None)
    assert main.common == str(desk.repo.root / ".git")
    desk.repo.git("worktree", "add", "-q", "-b", "feature/shop", str(tmp_path / "tree"))
    other = desk.open(tmp_path / "tree").repository
    assert (other.common, other.root, other.top) == (main.common, main.root, str(tmp_path / "tree"))
    assert (other.branch, other.feature) == ("feature/shop", "shop")
    desk.repo.git("checkout", "-q", "--detach", cwd=tmp_path / "tree")
    assert desk.open(tmp_path / "tree").repository.branch is None


def test_outside_of_a_repository_there_is_no_workspace(desk: Desk, tmp_path: Path) -> None:
    with pytest.raises(NoRepository):
        desk.open(tmp_path)


def test_the_feature_is_the_one_given_or_the_one_that_the_branch_names(desk: Desk) -> None:
    assert desk.open().feature("cart") == "cart"
    with pytest.raises(NoFeature):
        desk.open().feature(None)
    assert desk.open(REKINDLE_FEATURE="mine").feature(None) == "mine"
    desk.repo.git("switch", "-q", "-c", "work/shop/task")
    assert desk.open().feature(None) == "shop"
    for bad in ("../out", "a/b", "", "x" * 200):
        with pytest.raises(BadName):
            desk.open().feature(bad)
        with pytest.raises(BadName):
            desk.open().folder(bad)


def test_places_are_the_repositorys_and_the_users_own(desk: Desk) -> None:
    here = desk.open()
    assert here.folder("shop") == Path(here.progress, "shop")
    assert Path(here.progress).is_relative_to(desk.repo.root)
    assert Path(here.state_dir).is_relative_to(desk.env["HOME"])
    assert Path(here.worktrees_top).is_relative_to(desk.repo.root)
    assert here.git("shop").branch == "feature/shop"


def test_a_journal_need_not_exist_and_one_that_has_to_is_told_with_its_neighbours(desk: Desk) -> None:
    here = desk.open()
    assert here.journal("shop").state().lines == 0
    assert here.journal("shop").path == here.folder("shop") / "events.jsonl"
    assert here.features() == []
    with pytest.raises(NoSuchFeature):
        here.existing("shop")
    written = desk.begin()
    assert here.existing("shop").path == written.path
    assert [(one.name, one.error) for one in here.features()] == [("shop", None)]
    with pytest.raises(NoSuchFeature) as raised:
        here.existing("shap")
    assert "shop" in raised.value.hint


def test_a_journal_that_is_written_is_none_that_git_tracks(desk: Desk) -> None:
    desk.begin()
    assert "progress" not in desk.repo.git("status", "--porcelain")
    desk.repo.git("add", "-f", str(desk.open().folder("shop") / "events.jsonl"))
    with pytest.raises(JournalTracked):
        desk.open().writable("shop")


def test_what_somebody_else_ordered_is_asked_about_until_it_is_approved(desk: Desk) -> None:
    desk.begin()
    assert desk.open().unapproved("shop", [SID]) is None
    foreign = interrupted_in_wave_two("f4e3d2c1")
    folder = desk.open().folder("theirs")
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_bytes(journal(*foreign))
    fingerprint = desk.open().unapproved("theirs", ["f4e3d2c1"])
    assert fingerprint
    desk.open().approve("theirs", fingerprint)
    assert desk.open().unapproved("theirs", ["f4e3d2c1"]) is None
    assert not desk.open().admit("theirs", "ffff")


def test_a_feature_is_held_by_one_at_a_time_and_its_owner_is_known(any_desk: Desk | MemoryDesk) -> None:
    any_desk.begin()
    here = any_desk.open()
    assert (here.owner("shop"), here.held()) == (None, [])
    held = here.hold("shop", SID)
    assert held is not None
    taken: HeldFeature = held
    assert any_desk.open().hold("shop", "bbbb0002") is None
    assert here.owner("shop") is None, "nothing was claimed yet"
    taken.claim()
    found = here.owner("shop")
    assert found is not None
    owner: RunOwner = found
    assert (owner.sid, owner.pid, owner.verdict) == (SID, os.getpid(), "alive")
    assert [(one.feature, one.owner.sid) for one in here.held()] == [("shop", SID)]
    assert here.analysis("shop")[1] is not None
    taken.release()
    assert (here.owner("shop"), here.held(), here.analysis("shop")[1]) == (None, [], None)
    again = here.hold("shop", "bbbb0002")
    assert again is not None
    again.claim()
    here.disown("shop", SID)
    assert here.owner("shop") is not None, "that is another run"
    here.disown("shop", "bbbb0002")
    assert here.owner("shop") is None
    again.release()


def test_a_journal_is_there_once_somebody_has_written_to_it(any_desk: Desk | MemoryDesk) -> None:
    here = any_desk.open()
    assert here.journal("shop").state().lines == 0
    assert not here.journal("shop").path.exists()
    with pytest.raises(NoSuchFeature):
        here.existing("shop")
    any_desk.begin()
    assert here.existing("shop").path.exists()
    assert here.existing("shop").state().lines == 2
    assert here.unapproved("shop", [SID]) is None
    assert here.analysis("shop")[0].interrupted == (SID,)
    with pytest.raises(BadName):
        here.journal("../out")


def test_what_says_that_a_run_is_held_is_a_file(desk: Desk) -> None:
    desk.begin()
    held = desk.open().hold("shop", SID)
    assert held is not None
    held.claim()
    assert [Path(one.record).exists() for one in desk.open().held()] == [True]
    held.release()


def test_a_glance_sees_every_feature_and_who_holds_it(desk: Desk) -> None:
    glance = desk.glance()
    assert (glance.summaries(), glance.repository.root) == ({}, str(desk.repo.root))
    desk.begin()
    broken = Path(glance.progress, "broken")
    broken.mkdir()
    (broken / "events.jsonl").write_bytes(journal(*interrupted_in_wave_two()))
    assert sorted(glance.summaries()) == ["broken", "shop"]
    assert desk.glance().summaries() == glance.summaries()
    assert (glance.is_foreign("shop"), glance.is_foreign("broken")) == (False, True)
    assert glance.owner("shop") is None
    held = desk.open().hold("shop", SID)
    assert held is not None
    held.claim()
    found = glance.owner("shop")
    assert found is not None
    assert glance.analysed("shop", found.sid) != glance.summaries()["shop"], "a run that somebody holds goes on"
    held.release()
