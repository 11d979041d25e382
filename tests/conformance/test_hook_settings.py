"""The promises of the settings that our hooks are in. Nobody has a fake of them: the files are held to them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from rekindle.hooks import install as hooks
from rekindle.ports.errors import ForeignRepository, UsageError
from rekindle.ports.hook_settings import HookPlace, HookSettings

PORT: HookSettings = hooks
PLACES: dict[str, HookPlace] = dict(hooks.HOOKED)
OTHERS = {
    "model": "opus",
    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "their-own"}]}], "Other": []},
}


def test_hooks_are_added_once_and_taken_out_and_the_rest_stays_as_it_is(tmp_path: Path) -> None:
    file = PORT.settings_file(str(tmp_path))
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(OTHERS, indent=4))
    assert PORT.installed(file) == []
    added = PORT.install(file, f"/somewhere/{PORT.PROGRAM}")
    assert sorted(added) == sorted(PORT.installed(file)) == sorted(PORT.EVENTS)
    assert PORT.install(file, f"/somewhere/{PORT.PROGRAM}") == []
    kept = json.loads(file.read_text())
    assert kept["model"] == "opus"
    assert OTHERS["hooks"]["Stop"][0] in kept["hooks"]["Stop"]  # type: ignore[index]
    assert sorted(PORT.uninstall(file)) == sorted(PORT.EVENTS)
    assert (PORT.installed(file), PORT.uninstall(file)) == ([], [])
    assert json.loads(file.read_text()) == OTHERS


def test_settings_that_are_not_there_are_made_and_nothing_is_installed_in_them(tmp_path: Path) -> None:
    file = PORT.settings_file(str(tmp_path), "settings.local.json")
    assert file.name == "settings.local.json"
    assert (PORT.installed(file), PORT.uninstall(file), file.exists()) == ([], [], False)
    assert PORT.install(file, PORT.PROGRAM)
    assert file.exists()


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": 7}', '{"a": NaN}'])
def test_settings_that_cannot_be_read_are_left_alone(tmp_path: Path, text: str) -> None:
    file = PORT.settings_file(str(tmp_path))
    file.parent.mkdir(parents=True)
    file.write_text(text)
    with pytest.raises(UsageError):
        PORT.install(file, PORT.PROGRAM)
    assert file.read_text() == text


def test_a_link_that_leads_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "project" / ".claude").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ForeignRepository):
        PORT.settings_file(str(tmp_path / "project"))


def test_the_texts_for_agents_are_put_there_and_removed_unless_somebody_changed_them(tmp_path: Path) -> None:
    first = PORT.put_texts(str(tmp_path))
    assert set(first.values()) == {"written"} and all(Path(name).is_file() for name in first)
    assert set(PORT.put_texts(str(tmp_path)).values()) == {"unchanged"}
    one, *others = first
    Path(one).write_text(Path(one).read_text().replace("user", "reader"))
    assert PORT.put_texts(str(tmp_path))[one] == "kept"
    assert PORT.remove_texts(str(tmp_path)) == {one: "kept", **dict.fromkeys(others, "removed")}
    assert Path(one).exists() and not any(Path(name).exists() for name in others)


def test_texts_are_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "project" / ".claude").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "project" / ".claude" / "commands").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ForeignRepository):
        PORT.put_texts(str(tmp_path / "project"))
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("agent", PLACES)
@pytest.mark.parametrize("folder", ["bin", "it's a place", "a\nb"])
def test_the_shell_that_an_agent_starts_runs_the_program_whose_command_it_was_given(
    tmp_path: Path, agent: str, folder: str
) -> None:
    program = tmp_path / folder / PORT.PROGRAM
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "called with: $*"\n')
    program.chmod(0o755)
    command = PORT.command_of(str(program), agent)
    called = subprocess.run(["/bin/sh", "-c", command], env={"HOME": str(tmp_path)}, capture_output=True, text=True)
    word = "" if agent == "claude" else agent
    assert (called.returncode, called.stdout, called.stderr) == (0, f"called with: {word}\n", "")
    file = PORT.settings_file(str(tmp_path), PLACES[agent].file, agent)
    assert PORT.install(file, command, agent) and PORT.installed(file) and PORT.uninstall(file), "known as ours again"


@pytest.mark.parametrize("agent", PLACES)
def test_every_agent_that_has_hooks_gets_ours_and_loses_them_again(tmp_path: Path, agent: str) -> None:
    file = PORT.settings_file(str(tmp_path), PLACES[agent].file, agent)
    command = PORT.PROGRAM if agent == "claude" else f"{PORT.PROGRAM} {agent}"
    added = PORT.install(file, command, agent)
    assert added and sorted(PORT.installed(file)) == sorted(added)
    assert command in file.read_text() and PORT.install(file, command, agent) == []
    assert (PLACES[agent].trust == "") == (agent == "claude"), "what a person has to do first is said"
    assert sorted(PORT.uninstall(file)) == sorted(added)
    assert PORT.installed(file) == []
    assert file.exists() == (agent != "copilot"), "a file that has nothing but our hook goes with it"
