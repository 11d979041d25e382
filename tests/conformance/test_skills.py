"""What skill sessions, skills and proofs on disk promise. There is one adapter of each: the files are the truth."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rekindle.adapters.skill_folder import pointer
from rekindle.adapters.skill_folder.folders import SkillFoldersHere
from rekindle.adapters.skill_folder.supervised import SupervisedSkillsHere
from rekindle.adapters.skills.proof_checker import JsonSchemaProofs
from rekindle.adapters.skills.skill_files import SkillFilesHere
from rekindle.core.skill import dehydration
from rekindle.core.skill.dehydration import DehydratedContext
from rekindle.core.skill.lifecycle import begun, claimed, continued, dehydrated, proved
from rekindle.core.skill.state import SkillResume
from rekindle.ports.errors import RekindleError, UsageError
from rekindle.ports.skills import NoSuchSkill, ProofChecker, SkillFiles, SkillFolders, SupervisedSkills
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


def test_what_is_in_the_place_of_the_lock_is_named_with_what_to_do(folders: SkillFolders, folder: str) -> None:
    lock = Path(folder) / ".state.lock"
    lock.mkdir(parents=True)
    for _ in range(2):
        with pytest.raises(RekindleError, match=r"\.state\.lock") as found:
            folders.change(folder, lambda _: begun(skill(), folders.me(os.getpid()), {}))
        assert "remove it" in found.value.hint
        lock.rmdir() if not lock.is_symlink() else lock.unlink()
        lock.symlink_to("/etc/passwd")
    lock.unlink()
    assert folders.change(folder, lambda _: begun(skill(), folders.me(os.getpid()), {})).skill == "build"


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


def test_a_process_that_has_the_number_of_a_dead_one_holds_nothing(folders: SkillFolders) -> None:
    """What tells it apart is in the claim, whatever its age says: it may be older than the claim's last heartbeat."""
    with subprocess.Popen(["sleep", "60"]) as process:
        claim = folders.me(process.pid)
        owner = {**claim.owner, "started": claim.owner["started"] - 1}
        stale = begun(skill(), replace(claim, owner=owner, at="2100-01-01T00:00:00.000Z"), {})
        assert folders.holder(stale) is None
        process.kill()


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


def test_an_entry_that_the_disk_has_room_for_in_part_only_is_not_acknowledged(
    folders: SkillFolders, folder: str
) -> None:
    """The first write of such an entry reports a short count, not an error: the rest would be lost without a word."""
    folders.change(folder, lambda _: begun(skill(), folders.me(os.getpid()), {}))
    folders.append_log(folder, "LOG.md", "## First")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))
    try:
        with pytest.raises(RekindleError, match=r"LOG\.md: cannot be written"):
            folders.append_log(folder, "LOG.md", "## Second\n" + "words " * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    folders.append_log(folder, "LOG.md", "## Third")
    assert folders.log_end(folder, "LOG.md").endswith("\n## Third\n")


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


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": [1]},
        {"$schema": 5},
        {"$schema": "http://[x"},
        {"$id": "http://[x", "$ref": "#/a"},
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"$dynamicRef": "http://127.0.0.1:9/x"},
        {"properties": {"n": {"pattern": "a{99999999999999999999}"}}},
        {"properties": {"n": {"multipleOf": 0.1}}},
    ],
)
def test_whatever_a_schema_does_to_its_checker_is_the_schemas_fault(schema: dict[str, Any]) -> None:
    """It comes with a repository."""
    with pytest.raises(UsageError, match="schema"):
        JsonSchemaProofs().problems(schema, {"n": 10**400})


@pytest.mark.parametrize("number", ["0x" + "f" * 20_000, ".inf", ".nan", ":".join(["59"] * 5_000), "9" * 5_000])
@pytest.mark.parametrize("key", ["heartbeat: {warn: %s}", "gate: %s", "approval: %s", "phases: [{label: %s, name: x}]"])
def test_a_number_in_a_skill_that_nobody_can_write_down_is_a_bad_skill(tmp_path: Path, key: str, number: str) -> None:
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "SKILL.md").write_text(f"---\n{key % number}\n---\n")
    with pytest.raises(NoSuchSkill) as caught:
        SkillFilesHere([str(tmp_path)]).load("evil")
    assert caught.value.code == "bad_skill" and len(caught.value.message) < 1000
    (tmp_path / "evil" / "SKILL.md").unlink()
    (tmp_path / "evil" / "skill.toml").write_text("gate = 0x" + "f" * 20_000)
    with pytest.raises(NoSuchSkill):
        SkillFilesHere([str(tmp_path)]).load("evil")


