"""What skill sessions, skills and proofs on disk promise. There is one adapter of each: the files are the truth."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from rekindle.adapters.skill_folder import pointer
from rekindle.adapters.skill_folder.folders import SkillFoldersHere
from rekindle.adapters.skills.proof_checker import JsonSchemaProofs
from rekindle.adapters.skills.skill_files import SkillFilesHere
from rekindle.core.skill.lifecycle import begun
from rekindle.ports.errors import UsageError
from rekindle.ports.skills import NoSuchSkill, ProofChecker, SkillFiles, SkillFolders
from tests.skills import claimant, skill


@pytest.fixture
def folders(tmp_path: Path) -> SkillFolders:
    return SkillFoldersHere(str(tmp_path / "sessions"), str(tmp_path / "state"), {"TMUX_PANE": "%7"}, time.time)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "sessions" / "login")


def test_a_state_is_read_as_it_was_changed_and_seen_below_the_root(folders: SkillFolders, folder: str) -> None:
    assert folders.read(folder) is None and folders.seen() == []
    made = folders.change(folder, lambda _: begun(skill(), folders.me(os.getpid()), {}))
    assert folders.read(folder) == made
    [seen] = folders.seen()
    assert (seen.folder, seen.skill, seen.pane) == (folder, "build", "%7")


def test_a_word_means_a_path_or_a_name_below_the_root(
    folders: SkillFolders, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders.change(folder, lambda _: begun(skill(), claimant(), {}))
    assert folders.resolve(folder) == folders.resolve("login") == folder
    monkeypatch.chdir(tmp_path)
    assert folders.shown(folder) == os.path.join("sessions", "login")
    (tmp_path / "a-file").write_text("")
    with pytest.raises(UsageError):
        folders.resolve(str(tmp_path / "a-file"))


def test_a_live_process_holds_its_session_and_one_that_is_gone_does_not(folders: SkillFolders) -> None:
    other = begun(skill(), folders.me(1), {})
    assert folders.holder(other) == 1 and not folders.is_mine(other)
    mine = begun(skill(), folders.me(), {})
    assert folders.is_mine(mine) and folders.holder(mine) is None
    with subprocess.Popen(["sleep", "60"]) as process:
        theirs = begun(skill(), folders.me(process.pid), {})
        assert folders.holder(theirs) == process.pid
        process.kill()
    assert folders.holder(theirs) is None
    with pytest.raises(UsageError):
        folders.me(process.pid)


def test_hooks_find_the_folder_of_their_process(folders: SkillFolders, folder: str, tmp_path: Path) -> None:
    folders.change(folder, lambda _: begun(skill(), claimant(), {}))
    who = folders.me(os.getpid())
    folders.remember(folder, who)
    assert pointer.pointed(str(tmp_path / "state"), who.pid) == folder


def test_what_is_appended_is_scanned_and_what_was_dropped_is_kept_in_order(folders: SkillFolders, folder: str) -> None:
    state = folders.change(folder, lambda _: begun(skill(), claimant(), {}))
    assert folders.log_end(folder, state.rules.log) == "" and folders.dropped(folder) == []
    folders.append_log(folder, state.rules.log, "## First\nwords")
    folders.append_log(folder, state.rules.log, "## Second\nmore words")
    assert folders.log_end(folder, state.rules.log).count("words") == 2
    found = folders.scan(folder, state)
    assert found.log is not None and [one.title for one in found.log] == ["First", "Second"]
    for number in (1, 2):
        folders.keep_dropped(folder, {"number": number})
    assert [one["number"] for one in folders.dropped(folder)] == [1, 2]


def test_skills_are_found_in_order_and_a_broken_one_says_why(tmp_path: Path) -> None:
    for place, name, text in (
        ("repository", "build", "---\ndescription: ours\nphases:\n  - '0: Setup'\n---\n"),
        ("home", "build", "---\ndescription: theirs\nphases:\n  - '0: Other'\n---\n"),
        ("home", "broken", "---\nphases: [\n---\n"),
    ):
        (tmp_path / place / name).mkdir(parents=True)
        (tmp_path / place / name / "SKILL.md").write_text(text)
    skills: SkillFiles = SkillFilesHere([str(tmp_path / "repository"), str(tmp_path / "home")])
    assert skills.load("build").description == "ours"
    names = skills.names()
    assert names.keys() == {"build", "broken"} and names["build"] == "ours" and names["broken"]
    for name in ("broken", "missing", "../build"):
        with pytest.raises(NoSuchSkill):
            skills.load(name)


def test_a_value_is_held_against_a_schema_and_a_bad_schema_is_refused() -> None:
    proofs: ProofChecker = JsonSchemaProofs()
    schema = {"type": "object", "required": ["file"], "properties": {"file": {"type": "string"}}}
    assert proofs.problems(schema, {"file": "a.md"}) == []
    assert proofs.problems(schema, {"file": 1}) and proofs.problems(schema, {})
    with pytest.raises(UsageError):
        proofs.problems({"type": "nonsense"}, {})
