"""What a repository says about places: a link, a setting or a pipe of its leads nowhere outside, and hangs nobody."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.e2e.conftest import Scratch
from tests.e2e.daemon import BIN
from tests.e2e.test_hooks import hook


def exclude(scratch: Scratch) -> list[str]:
    return (scratch.root / ".git" / "info" / "exclude").read_text().splitlines()


def settings(scratch: Scratch, **values: object) -> None:
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())
    (scratch.root / ".rekindle.toml").write_text(text)


def test_git_s_exclude_file_is_not_written_through_a_link(scratch: Scratch) -> None:
    victim = scratch.home / ".bashrc"
    victim.write_text("mine\n")
    file = scratch.root / ".git" / "info" / "exclude"
    file.unlink()
    file.symlink_to(victim)
    scratch.run("track", "session.start")
    hook(scratch, "SessionStart", source="startup", session_id="s")
    assert victim.read_text() == "mine\n"


@pytest.mark.parametrize("value", ["a\n*\nb", "a\rb", "a\x1b[2Jb", "a\u200bb"])
def test_a_folder_s_name_with_control_characters_is_refused(scratch: Scratch, value: str) -> None:
    settings(scratch, progress_dir=value)
    before = exclude(scratch)
    done = scratch.run("track", "session.start")
    assert (done.returncode, exclude(scratch)) == (2, before)
    assert "control characters" in done.stderr
    hook(scratch, "SessionStart", source="startup", session_id="s")
    assert exclude(scratch) == before


@pytest.mark.parametrize("value", [".git/hooks", "./.git", "x/.GIT/y", ".git ", "a/../.git", "../x", "/x", ".", ""])
@pytest.mark.parametrize("key", ["progress_dir", "worktrees_dir"])
def test_a_repository_names_plain_folders_of_its_own_only(scratch: Scratch, key: str, value: str) -> None:
    settings(scratch, **{key: value})
    done = scratch.run("features")
    assert done.returncode == 2
    assert key in done.stderr


@pytest.mark.parametrize("key", ["journal_sync", "feature_worktrees", "agent", "permission", "checks", "notify"])
def test_a_repository_sets_nothing_but_folders(scratch: Scratch, key: str) -> None:
    settings(scratch, **{key: {"journal_sync": "none", "feature_worktrees": "one"}.get(key, "x")})
    done = scratch.run("features")
    assert done.returncode == 2
    assert key in done.stderr


def test_the_user_may_set_what_a_repository_may_not(scratch: Scratch) -> None:
    config = scratch.home / ".config" / "rekindle"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(f'progress_dir = "{scratch.home}/journals"\njournal_sync = "none"\n')
    scratch.ok("track", "session.start")
    assert (scratch.home / "journals" / "auth" / "events.jsonl").exists()


def test_exclude_lines_mean_the_folder_itself_and_are_written_once(scratch: Scratch) -> None:
    settings(scratch, progress_dir="a [b]*?\\ !c")
    for _ in range(3):
        scratch.ok("track", "session.start")
    assert exclude(scratch).count("/a\\ \\[b\\]*".replace("\\]*", "]\\*") + "\\?\\\\\\ !c/") == 1
    (scratch.root / "a bx").mkdir()
    (scratch.root / "a bx" / "file").write_text("x")
    (scratch.root / ".rekindle.toml").unlink()
    assert scratch.git("status", "--porcelain", "--ignored").splitlines() == ['?? "a bx/"', '!! "a [b]*?\\\\ !c/"']


@pytest.mark.parametrize("link", [".claude", ".claude/progress"])
@pytest.mark.parametrize("target", ["outside", "inside"])
def test_a_progress_folder_behind_a_link_is_refused(scratch: Scratch, link: str, target: str) -> None:
    place = scratch.home / "there" if target == "outside" else scratch.root / "there"
    place.mkdir()
    path = scratch.root / link
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(place)
    for words in (["track", "session.start"], ["features"], ["resume", "--all"], []):
        done = scratch.run(*words)
        assert done.returncode == 2
        assert "symbolic link" in done.stderr
    hook(scratch, "SessionStart", source="startup", session_id="s")
    assert list(place.iterdir()) == []


def test_a_progress_folder_in_another_repository_is_refused(scratch: Scratch) -> None:
    (scratch.root / ".claude").mkdir()
    scratch.git("init", "-q", cwd=scratch.root / ".claude")
    done = scratch.run("track", "session.start")
    assert done.returncode == 2
    assert "another repository" in done.stderr


def test_where_git_cannot_say_what_is_tracked_nothing_is_written(scratch: Scratch) -> None:
    (scratch.root / ".git" / "index").write_bytes(b"garbage")
    done = scratch.run("track", "session.start")
    assert done.returncode == 2
    assert "git cannot say" in done.stderr
    assert not scratch.journal().exists()


def test_hooks_are_not_installed_through_a_link(scratch: Scratch) -> None:
    folder = scratch.root / ".claude"
    folder.symlink_to(scratch.home)
    assert scratch.run("hooks", "install").returncode == 2
    folder.unlink()
    folder.mkdir()
    (folder / "settings.json").symlink_to(scratch.home / "settings.json")
    assert scratch.run("hooks", "install").returncode == 2
    assert not (scratch.home / "settings.json").exists()


def _make_pipe(path: Path) -> None:
    os.mkfifo(path)


def _make_endless(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def _make_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _make_binary(path: Path) -> None:
    path.write_bytes(bytes(range(256)))


def _make_deep(path: Path) -> None:
    path.write_text("progress_dir = " + "[" * 60_000)


@pytest.mark.parametrize("make", [_make_pipe, _make_endless, _make_device, _make_binary, _make_deep])
def test_settings_that_are_no_file_are_named_and_hang_nobody(scratch: Scratch, make: object) -> None:
    assert callable(make)
    make(scratch.root / ".rekindle.toml")
    for words in ([], ["track", "session.start"]):
        done = scratch.run(*words)
        assert done.returncode == 2
        assert ".rekindle.toml" in done.stderr
        assert "should not have happened" not in done.stderr
    hook(scratch, "SessionStart", source="startup", session_id="s")


def test_an_endless_owner_record_is_no_owner(scratch: Scratch) -> None:
    scratch.ok("track", "session.start")
    _make_endless(scratch.journal().parent / "owner.json")
    assert scratch.json("analyze", "auth")["interrupted"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_in_a_repository_of_somebody_else_commands_refuse_and_the_hook_does_nothing(scratch: Scratch) -> None:
    for path in (scratch.root, scratch.root / ".git"):
        os.chown(path, 65534, 65534)
    for words in ([], ["features"], ["track", "session.start"], ["resume", "--all"], ["run", "say hi"]):
        done = scratch.run(*words)
        assert done.returncode == 2
        assert "safe.directory" in done.stderr
    hook(scratch, "SessionStart", source="startup", session_id="s")
    assert not (scratch.root / ".claude").exists()
    scratch.git("config", "--global", "--add", "safe.directory", str(scratch.root))
    scratch.ok("track", "session.start")
    assert scratch.journal().exists()
    assert (BIN / "rekindle-hook").exists()
