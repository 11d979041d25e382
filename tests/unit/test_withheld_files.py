"""A filter that a repository defines itself runs after a yes, and without it files that need it are left alone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rekindle.adapters.feature_git.git_feature import GitFeature, Worktrees
from rekindle.adapters.git import approvals, repository
from rekindle.adapters.git.git import Git
from rekindle.adapters.snapshots import taking
from rekindle.adapters.snapshots.restoring import restore
from rekindle.core.feature.progress import TaskProgress

SESSION, NOW = "abcdef0123", 1_700_000_000.0
BRANCH = "work/shop/t"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    monkeypatch.setenv("HOME", str(made))
    monkeypatch.setenv("XDG_STATE_HOME", str(made / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(made / "config"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(made / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (made / "gitconfig").write_text("[user]\n\tname = t\n\temail = t@example.invalid\n")
    return made


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=True)
    return done.stdout.decode()


CLEAN, SMUDGE = "tr a-z A-Z", "tr A-Z a-z"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """What is under `secret/` is stored in capitals."""
    root = tmp_path / "repo"
    (root / "secret").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "filter.crypt.clean", CLEAN)
    git(root, "config", "filter.crypt.smudge", SMUDGE)
    git(root, "config", "filter.crypt.required", "true")
    (root / ".gitattributes").write_text("/secret/** filter=crypt\n")
    (root / "secret" / "a").write_text("open\n")
    (root / "plain").write_text("plain\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "begin")
    assert git(root, "show", "HEAD:secret/a") == "OPEN\n"
    return root


def approve(root: Path) -> None:
    found = Git(str(root)).policy()
    assert found.common is not None
    approvals.approve(found.common, list(found.defined))


def change(root: Path) -> None:
    (root / "secret" / "a").write_text("changed\n")
    (root / "secret" / "new").write_text("new\n")
    (root / "plain").write_text("changed\n")


def every_blob(root: Path) -> bytes:
    listed = git(root, "cat-file", "--batch-check", "--batch-all-objects").split("\n")
    blobs = [line.split()[0] for line in listed if " blob " in line]
    return b"".join(subprocess.check_output(["git", "cat-file", "blob", one], cwd=root) for one in blobs)


def test_a_snapshot_leaves_out_what_needs_an_unapproved_filter_and_says_so(repo: Path) -> None:
    change(repo)
    found = taking.take(str(repo), SESSION, "x", NOW)
    assert found is not None
    assert git(repo, "show", f"{found.id}:plain") == "changed\n"
    assert git(repo, "show", f"{found.id}:secret/a") == "OPEN\n"
    assert "secret/new" not in git(repo, "ls-tree", "-r", "--name-only", found.id)
    assert len(found.left_out) == 2
    assert all("secret/" in one and "'crypt'" in one and "rekindle trust filters" in one for one in found.left_out)
    assert b"new\n" not in every_blob(repo), "the open text must not be in the repository at all"
    (repo / "plain").write_text("again\n")
    second = taking.take(str(repo), SESSION, "y", NOW + 1)
    assert second is not None
    assert git(repo, "show", f"{second.id}:secret/a") == "OPEN\n"


def test_a_restore_does_not_touch_what_was_left_out(repo: Path) -> None:
    change(repo)
    assert taking.take(str(repo), SESSION, "x", NOW) is not None
    (repo / "plain").write_text("later\n")
    done = restore(str(repo), SESSION, None, None, NOW + 1)
    assert (repo / "plain").read_text() == "changed\n"
    assert (repo / "secret" / "a").read_text() == "changed\n"
    assert (repo / "secret" / "new").read_text() == "new\n"
    assert done.notice is not None
    assert "'crypt'" in done.notice


def test_after_a_yes_the_filter_runs_and_a_new_definition_is_asked_about_again(repo: Path) -> None:
    approve(repo)
    change(repo)
    found = taking.take(str(repo), SESSION, "x", NOW)
    assert found is not None
    assert found.left_out == ()
    assert git(repo, "show", f"{found.id}:secret/a") == "CHANGED\n"
    assert git(repo, "show", f"{found.id}:secret/new") == "NEW\n"
    git(repo, "config", "filter.crypt.clean", "tr a-z B-ZA")
    assert Git(str(repo)).policy().filters == {"crypt"}
    git(repo, "config", "filter.crypt.clean", CLEAN)
    assert Git(str(repo)).policy().filters == frozenset()
    git(repo, "config", "filter.other.clean", CLEAN)
    assert Git(str(repo)).policy().filters == {"other"}


def test_a_yes_is_for_one_repository(repo: Path, tmp_path: Path) -> None:
    approve(repo)
    repo.rename(tmp_path / "moved")
    repo.mkdir()
    git(repo, "init", "-q")
    for variable, command in (("clean", CLEAN), ("smudge", SMUDGE), ("required", "true")):
        git(repo, "config", f"filter.crypt.{variable}", command)
    assert Git(str(repo)).policy().filters == {"crypt"}


def test_a_yes_can_be_taken_back(repo: Path) -> None:
    approve(repo)
    common = Git(str(repo)).policy().common
    assert common is not None
    assert approvals.forget(common)
    assert Git(str(repo)).policy().filters == {"crypt"}
    assert not approvals.forget(common)


@pytest.mark.parametrize("is_local_too", [False, True])
def test_a_filter_of_the_users_own_configuration_runs(repo: Path, is_local_too: bool) -> None:
    if not is_local_too:
        git(repo, "config", "--remove-section", "filter.crypt")
    for variable, command in (("clean", CLEAN), ("smudge", SMUDGE)):
        git(repo, "config", "--global", f"filter.crypt.{variable}", command)
    change(repo)
    found = taking.take(str(repo), SESSION, "x", NOW)
    assert found is not None
    assert found.left_out == ()
    assert git(repo, "show", f"{found.id}:secret/new") == "NEW\n"


def test_a_filter_of_the_users_that_the_repository_redefines_does_not_run(repo: Path) -> None:
    git(repo, "config", "--global", "filter.crypt.clean", "cat")
    change(repo)
    found = taking.take(str(repo), SESSION, "x", NOW)
    assert found is not None
    assert len(found.left_out) == 2


def _feature(root: Path) -> GitFeature:
    found = repository.find(str(root))
    assert found is not None
    return GitFeature(found, "shop", Worktrees())


def test_a_plan_commits_all_but_what_needs_an_unapproved_filter(repo: Path) -> None:
    feature = _feature(repo)
    feature.make_feature("")
    made = feature.prepare("t", BRANCH, SESSION)
    assert made.notice is not None
    assert "'crypt'" in made.notice
    tree = Path(made.path)
    assert (tree / "secret" / "a").read_text() == "OPEN\n", "checked out as it is stored"
    change(tree)
    left_out = feature.commit("t", BRANCH, "work")
    assert [one.partition(" ")[0] for one in sorted(left_out)] == ["secret/a", "secret/new"]
    assert git(repo, "show", f"{BRANCH}:plain") == "changed\n"
    assert git(repo, "show", f"{BRANCH}:secret/a") == "OPEN\n"
    assert "secret/new" not in git(repo, "ls-tree", "-r", "--name-only", BRANCH)
    assert b"new\n" not in every_blob(repo)
    seen = feature.observe({"t": TaskProgress("e", BRANCH)})
    assert not seen.trees[str(tree)].uncommitted, "it would be committed again for ever"
    merged = feature.merge("t", BRANCH, git(repo, "rev-parse", BRANCH).strip(), "e", "merge t")
    assert merged.commit is not None
    assert git(repo, "show", f"{merged.commit}:secret/a") == "OPEN\n"
    cleared = feature.clear("t", BRANCH)
    assert cleared.removed_tree is None, "what is in no commit is not deleted"
    assert (tree / "secret" / "new").read_text() == "new\n"


def test_a_plan_uses_an_approved_filter(repo: Path) -> None:
    approve(repo)
    feature = _feature(repo)
    feature.make_feature("")
    made = feature.prepare("t", BRANCH, SESSION)
    assert made.notice is None
    assert Path(made.path, "secret", "a").read_text() == "open\n"
    change(Path(made.path))
    assert feature.commit("t", BRANCH, "work") == ()
    assert git(repo, "show", f"{BRANCH}:secret/new") == "NEW\n"


def test_an_unapproved_merge_driver_is_replaced_by_gits_own_merge(repo: Path) -> None:
    (repo / ".gitattributes").write_text("*.list merge=ours-only\n")
    (repo / "x.list").write_text("1\n2\n3\n4\n5\n6\n7\n8\n9\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "list")
    git(repo, "config", "merge.ours-only.driver", "true")
    feature = _feature(repo)
    feature.make_feature("")
    for task, line in (("t", "1"), ("u", "9")):
        made = feature.prepare(task, f"work/shop/{task}", SESSION)
        path = Path(made.path, "x.list")
        path.write_text(path.read_text().replace(line, f"{line} by {task}"))
        feature.commit(task, f"work/shop/{task}", "work")
    for task in ("t", "u"):
        tip = git(repo, "rev-parse", f"work/shop/{task}").strip()
        merged = feature.merge(task, f"work/shop/{task}", tip, task, f"merge {task}")
    assert merged.commit is not None
    told = git(repo, "show", f"{merged.commit}:x.list")
    assert "1 by t" in told
    assert "9 by u" in told


def test_what_a_person_said_yes_to_is_theirs_alone(repo: Path, home: Path) -> None:
    approve(repo)
    (found,) = (home / "state").rglob("*.json")
    assert found.stat().st_mode & 0o077 == 0
    assert os.stat(found.parent).st_mode & 0o077 == 0


def test_what_checks_leave_is_taken_out_without_what_cannot_be_kept(repo: Path) -> None:
    """Neither a check that leaves or changes files, nor the next one, costs an edit that no commit can have."""
    feature = _feature(repo)
    feature.make_feature("")
    tree = Path(feature.prepare("t", BRANCH, SESSION).path)
    (tree / "plain").write_text("changed\n")
    feature.commit("t", BRANCH, "work")
    (tree / "secret" / "a").write_text("an edit that only its filter could store\n")
    tip = git(repo, "rev-parse", BRANCH).strip()
    feature.begin_checks("t", BRANCH, tip)
    (tree / "left").write_text("by the check\n")
    (tree / "plain").write_text("by the check\n")
    assert feature.put_back("t", BRANCH) == ("plain",)
    assert (tree / "plain").read_text() == "changed\n"
    assert feature.end_checks("t", BRANCH) == ("left",)
    feature.begin_checks("t", BRANCH, tip)
    assert not (tree / "left").exists()
    assert (tree / "secret" / "a").read_text() == "an edit that only its filter could store\n"
