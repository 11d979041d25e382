"""A repository that somebody has prepared: its refs, links and messages change nothing outside and prove nothing."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rekindle.core.feature.naming import done_ref, left_ref, merged_ref, work_branch
from rekindle.core.feature.progress import TaskProgress
from rekindle.core.feature.task_outcome import merge_of
from rekindle.ports.errors import FeatureBlocked
from tests.unit.feature.repositories import FEATURE, Repo, make

A = work_branch(FEATURE, "a")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make(tmp_path / "repo")


def test_a_note_about_a_ref_is_not_written_through_a_link(repo: Repo, tmp_path: Path) -> None:
    victim = tmp_path / "precious.txt"
    victim.write_text("mine\n")
    notes = repo.root / ".git" / "rekindle" / "moving"
    notes.mkdir(parents=True)
    digest = hashlib.sha256(f"refs/heads/feature/{FEATURE}".encode()).hexdigest()[:20]
    (notes / digest).symlink_to(victim)
    repo.begun("a")
    assert victim.read_text() == "mine\n"


@pytest.mark.parametrize("link", ["rekindle", "rekindle/moving"])
def test_notes_are_not_made_in_a_folder_that_a_link_leads_to(repo: Repo, tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    path = repo.root / ".git" / link
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(outside)
    before = os.stat(outside).st_mtime_ns
    repo.begun("a")
    assert os.stat(outside).st_mtime_ns == before


@pytest.mark.parametrize("ref", [f"refs/heads/feature/{FEATURE}", f"refs/heads/{A}"])
def test_a_branch_that_is_only_another_name_of_the_user_s_is_refused(repo: Repo, ref: str) -> None:
    feature = repo.feature()
    feature.make_feature("")
    repo.git("symbolic-ref", ref, "refs/heads/main")
    with pytest.raises(FeatureBlocked, match="another name of refs/heads/main") as refused:
        repo.seen(feature, "a")
    assert f"git symbolic-ref --delete {ref}" in refused.value.hint


def test_refs_of_ours_that_lead_to_the_user_s_branches_move_and_delete_none_of_them(repo: Repo) -> None:
    feature = repo.begun("a")
    repo.git("branch", "release")
    repo.git("symbolic-ref", done_ref(FEATURE, "a"), "refs/heads/main")
    repo.git("symbolic-ref", merged_ref(FEATURE), "refs/heads/release")
    repo.git("symbolic-ref", left_ref(FEATURE, "a"), "refs/heads/release")
    before = repo.git("rev-parse", "main", "release")
    repo.worked(feature, "a")
    repo.merged(feature, "a")
    feature.clear("a", A)
    repo.git("symbolic-ref", merged_ref(FEATURE), "refs/heads/release")
    repo.git("update-ref", "-d", f"refs/heads/feature/{FEATURE}")
    feature.choose_base("main")
    assert repo.git("rev-parse", "main", "release") == before


@pytest.mark.parametrize("where", ["HEAD", "HEAD^{tree}"])
def test_a_ref_that_came_with_the_repository_calls_no_task_merged(repo: Repo, where: str) -> None:
    feature = repo.begun()
    repo.git("update-ref", done_ref(FEATURE, "a"), repo.git("rev-parse", where))
    task = TaskProgress("e", A)
    assert merge_of("a", task, feature.observe({"a": task})) == "no"


def test_a_merge_that_the_journal_knows_is_found_behind_a_ref_that_lies(repo: Repo) -> None:
    feature = repo.begun("a")
    repo.worked(feature, "a")
    made = repo.merged(feature, "a")
    repo.git("update-ref", done_ref(FEATURE, "a"), "main")
    task = TaskProgress("e1", A, merged=True, merge=made)
    assert merge_of("a", task, feature.observe({"a": task})) == "ours"


@pytest.mark.parametrize("odd", ["\x1e", "\x1d", "\x1f", "\x1eboom\x1dshop/a", "\x1c", "\x85"])
def test_a_message_with_control_characters_in_our_trailers_is_only_a_message(repo: Repo, odd: str) -> None:
    feature = repo.begun("a")
    repo.worked(feature, "a")
    tree = feature.tree_of("a", A)
    repo.git("commit", "-q", "--allow-empty", "-m", f"work\n\nRekindle-Task: {FEATURE}/a{odd}x", cwd=tree)
    made = repo.merged(feature, "a")
    task = TaskProgress("e1", A)
    assert feature.observe({"a": task}).done["a"].commit == made


@pytest.mark.parametrize("name", ['"x', '"x"', "\\x", "x\ny", 'x"\\\n"'])
def test_a_check_may_leave_a_file_of_any_name(repo: Repo, name: str) -> None:
    feature = repo.begun("a")
    tip = repo.worked(feature, "a")
    feature.begin_checks("a", A, tip)
    Path(feature.tree_of("a", A), name).write_text("left\n")
    feature.end_checks("a", A)
    assert not repo.seen(feature, "a").trees[feature.tree_of("a", A)].uncommitted


@pytest.mark.parametrize("link", [".integration", ""])
def test_no_worktree_is_made_through_a_link(repo: Repo, tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    feature = repo.feature()
    feature.make_feature("")
    path = repo.root / ".worktrees" / FEATURE / link
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(outside)
    with pytest.raises(FeatureBlocked, match="symbolic link"):
        feature.integration()
    assert os.listdir(outside) == []


@pytest.mark.parametrize("link", [".integration", ".review-a", "a"])
def test_a_worktree_of_the_user_s_that_a_link_leads_to_is_left_alone(repo: Repo, tmp_path: Path, link: str) -> None:
    theirs = tmp_path / "theirs"
    feature = repo.feature()
    feature.make_feature("")
    repo.git("worktree", "add", "-q", "--detach", str(theirs))
    (theirs / "draft.txt").write_text("not committed\n")
    (repo.root / ".worktrees" / FEATURE).mkdir(parents=True)
    (repo.root / ".worktrees" / FEATURE / link).symlink_to(theirs)
    steps: dict[str, Callable[[], object]] = {
        ".integration": feature.integration,
        ".review-a": lambda: feature.make_copy("a", repo.git("rev-parse", "HEAD")),
        "a": lambda: feature.prepare("a", A, "s"),
    }
    with pytest.raises(FeatureBlocked, match="symbolic link"):
        steps[link]()
    feature.drop_copy("a")
    feature.clear_integration()
    assert (theirs / "draft.txt").read_text() == "not committed\n"


def test_a_worktree_is_mended_and_no_other_folder_that_the_repository_names(repo: Repo, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    feature = repo.begun("a")
    entry = repo.root / ".git" / "worktrees" / "prepared"
    entry.mkdir()
    (entry / "gitdir").write_text(f"{outside}/.git\n")
    (entry / "commondir").write_text("../..\n")
    (entry / "HEAD").write_text("ref: refs/heads/main2\n")
    tree = Path(feature.tree_of("a", A))
    (tree / ".git").unlink()
    feature.prepare("a", A, "s")
    assert repo.git("rev-parse", "--abbrev-ref", "HEAD", cwd=tree) == A
    assert os.listdir(outside) == []


@pytest.mark.timeout(30)
@pytest.mark.parametrize("what", ["pipe", "number"])
def test_a_reflog_that_nobody_could_have_written_is_skipped(repo: Repo, what: str) -> None:
    feature = repo.begun("a")
    log = repo.root / ".git" / "logs" / "refs" / "heads" / A
    log.unlink()
    if what == "pipe":
        os.mkfifo(log)
    else:
        log.write_text(f"{'0' * 40} {'1' * 40} t <t> {'9' * 5000} +0000\tx\n")
    assert A in repo.seen(feature, "a").branches


@pytest.mark.parametrize(
    "setting",
    [
        ("i18n.logOutputEncoding", "UTF-16"),
        ("trailer.separators", "="),
        ("commit.cleanup", "strip"),
    ],
)
def test_a_merge_of_ours_is_known_whatever_the_repository_makes_of_messages(
    repo: Repo, setting: tuple[str, str]
) -> None:
    repo.git("config", "core.commentChar", "R")
    repo.git("config", *setting)
    feature = repo.begun("a")
    repo.worked(feature, "a")
    made = repo.merged(feature, "a")
    task = TaskProgress("e1", A)
    assert feature.observe({"a": task}).done["a"].commit == made
    assert merge_of("a", task, feature.observe({"a": task})) == "ours"


@pytest.mark.parametrize("setting", [("core.logAllRefUpdates", "false"), ("i18n.logOutputEncoding", "UTF-16")])
def test_work_beside_its_branch_is_found_whatever_the_repository_logs(repo: Repo, setting: tuple[str, str]) -> None:
    repo.git("config", *setting)
    feature = repo.begun("a")
    repo.worked(feature, "a")
    tree = feature.tree_of("a", A)
    repo.git("switch", "-q", "-c", "other", cwd=tree)
    Path(tree, "more.txt").write_text("more\n")
    repo.git("add", "-A", cwd=tree)
    repo.git("commit", "-q", "-m", "more", cwd=tree)
    repo.git("switch", "-q", A, cwd=tree)
    assert [one.subject for one in repo.seen(feature, "a").strays["a"]] == ["more"]


@pytest.mark.parametrize("what", ["commit", "blob"])
def test_a_ref_that_no_check_has_left_is_not_in_the_way(repo: Repo, what: str) -> None:
    tree = repo.git("rev-parse", "HEAD^{tree}")
    odd = {"commit": ("commit-tree", tree, "-m", "x"), "blob": ("hash-object", "-w", "readme.txt")}[what]
    feature = repo.begun("a")
    repo.git("update-ref", left_ref(FEATURE, "a"), repo.git(*odd))
    Path(feature.tree_of("a", A), "a.txt").write_text("work\n")
    assert repo.seen(feature, "a").trees[feature.tree_of("a", A)].uncommitted


def test_a_new_branch_has_no_files_that_checks_have_left(repo: Repo) -> None:
    feature = repo.feature()
    feature.make_feature("")
    (repo.root / "a.txt").write_text("work\n")
    repo.git("add", "a.txt")
    repo.git(
        "update-ref", left_ref(FEATURE, "a"), repo.git("commit-tree", repo.git("write-tree"), "-p", "main", "-m", "x")
    )
    repo.git("reset", "-q")
    feature.prepare("a", A, "s")
    Path(feature.tree_of("a", A), "a.txt").write_text("work\n")
    assert repo.seen(feature, "a").trees[feature.tree_of("a", A)].uncommitted