@pytest.fixture
def supervised(tmp_path: Path) -> tuple[SupervisedSkills, SkillFolders, Path]:
    """A session `brave-otter` whose agent works in a skill session, in a repository."""
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    (work / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (work / ".git" / "objects").mkdir()
    (work / ".git" / "refs").mkdir()
    stamp = {"REKINDLE_STAMP": "rekindle-0123456789ab-brave-otter"}
    here = SkillFoldersHere(str(work / "sessions"), str(tmp_path / "state"), stamp, time.time)
    folder = str(work / "sessions" / "login")
    here.change(folder, lambda _: begun(skill(), here.me(os.getpid()), {}))
    here.remember(folder, here.me(os.getpid()))
    return SupervisedSkillsHere(str(tmp_path / "state"), here.read, lambda: "5c1d9a0b7e3f2468"), here, work


def leave(folders: SkillFolders, folder: str, *names: str) -> None:
    context = DehydratedContext("Find the leak", "read it", ["fix it"], list(names))
    folders.change(folder, lambda state: dehydrated(state or begun(skill(), claimant(), {}), context, "now"))


def test_the_skill_session_of_a_supervised_agent_is_known_with_its_proof(
    supervised: tuple[SupervisedSkills, SkillFolders, Path],
) -> None:
    skills, folders, work = supervised
    folder = str(work / "sessions" / "login")
    assert (skills.folder_of("brave-otter"), skills.folder_of("other"), skills.of("../state")) == (folder, None, None)
    proof = {"sessionReactivated": "x", "resumePath": "slow", "phaseResumed": "0: Setup"}
    folders.change(
        folder, lambda state: proved(state or begun(skill(), claimant(), {}), SkillResume("then", "RSM", proof))
    )
    found = skills.of("brave-otter")
    assert found is not None and (found.skill, found.phase, found.proof) == ("build", "0: Setup", proof)
    folders.change(folder, lambda state: claimed(state or begun(skill(), claimant(), {}), claimant()))
    assert skills.of("brave-otter") is None, "somebody else has taken it over"


def test_the_first_prompt_has_the_notes_and_the_files_of_the_work_tree_within_their_limits(
    supervised: tuple[SupervisedSkills, SkillFolders, Path],
) -> None:
    skills, folders, work = supervised
    folder = str(work / "sessions" / "login")
    assert skills.first_prompt("brave-otter", None) is None
    (work / "pool.py").write_text("def pool():\n    return 1\n")
    (work / "long.txt").write_text("x" * 60_000)
    (work / "picture.png").write_bytes(b"\x89PNG\0\0")
    (work.parent / "secret").write_text("TOP-SECRET")
    (work / "link").symlink_to(work.parent / "secret")
    (work / "sessions" / "login" / "notes.md").write_text("mine")
    outside = (str(work.parent / "secret"), "../secret", "link", ".git/HEAD")
    leave(folders, folder, "pool.py", "long.txt", "picture.png", "notes.md", *outside)
    text = skills.first_prompt("brave-otter", None)
    assert text is not None and text.startswith("## Session Recovery (Dehydrated Context)\n")
    assert "| Find the leak" in text and "|     return 1" in text and "| mine" in text
    assert "TOP-SECRET" not in text and "refs/heads/main" not in text
    assert text.count("not given: it is not a file of the work tree") == 3
    assert "not given: it is not a text" in text and "cut: 50000 of 60000 bytes" in text
    assert "came with the repository" not in text
    leave(folders, folder, "a\0b", "\ud800", "pool.py")
    odd = skills.first_prompt("brave-otter", None)
    assert odd is not None and odd.count("not given: no file can have this name") == 2 and "|     return 1" in odd
    small = skills.first_prompt("brave-otter", 8_000)
    assert small is not None and sum(line.count("x") for line in small.split("\n") if "xx" in line) <= 8_000
    assert dehydration.room_for_files(8_000) == 8_000
    folders.change(folder, lambda state: continued(state or begun(skill(), claimant(), {}), folders.me(os.getpid())))
    assert skills.first_prompt("brave-otter", None) is None, "it was acknowledged"
