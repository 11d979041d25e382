"""Skill sessions on disk: written whole, scanned cheaply, never through a link; proofs are checked within limits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rekindle.adapters.skill_folder import holder, scan
from rekindle.adapters.skill_folder.folders import SkillFoldersHere
from rekindle.adapters.skills.proof_checker import JsonSchemaProofs
from rekindle.adapters.skills.skill_files import SkillFilesHere
from rekindle.core.skill.artifacts import LOG_TAIL
from rekindle.core.skill.heartbeat import beaten
from rekindle.core.skill.lifecycle import begun, logged
from rekindle.core.skill.proof import SCHEMA, proof_of
from rekindle.core.skill.skill import SkillRules
from rekindle.core.skill.state import SkillState, document, parse
from rekindle.ports.errors import UsageError
from rekindle.ports.skills import BadSkillState
from tests.skills import claimant, skill

SAMPLE = Path(__file__).parents[3] / "docs" / "skills"


def folders(tmp_path: Path) -> SkillFoldersHere:
    return SkillFoldersHere(str(tmp_path / "sessions"), str(tmp_path / "state"), {}, time.time)


def begin(_: SkillState | None) -> SkillState:
    return begun(skill(), claimant(), {"long": "x" * 200_000})


def later(state: SkillState | None) -> SkillState:
    assert state is not None
    return logged(state, "after")


WRITER = """
import sys, time
from tests.unit.skill.test_folders import folders, logged
from pathlib import Path
here = folders(Path(sys.argv[1]))
print("ready", flush=True)
n = 0
while True:
    n += 1
    here.change(sys.argv[2], lambda state: logged(state, str(n)))
"""


def test_whoever_is_killed_while_it_writes_the_state_file_is_whole(tmp_path: Path) -> None:
    folder = str(tmp_path / "sessions" / "a")
    folders(tmp_path).change(folder, begin)
    for wait in (0.0, 0.011, 0.023, 0.037):
        words = [sys.executable, "-c", WRITER, str(tmp_path), folder]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(wait)  # not to wait for anything: to be somewhere else in the loop
            writer.send_signal(signal.SIGKILL)
        found = folders(tmp_path).read(folder)
        assert found is not None and found.skill == "build"
        assert folders(tmp_path).change(folder, later).last_heartbeat == "after"


def test_a_change_that_is_refused_writes_nothing(tmp_path: Path) -> None:
    here, folder = folders(tmp_path), str(tmp_path / "sessions" / "a")

    def refuse(_: SkillState | None) -> SkillState:
        raise UsageError("no", "")

    with pytest.raises(UsageError):
        here.change(folder, refuse)
    assert here.read(folder) is None


def test_the_scan_reads_the_end_of_a_long_log_only(tmp_path: Path) -> None:
    with open(tmp_path / "BUILD_LOG.md", "wb") as file:
        file.truncate(3 << 30)  # three gigabytes of nothing
        file.seek(0, os.SEEK_END)
        file.write(b"\n## The end\nwords\n")
    found = scan.scan(str(tmp_path), SkillRules(), "build")
    assert found.log is not None and found.log[-1].title == "The end"
    assert len(found.log_end) <= LOG_TAIL


def test_links_are_not_followed(tmp_path: Path) -> None:
    here = tmp_path / "sessions" / "a"
    here.mkdir(parents=True)
    (tmp_path / "secret").write_text("- [x] secret\n")
    (here / "BUILD_PLAN.md").symlink_to(tmp_path / "secret")
    (here / ".state.json").symlink_to(tmp_path / "secret")
    assert scan.scan(str(here), SkillRules(), "build").plan is None
    with pytest.raises(BadSkillState):
        folders(tmp_path).read(str(here))
    skills = tmp_path / "skills" / "evil"
    skills.mkdir(parents=True)
    (skills / "SKILL.md").symlink_to("/etc/passwd")
    with pytest.raises(UsageError):
        SkillFilesHere([str(tmp_path / "skills")]).load("evil")


def test_the_sample_skill_has_three_phases_sub_phases_and_a_proof() -> None:
    found = SkillFilesHere([str(SAMPLE)]).load("report")
    assert [one.label for one in found.phases] == ["0", "1", "2", "2.1", "2.2", "2.3"]
    assert found.description
    assert JsonSchemaProofs().problems(found.phases[4].proof or {}, {"report": "a.md", "checkedClaims": 1}) == []


def test_unquoted_labels_of_yaml_are_taken_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "SKILL.md").write_text("---\nphases:\n  - 1: One\n  - 1.10: Ten\n---\n")
    assert [one.text for one in SkillFilesHere([str(tmp_path)]).load("odd").phases] == ["1: One", "1.10: Ten"]


@pytest.mark.parametrize(
    "proof", [{}, {"sessionReactivated": "x", "resumePath": "slow"}, {**proof_of("a", "slow", "1"), "more": "x"}, []]
)
def test_a_proof_that_lacks_a_field_or_has_another_is_not_valid(proof: Any) -> None:
    assert JsonSchemaProofs().problems(SCHEMA, proof)
    assert JsonSchemaProofs().problems(SCHEMA, proof_of("reactivated", "fast", "1: A")) == []


def test_a_schema_that_is_wrong_slow_or_refers_elsewhere_is_refused() -> None:
    checker = JsonSchemaProofs()
    for schema in (
        {"type": "nonsense"},
        {"$ref": "https://example.invalid/schema"},
        {"type": "string", "pattern": "^(a+)+$"},
    ):
        with pytest.raises(UsageError):
            checker.problems(schema, "a" * 60 + "!")


def test_a_process_is_told_from_a_later_one_with_its_number() -> None:
    me = folders(Path("/nowhere")).me(os.getpid())
    state = {"pid": me.pid, "owner": dict(me.owner)}
    assert holder.verdict(state) == "alive"
    assert holder.verdict({"pid": me.pid, "owner": {**me.owner, "started": 1}}) == "dead"
    assert holder.verdict({"pid": me.pid, "owner": {**me.owner, "machine": "another"}}) == "unknown"
    assert holder.verdict({"pid": me.pid, "lastHeartbeat": 1_000_000}) == "dead"
    assert holder.verdict({"pid": me.pid, "lastHeartbeat": "2099-01-01T00:00:00Z"}) == "alive"
    assert holder.verdict({"pid": 2**22 + 5}) == "dead"
    assert holder.verdict({"pid": None}) == holder.verdict({"pid": True}) == "free"


def test_what_the_hook_writes_is_read_as_a_state() -> None:
    state = document(begun(skill(), claimant(), {}))
    after, _ = beaten({**state, "loading": False}, "t", "Bash")
    assert parse(json.dumps(after).encode(), "x").tool_calls_since_last_log == 1
