"""One suite for a feature's git: real git, git in memory, and the world that decisions are played against.

They show the same evidence, and the two that have the whole port keep the same promises.
"""

from __future__ import annotations

import os
import shutil
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from rekindle.adapters.snapshots.of_folder import FolderSnapshots
from rekindle.core.feature import effects as e
from rekindle.core.feature.evidence import GitEvidence
from rekindle.core.feature.naming import work_branch
from rekindle.core.feature.plan import Plan, Task
from rekindle.core.feature.progress import TaskProgress
from rekindle.ports.errors import FeatureBlocked, RekindleError
from rekindle.ports.feature import ResumableGit
from tests.fakes.feature_git import FakeFeatureGit
from tests.fakes.feature_world import World
from tests.fakes.git_repository import MARKER, FakeRepository
from tests.unit.feature.repositories import FEATURE, make

TASKS = ("a", "b")
EPOCH = "e1"


@dataclass(frozen=True)
class View:
    """What a decision sees, without names that are nobody's business.

    By task: of its branch, how many commits it has and whether the feature has them; whether its worktree has changes
    that are in no commit; whether a reviewer has its tip before it; the epoch of its merge and whether that is there.
    """

    begun: bool = True
    branches: dict[str, tuple[int, bool]] = field(default_factory=dict)
    trees: dict[str, bool] = field(default_factory=dict)
    copies: dict[str, bool] = field(default_factory=dict)
    done: dict[str, tuple[str, bool]] = field(default_factory=dict)
    merging: tuple[str, ...] | None = None


class Stage(ABC):
    """Plays effects, and what others do meanwhile."""

    @abstractmethod
    def do(self, effect: e.Effect) -> None: ...

    @abstractmethod
    def seen(self) -> GitEvidence: ...

    @abstractmethod
    def work(self, task: str, name: str = "") -> None:
        """The agent of a task changes a file, and commits nothing."""

    @abstractmethod
    def resolve(self) -> None:
        """Somebody resolves the conflicts of the merge that is under way."""

    @abstractmethod
    def take_out(self, task: str) -> None:
        """Somebody takes the merge of a task, the last one, out of the feature's branch."""

    def tip(self, task: str) -> str:
        return self.seen().branches[work_branch(FEATURE, task)].tip

    def prepare(self, *tasks: str) -> None:
        self.do(e.MakeFeature())
        for task in tasks:
            self.do(e.Prepare(task, work_branch(FEATURE, task), "s"))

    def commit(self, task: str, name: str = "") -> None:
        self.work(task, name)
        self.do(e.Commit(task, work_branch(FEATURE, task), 1, self.tip(task)))

    def merge(self, task: str, tip: str = "") -> None:
        self.do(e.Merge(task, work_branch(FEATURE, task), tip or self.tip(task), EPOCH))

    def view(self) -> View:
        seen = self.seen()
        own = {work_branch(FEATURE, task): task for task in TASKS}
        branches = {own[name]: (one.commits, one.merged) for name, one in seen.branches.items() if name in own}
        trees = {own[one.branch]: one.uncommitted for one in seen.trees.values() if one.branch in own}
        copies = {task: tip == self.tip(task) for task, tip in seen.copies.items()}
        done = {task: (one.epoch, one.present) for task, one in seen.done.items()}
        return View(
            seen.tip is not None, branches, trees, copies, done, seen.merging.conflicts if seen.merging else None
        )


class WorldStage(Stage):
    def __init__(self) -> None:
        plan = Plan(tasks=tuple(Task(id=name) for name in TASKS), waves=(TASKS,))
        self._world = World(plan, conflicts=frozenset({"b"}))

    def do(self, effect: e.Effect) -> None:
        self._world.perform(effect)

    def seen(self) -> GitEvidence:
        return self._world.git

    def work(self, task: str, name: str = "") -> None:
        self._world.work(work_branch(FEATURE, task))

    def resolve(self) -> None:
        assert self._world.git.merging is not None
        self._world.git = replace(self._world.git, merging=replace(self._world.git.merging, conflicts=()))

    def take_out(self, task: str) -> None:
        self._world.take_out(task)


