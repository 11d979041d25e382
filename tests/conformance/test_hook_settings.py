"""The promises of the settings that our hooks are in. Nobody has a fake of them: the files are held to them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rekindle.hooks import install as hooks
from rekindle.ports.errors import ForeignRepository, UsageError
from rekindle.ports.hook_settings import HookSettings

PORT: HookSettings = hooks
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
