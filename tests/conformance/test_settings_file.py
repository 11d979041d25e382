"""The promises of the user's settings file, for the file on disk and for the fake."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rekindle.adapters.machine.settings_file import UserFile
from rekindle.ports.errors import UsageError
from rekindle.ports.settings_file import SettingsFile
from tests.fakes.settings_file import FakeSettingsFile


@pytest.fixture(params=["on disk", "fake"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> SettingsFile:
    path = str(tmp_path / "a" / "b" / "config.toml")
    return UserFile(path) if request.param == "on disk" else FakeSettingsFile(path)


def test_what_is_not_there_is_none_and_what_was_written_is_read(file: SettingsFile) -> None:
    assert file.read() is None
    file.write("# ä\r\nagent = 'claude'\n")
    assert file.read() == "# ä\r\nagent = 'claude'\n"
    assert os.path.basename(file.path) == "config.toml"


def test_a_file_with_secrets_is_the_users_alone(file: SettingsFile) -> None:
    assert not file.is_shared()
    file.write("a = 1\n")
    assert file.is_shared()
    file.write("a = 2\n", private=True)
    assert (file.read(), file.is_shared()) == ("a = 2\n", False)
    file.write("a = 3\n")
    assert not file.is_shared(), "its mode stays"


def test_a_link_stays_a_link_and_a_mode_stays(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("a = 1\n")
    real.chmod(0o600)
    link = tmp_path / "config.toml"
    link.symlink_to(real)
    UserFile(str(link)).write("a = 2\n")
    assert (link.is_symlink(), real.read_text(), real.stat().st_mode & 0o777) == (True, "a = 2\n", 0o600)


def test_what_cannot_be_read_or_written_names_the_file(tmp_path: Path) -> None:
    for broken in (tmp_path / "folder", tmp_path / "pipe"):
        broken.mkdir() if broken.name == "folder" else os.mkfifo(broken)
        with pytest.raises(UsageError, match=str(broken)):
            UserFile(str(broken)).read()
    (tmp_path / "file").write_bytes(b"a = 1\n\xff\n")
    with pytest.raises(UsageError, match="line 2: is not valid UTF-8"):
        UserFile(str(tmp_path / "file")).read()
    with pytest.raises(UsageError, match="cannot be written"):
        UserFile(str(tmp_path / "file" / "below")).write("")