class PortStage(Stage):
    """What the hands of a run do with the port, and what others do to files."""

    port: ResumableGit
    _before = ""

    def do(self, effect: e.Effect) -> None:
        match effect:
            case e.MakeFeature():
                self.port.make_feature("")
            case e.Prepare(task=task, branch=branch, session=session, wave=wave):
                self.port.prepare(task, branch, session, wave)
            case e.Commit(task=task, branch=branch):
                self.port.commit(task, branch, f"work on {task}")
            case e.RunChecks(task=task, tip=tip):
                branch = work_branch(FEATURE, task)
                self.port.begin_checks(task, branch, tip)
                self.port.put_back(task, branch)
                self.port.end_checks(task, branch)
            case e.MakeCopy(task=task, tip=tip):
                self.port.make_copy(task, tip)
            case e.ReadVerdict(task=task):
                self.port.drop_copy(task)
            case e.Merge(task=task, branch=branch, tip=tip, epoch=epoch):
                before = str(self.seen().tip)
                if self.port.merge(task, branch, tip, epoch, f"Merge {task}").commit not in (None, before):
                    self._before = before
            case e.Settle(task=task, branch=branch):
                self.port.clear(task, branch)
            case e.Restore(task=task, branch=branch, tip=tip):
                self.port.restore(task, branch, tip)
            case _:
                raise AssertionError(effect)

    def seen(self) -> GitEvidence:
        return self.port.observe({task: TaskProgress(EPOCH, work_branch(FEATURE, task)) for task in TASKS})

    def home(self, task: str = "a") -> str:
        return self.port.tree_of(task, work_branch(FEATURE, task))

    def work(self, task: str, name: str = "") -> None:
        path, name = self.home(task), name or f"{task}.txt"
        self.write(path, name, f"{self.read(path, name) or ''}{task}\n")

    @abstractmethod
    def write(self, path: str, name: str, text: str | None) -> None:
        """Write a file of a worktree; None: remove it."""

    @abstractmethod
    def read(self, path: str, name: str) -> str | None: ...

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Whether there is such a worktree."""

    @abstractmethod
    def shown(self, ref: str, name: str) -> str | None:
        """A file as a ref has it."""

    @abstractmethod
    def commit_of(self, ref: str) -> str: ...


class MemoryStage(PortStage):
    def __init__(self) -> None:
        self.repo = FakeRepository()
        self.port = FakeFeatureGit(self.repo, FEATURE)

    def write(self, path: str, name: str, text: str | None) -> None:
        files = self.repo.trees[path].files
        if text is None:
            del files[name]
        else:
            files[name] = text

    def read(self, path: str, name: str) -> str | None:
        return self.repo.trees[path].files.get(name)

    def exists(self, path: str) -> bool:
        return path in self.repo.trees

    def shown(self, ref: str, name: str) -> str | None:
        return self.repo.commits[self.repo.refs[ref]].files.get(name)

    def commit_of(self, ref: str) -> str:
        return self.repo.refs[ref]

    def resolve(self) -> None:
        merging = self.seen().merging
        assert merging is not None
        tree = self.repo.trees[self.port.integration(merging.branch_tip)]
        tree.files |= {name: "both\n" for name, text in tree.files.items() if text.startswith(MARKER)}

    def take_out(self, task: str) -> None:
        self.repo.set_tip(self.port.branch, self._before)


class GitStage(PortStage):
    def __init__(self, root: Path) -> None:
        self.repo = make(root / "repo")
        self.feature = self.repo.feature()
        self.port = self.feature
        self.feature.keep_untracked()

    def write(self, path: str, name: str, text: str | None) -> None:
        if text is None:
            Path(path, name).unlink()
        else:
            Path(path, name).write_text(text)

    def read(self, path: str, name: str) -> str | None:
        return Path(path, name).read_text() if Path(path, name).exists() else None

    def exists(self, path: str) -> bool:
        return Path(path).is_dir()

    def shown(self, ref: str, name: str) -> str | None:
        return f"{self.repo.git('show', f'{ref}:{name}')}\n"

    def commit_of(self, ref: str) -> str:
        return self.repo.git("rev-parse", ref)

    def resolve(self) -> None:
        merging = self.seen().merging
        assert merging is not None
        path = self.port.integration(merging.branch_tip)
        for name in merging.conflicts:
            Path(path, name).write_text("both\n")
        self.repo.git("add", "-A", cwd=path)

    def take_out(self, task: str) -> None:
        self.repo.git("branch", "-f", self.port.branch, self._before)


@pytest.fixture(params=["git", "memory", "world"])
def stage(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    made = {"memory": MemoryStage, "world": WorldStage}.get(request.param)
    return made() if made is not None else GitStage(tmp_path)


@pytest.fixture(params=["git", "memory"])
def port_stage(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PortStage:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return GitStage(tmp_path) if request.param == "git" else MemoryStage()


def test_a_feature_that_was_not_begun_has_nothing(stage: Stage) -> None:
    assert stage.view() == View(begun=False)


def test_a_prepared_task_has_a_branch_without_work_and_a_clean_worktree(stage: Stage) -> None:
    stage.prepare("a")
    assert stage.view() == View(branches={"a": (0, True)}, trees={"a": False})
    stage.prepare("a", "b")
    assert stage.view() == View(branches={"a": (0, True), "b": (0, True)}, trees={"a": False, "b": False})


def test_work_is_uncommitted_until_it_is_committed(stage: Stage) -> None:
    stage.prepare("a")
    before = stage.tip("a")
    stage.work("a")
    assert stage.view() == View(branches={"a": (0, True)}, trees={"a": True})
    stage.do(e.Commit("a", work_branch(FEATURE, "a"), 1, before))
    assert stage.view() == View(branches={"a": (1, False)}, trees={"a": False})
    assert stage.tip("a") != before


def test_a_commit_of_nothing_is_none(stage: Stage) -> None:
    stage.prepare("a")
    stage.commit("a")
    before = stage.tip("a")
    stage.do(e.Commit("a", work_branch(FEATURE, "a"), 1, before))
    assert stage.tip("a") == before
    assert stage.view() == View(branches={"a": (1, False)}, trees={"a": False})


def test_what_is_there_is_not_made_anew(stage: Stage) -> None:
    stage.prepare("a")
    stage.commit("a")
    stage.work("a", "more.txt")
    tip = stage.tip("a")
    stage.prepare("a")
    assert stage.view() == View(branches={"a": (1, False)}, trees={"a": True})
    assert stage.tip("a") == tip


def test_checks_that_leave_nothing_change_nothing(stage: Stage) -> None:
    stage.prepare("a")
    stage.commit("a")
    before = stage.view()
    stage.do(e.RunChecks("a", 1, stage.tip("a"), ()))
    assert stage.view() == before
    assert stage.seen().checking == frozenset()


def test_a_reviewer_has_a_copy_of_a_commit_until_its_verdict_is_read(stage: Stage) -> None:
    stage.prepare("a")
    stage.commit("a")
    before = stage.view()
    for _ in range(2):
        stage.do(e.MakeCopy("a", stage.tip("a")))
        assert stage.view().copies == {"a": True}
    stage.commit("a", "more.txt")
    assert stage.view().copies == {"a": False}
    for _ in range(2):
        stage.do(e.ReadVerdict("a", "s", 1, stage.tip("a")))
        assert stage.view().copies == {}
    assert stage.view().trees == before.trees


def test_a_merge_is_made_once_and_remembered_with_its_epoch(stage: Stage) -> None:
    stage.prepare("a")
    stage.commit("a")
    tip = stage.tip("a")
    stage.merge("a")
    merged = View(branches={"a": (1, True)}, trees={"a": False}, done={"a": (EPOCH, True)})
    assert stage.view() == merged
    feature = stage.seen().tip
    stage.merge("a", tip)
    assert (stage.view(), stage.seen().tip) == (merged, feature)


def test_a_settled_task_has_neither_branch_nor_worktree_and_its_merge_stays(stage: Stage) -> None:
    stage.prepare("a")
    stage.commit("a")
    stage.merge("a")
    for _ in range(2):
        stage.do(e.Settle("a", work_branch(FEATURE, "a")))
        assert stage.view() == View(done={"a": (EPOCH, True)})


def test_a_conflict_waits_until_it_is_resolved_and_moves_nothing_before(stage: Stage) -> None:
    stage.prepare("a", "b")
    stage.commit("a", "same.txt")
    stage.commit("b", "same.txt")
    stage.merge("a")
    feature = stage.seen().tip
    for _ in range(2):
        stage.merge("b")
        assert len(stage.view().merging or ()) == 1
        assert stage.view().done == {"a": (EPOCH, True)}
        assert stage.seen().tip == feature
    found = stage.seen().merging
    assert found is not None
    assert found.branch_tip == stage.tip("b")
    stage.resolve()
    assert stage.view().merging == ()
    stage.merge("b")
    assert stage.view().merging is None
    assert stage.view().done == {"a": (EPOCH, True), "b": (EPOCH, True)}
    assert stage.seen().tip != feature


def test_a_merge_that_was_taken_out_is_known_and_its_branch_can_be_made_again(stage: Stage) -> None:
    stage.prepare("a")
    stage.commit("a")
    tip = stage.tip("a")
    stage.merge("a")
    stage.do(e.Settle("a", work_branch(FEATURE, "a")))
    stage.take_out("a")
    assert stage.view() == View(done={"a": (EPOCH, False)})
    assert stage.seen().done["a"].tip == tip
    for _ in range(2):
        stage.do(e.Restore("a", work_branch(FEATURE, "a"), tip, "it was taken out"))
        assert stage.view() == View(branches={"a": (1, False)}, done={"a": (EPOCH, False)})
        assert stage.tip("a") == tip


# What no decision sees, and what a run's hands rely on: real git and git in memory.


def test_the_branches_of_a_wave_begin_at_one_commit_and_others_where_the_feature_is(port_stage: PortStage) -> None:
    port = port_stage.port
    port.make_feature("")
    begun = port_stage.seen().tip
    assert port.prepare("a", work_branch(FEATURE, "a"), "s", "1").made_branch == begun
    port_stage.commit("a")
    port_stage.merge("a")
    assert port.prepare("b", work_branch(FEATURE, "b"), "s", "1").made_branch == begun
    assert port.prepare("c", work_branch(FEATURE, "c"), "s", "").made_branch == port_stage.seen().tip


def test_what_was_made_is_told_once(port_stage: PortStage) -> None:
    port_stage.port.make_feature("")
    branch = work_branch(FEATURE, "a")
    made, again = (port_stage.port.prepare("a", branch, "s", "") for _ in range(2))
    assert (made.path, made.made_tree, again.path) == (port_stage.home(), True, made.path)
    assert (again.made_branch, again.made_tree, again.restored) == (None, False, None)


def test_the_files_of_a_task_are_those_that_its_branch_changes(port_stage: PortStage) -> None:
    port_stage.prepare("a", "b")
    port_stage.commit("a", "one.txt")
    port_stage.commit("a", "readme.txt")
    port_stage.commit("b", "other.txt")
    port_stage.merge("b")
    assert sorted(port_stage.port.changed_files("a", work_branch(FEATURE, "a"))) == ["one.txt", "readme.txt"]


def test_what_checks_change_is_put_back_and_what_they_leave_is_no_work(port_stage: PortStage) -> None:
    port_stage.prepare("a")
    port_stage.commit("a")
    port, home = port_stage.port, port_stage.home()
    branch, tip = work_branch(FEATURE, "a"), port_stage.tip("a")
    for _ in range(2):
        port.begin_checks("a", branch, tip)
        assert port_stage.seen().checking == {"a"}
    port_stage.write(home, "a.txt", "formatted\n")
    port_stage.write(home, "report.txt", "left\n")
    assert port.put_back("a", branch) == ("a.txt",)
    assert port_stage.read(home, "a.txt") == "a\n"
    assert port.put_back("a", branch) == ()
    assert port.end_checks("a", branch) == ("report.txt",)
    port.end_checks("a", branch)
    assert port_stage.seen().checking == frozenset()
    assert port_stage.view().trees == {"a": False}
    port_stage.write(home, "work.txt", "work\n")
    assert port_stage.view().trees == {"a": True}
    assert port.commit("a", branch, "more") == ()
    assert sorted(port.changed_files("a", branch)) == ["a.txt", "work.txt"]


def test_what_a_reviewer_changes_in_its_copy_is_kept(port_stage: PortStage) -> None:
    port_stage.prepare("a")
    port_stage.commit("a")
    port = port_stage.port
    assert port.make_copy("a", port_stage.tip("a")) is None
    copy = port.copy_of("a")
    assert port_stage.read(copy, "a.txt") == "a\n"
    port_stage.write(copy, "a.txt", "better\n")
    kept = port.drop_copy("a")
    assert kept is not None
    assert port_stage.shown(kept, "a.txt") == "better\n"
    assert not port_stage.exists(copy)
    assert port.drop_copy("a") is None
    assert port_stage.read(port_stage.home(), "a.txt") == "a\n"


def test_a_merged_task_with_work_that_is_in_no_commit_is_kept_and_that_is_said(port_stage: PortStage) -> None:
    port_stage.prepare("a")
    port_stage.commit("a")
    port_stage.merge("a")
    port_stage.work("a", "more.txt")
    done = port_stage.port.clear("a", work_branch(FEATURE, "a"))
    assert (done.removed_tree, done.deleted_branch) == (None, None)
    assert done.kept
    assert port_stage.read(port_stage.home(), "more.txt")
    port_stage.write(port_stage.home(), "more.txt", None)
    done = port_stage.port.clear("a", work_branch(FEATURE, "a"))
    assert (done.removed_tree is not None, done.deleted_branch) == (True, work_branch(FEATURE, "a"))


@pytest.mark.parametrize("whole", [False, True])
def test_who_starts_over_keeps_the_old_tips(port_stage: PortStage, whole: bool) -> None:
    port = port_stage.port
    port.choose_base("")
    begun = port.make_feature("")
    port_stage.prepare("a", "b")
    port_stage.commit("a")
    port_stage.commit("b")
    port_stage.merge("b")
    feature, tips = port_stage.seen().tip, {port_stage.tip("a"), port_stage.tip("b")}
    branches = {task: work_branch(FEATURE, task) for task in TASKS}
    kept = port.start_over(branches, EPOCH, whole=whole).kept
    assert {port_stage.commit_of(ref) for ref in kept.values()} == {*tips, *([feature] if whole else [])}
    assert port_stage.seen().tip == (begun if whole else feature)
    assert (port_stage.view().branches, port_stage.view().done) == ({}, {})
    port.start_over(branches, EPOCH, whole=whole)
    port_stage.prepare("a")
    assert port_stage.view().branches == {"a": (0, True)}


def test_notices_are_told_once(port_stage: PortStage) -> None:
    port_stage.prepare("a")
    assert isinstance(port_stage.port.notices(), tuple)
    assert port_stage.port.notices() == ()


def test_where_the_feature_has_no_branch_a_task_cannot_be_prepared_and_the_error_says_what_to_do(
    port_stage: PortStage,
) -> None:
    with pytest.raises(RekindleError) as raised:
        port_stage.port.prepare("a", work_branch(FEATURE, "a"), "s", "")
    assert raised.value.hint
    assert port_stage.view() == View(begun=False)


def test_what_is_only_remembered_of_a_worktree_is_called_so_and_is_true_when_it_is_looked_at_anew(
    port_stage: PortStage,
) -> None:
    tasks = {task: TaskProgress(EPOCH, work_branch(FEATURE, task)) for task in TASKS}
    port_stage.prepare("a")
    port_stage.prepare("b")
    port, path = port_stage.port, port_stage.home()
    assert port.observe(tasks).remembered == frozenset()
    port_stage.work("a")
    before = port.observe(tasks, None, frozenset("b"))
    assert (before.remembered, before.trees[path].uncommitted) == (frozenset("a"), False)
    after = port.observe(tasks, None, frozenset("a"))
    assert (after.remembered, after.trees[path].uncommitted) == (frozenset("b"), True)
    port.commit("a", work_branch(FEATURE, "a"), "all of it")
    moved = port.observe(tasks, None, frozenset())
    assert (moved.remembered, moved.trees[path].uncommitted) == (frozenset("b"), False), (
        "another commit is another worktree"
    )


def test_the_integration_worktree_is_clean_and_has_the_features_tip_and_what_was_in_it_is_told(
    port_stage: PortStage,
) -> None:
    port_stage.prepare("a")
    port_stage.commit("a")
    port_stage.merge("a")
    port = port_stage.port
    path = port.integration()
    assert port_stage.read(path, "a.txt") == "a\n"
    port_stage.write(path, "left.txt", "left\n")
    port.keep_left(1)
    assert port_stage.read(path, "left.txt"), "who looks into a failed check finds what it left"
    [told] = port.notices()
    assert "wave 1" in told
    assert port.integration() == path
    assert port_stage.read(path, "left.txt") is None
    for _ in range(2):
        port.clear_integration()
        assert not port_stage.exists(path)


def test_a_worktree_that_is_not_there_is_removed_until_it_is_made(port_stage: PortStage) -> None:
    port_stage.prepare("a")
    assert port_stage.seen().removed == {"b"}
    port_stage.prepare("b")
    assert port_stage.seen().removed == frozenset()


def test_a_base_that_is_not_there_is_refused(port_stage: PortStage) -> None:
    port_stage.port.check_base("HEAD")
    with pytest.raises(FeatureBlocked, match="there is no commit 'nowhere'"):
        port_stage.port.check_base("nowhere")


# On git alone, since nobody plays it in memory.


@pytest.fixture
def on_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitStage:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return GitStage(tmp_path)


def home(stage: GitStage, task: str = "a") -> Path:
    return Path(stage.port.tree_of(task, work_branch(FEATURE, task)))


def progress(*tasks: str) -> dict[str, TaskProgress]:
    return {task: TaskProgress(EPOCH, work_branch(FEATURE, task)) for task in tasks}


def test_a_feature_has_its_names_and_places_before_anything_is_made(on_git: GitStage) -> None:
    assert on_git.port.branch == "feature/shop"
    assert not on_git.port.shared_tree
    assert on_git.repo.feature(shared=True).shared_tree
    assert on_git.seen().homes == {task: str(home(on_git, task)) for task in TASKS}
    assert not home(on_git).exists()


def test_nothing_of_the_users_is_touched_from_the_first_branch_to_the_last_merge(on_git: GitStage) -> None:
    before = on_git.repo.checkout()
    on_git.prepare("a", "b")
    on_git.commit("a", "same.txt")
    on_git.commit("b", "same.txt")
    on_git.do(e.MakeCopy("a", on_git.tip("a")))
    for task in TASKS:
        on_git.merge(task)
    on_git.port.start_over({"b": work_branch(FEATURE, "b")}, EPOCH, whole=False)
    assert on_git.repo.checkout() == before


def test_the_integration_worktree_has_the_features_tip_and_what_checks_leave_in_it_is_kept(on_git: GitStage) -> None:
    on_git.prepare("a")
    on_git.commit("a")
    on_git.merge("a")
    path = Path(on_git.port.integration())
    assert on_git.repo.git("rev-parse", "HEAD", cwd=path) == on_git.seen().tip
    (path / "left.txt").write_text("left\n")
    for _ in range(2):
        on_git.port.keep_left(1)
        assert (path / "left.txt").exists(), "who looks into a failed check finds what it left"
    [told] = on_git.port.notices()
    assert "wave 1" in told
    assert Path(on_git.port.integration()) == path
    assert on_git.repo.git("status", "--porcelain", cwd=path) == ""
    refs = on_git.repo.git("for-each-ref", "--format=%(refname)", "refs/rekindle").split()
    assert any(on_git.repo.git("ls-tree", "--name-only", ref, "left.txt") for ref in refs)
    for _ in range(2):
        on_git.port.clear_integration()
        assert not path.exists()
    assert Path(on_git.port.integration()) == path


def stray(stage: GitStage) -> str:
    """The agent of task a commits on no branch."""
    stage.prepare("a")
    stage.commit("a")
    stage.repo.git("checkout", "-q", "--detach", cwd=home(stage))
    (home(stage) / "stray.txt").write_text("stray\n")
    stage.repo.git("add", "-A", cwd=home(stage))
    stage.repo.git("commit", "-q", "-m", "elsewhere", cwd=home(stage))
    return stage.repo.git("rev-parse", "HEAD", cwd=home(stage))


def test_a_stray_is_found_and_kept_by_a_ref_whatever_becomes_of_it(on_git: GitStage) -> None:
    commit = stray(on_git)
    [found] = on_git.seen().strays["a"]
    assert found.commit == commit
    for _ in range(2):
        on_git.port.keep_strays("a", work_branch(FEATURE, "a"), [found])
    assert commit in on_git.repo.git("for-each-ref", "--format=%(objectname)", "refs/rekindle").split()


def test_a_stray_that_is_taken_is_on_the_branch(on_git: GitStage) -> None:
    commit = stray(on_git)
    on_git.seen()
    assert [one.commit for one in on_git.port.take_strays("a", progress("a", "b"))] == [commit]
    assert not on_git.seen().strays.get("a")
    assert "stray.txt" in on_git.port.changed_files("a", work_branch(FEATURE, "a"))
    assert on_git.port.take_strays("a", progress("a", "b")) == ()


def test_a_stray_that_is_left_is_kept_and_the_worktree_is_back_on_its_branch(on_git: GitStage) -> None:
    commit = stray(on_git)
    on_git.seen()
    assert [one.commit for one in on_git.port.leave_strays("a", progress("a", "b"))] == [commit]
    assert "stray.txt" not in on_git.port.changed_files("a", work_branch(FEATURE, "a"))
    assert on_git.repo.git("symbolic-ref", "--short", "HEAD", cwd=home(on_git)) == work_branch(FEATURE, "a")
    assert commit in on_git.repo.git("for-each-ref", "--format=%(objectname)", "refs/rekindle").split()


def resumable(stage: GitStage) -> ResumableGit:
    return stage.feature


def test_a_feature_begins_where_it_was_settled_and_a_branch_that_is_there_is_built_upon(on_git: GitStage) -> None:
    first = on_git.repo.git("rev-parse", "HEAD")
    on_git.repo.git("commit", "-q", "--allow-empty", "-m", "later")
    resumable(on_git).choose_base(first)
    assert on_git.port.make_feature("") == first
    resumable(on_git).choose_base("HEAD")
    assert on_git.port.make_feature("") == first


def test_a_base_that_is_not_there_is_refused_before_anything_is_changed(on_git: GitStage) -> None:
    resumable(on_git).check_base("HEAD")
    with pytest.raises(FeatureBlocked, match="there is no commit 'nowhere'"):
        resumable(on_git).check_base("nowhere")
    assert on_git.repo.git("for-each-ref", "refs/rekindle") == ""


def test_a_feature_is_merged_in_the_name_of_whoever_runs_it(on_git: GitStage) -> None:
    names = {f"GIT_{who}_{what}": "ada@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    resumable(on_git).commit_as(names)
    on_git.prepare("a")
    on_git.commit("a")
    on_git.merge("a")
    made = on_git.repo.git("log", "--format=%an %ae %cn %ce", f"main..feature/{FEATURE}").splitlines()
    assert made == ["ada@x ada@x ada@x ada@x"] * 2


def test_the_users_status_does_not_show_the_worktrees(on_git: GitStage) -> None:
    before = on_git.repo.git("status", "--porcelain")
    resumable(on_git).keep_untracked()
    on_git.prepare("a")
    assert on_git.repo.git("status", "--porcelain") == before


def test_a_snapshot_counts_if_it_has_more_than_the_branch(on_git: GitStage) -> None:
    on_git.prepare("a")
    branch, session = work_branch(FEATURE, "a"), "abcdef"
    asked = {session: branch, "fedcba": branch}
    assert resumable(on_git).with_snapshots(asked) == frozenset()
    on_git.work("a")
    FolderSnapshots().take(str(home(on_git)), session, "turn 1 has ended", 1.0)
    assert resumable(on_git).with_snapshots(asked) == {session}
    assert resumable(on_git).with_snapshots({session: "another"}) == frozenset()
    many = {f"other{number}": branch for number in range(200)}
    assert resumable(on_git).with_snapshots({**many, session: branch}) == {session}
    on_git.port.commit("a", branch, "all of it")
    assert resumable(on_git).with_snapshots(asked) == frozenset()


@pytest.mark.parametrize("how", ["commit", "files"])
def test_a_branch_that_only_a_snapshot_remembers_is_made_again_where_it_was(on_git: GitStage, how: str) -> None:
    on_git.prepare("a")
    branch, session = work_branch(FEATURE, "a"), "abcdef"
    on_git.work("a")
    if how == "commit":
        on_git.port.commit("a", branch, "all of it")
    tip = on_git.repo.git("rev-parse", branch)
    FolderSnapshots().take(str(home(on_git)), session, "turn 1 has ended", 1.0)
    assert resumable(on_git).fallen_in_snapshots({session: branch}) == {}, "it is there"
    on_git.repo.git("worktree", "remove", "--force", str(home(on_git)))
    on_git.repo.git("branch", "-D", branch)
    on_git.repo.git("reflog", "expire", "--expire=now", "--all")
    assert resumable(on_git).fallen_in_snapshots({session: branch, "fedcba": branch}) == {session: tip}
    assert resumable(on_git).fallen_in_snapshots({session: "another"}) == {}
    made = on_git.port.prepare("a", branch, session, "")
    assert (made.made_branch, made.made_tree) == (None, True)
    assert on_git.repo.git("rev-parse", branch) == tip
    assert (home(on_git) / "a.txt").exists(), "what was not committed comes back too"


def test_a_snapshot_without_any_work_brings_no_deleted_branch_back(on_git: GitStage) -> None:
    on_git.prepare("a")
    branch, session = work_branch(FEATURE, "a"), "abcdef"
    FolderSnapshots().take(str(home(on_git)), session, "turn 1 has ended", 1.0)
    on_git.repo.git("worktree", "remove", "--force", str(home(on_git)))
    on_git.repo.git("branch", "-D", branch)
    assert resumable(on_git).fallen_in_snapshots({session: branch}) == {}


def test_a_lock_in_the_way_is_found_and_only_that_one_is_removed(
    on_git: GitStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rekindle.adapters.git.locks.WATCHED", 0.3)
    on_git.prepare("a")
    assert resumable(on_git).locks() == []
    path = on_git.repo.root / ".git" / "config.lock"
    path.write_bytes(b"")
    os.utime(path, (1, 1))
    [found] = resumable(on_git).locks()
    assert found.path == str(path)
    path.unlink()
    path.write_bytes(b"another one")
    assert not resumable(on_git).remove_lock(found)
    assert path.exists()
    [found] = resumable(on_git).locks()
    assert resumable(on_git).remove_lock(found)
    assert not path.exists()
    assert not resumable(on_git).remove_lock(found)


def test_a_worktree_that_is_gone_or_has_lost_every_file_is_removed_and_one_without_its_git_is_not(
    on_git: GitStage,
) -> None:
    on_git.prepare("a")
    on_git.commit("a")
    assert on_git.seen().removed == {"b"}, "b has none yet"
    tree = home(on_git)
    (tree / ".git").unlink()
    assert on_git.seen().removed == {"b"}, "its files are there: it is mended"
    for path in tree.iterdir():
        path.unlink()
    (tree / "later.txt").write_text("the agent goes on\n")
    assert on_git.seen().removed == {"a", "b"}
    shutil.rmtree(tree)
    assert on_git.seen().removed == {"a", "b"}
    on_git.prepare("a")
    assert on_git.seen().removed == {"b"}


def test_snapshots_say_why_they_were_taken(on_git: GitStage) -> None:
    on_git.prepare("a")
    for number, reason in enumerate(("the session begins", "turn 1 has ended")):
        on_git.work("a")
        FolderSnapshots().take(str(home(on_git)), "abcdef", reason, float(number))
    FolderSnapshots().pin(str(home(on_git)), "abcdef", None)
    found = on_git.port.snapshot_reasons(["abcdef", "fedcba"])
    assert found == {"abcdef": {"the session begins", "turn 1 has ended"}, "fedcba": frozenset()}
    assert on_git.port.snapshot_reasons([]) == {}


def test_a_branch_that_was_deleted_under_a_commit_has_nothing_in_common_with_the_feature(on_git: GitStage) -> None:
    on_git.prepare("a")
    branch = work_branch(FEATURE, "a")
    assert not on_git.seen().branches[branch].unrelated
    on_git.repo.git("update-ref", "-d", f"refs/heads/{branch}")
    on_git.work("a")
    on_git.repo.git("add", "-A", cwd=str(home(on_git)))
    on_git.repo.git("commit", "-q", "-m", "goes on", cwd=str(home(on_git)))
    assert on_git.seen().branches[branch].unrelated
