"""The environments of jobs: kept, private, and copied for the jobs of a schedule."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rekindle.adapters.machine.job_folders import JobFolders
from rekindle.ports.job_places import JobPlaces
from tests.fakes.job_places import FakeJobPlaces


@pytest.fixture(params=["real", "fake"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> JobPlaces:
    return JobFolders(str(tmp_path / "jobs")) if request.param == "real" else FakeJobPlaces()


def test_what_a_step_has_of_its_own_wins(places: JobPlaces) -> None:
    places.keep("j00000001", {"A": "1", "B": "2"}, {"build": {"B": "3"}})
    assert places.environment("j00000001", "build") == {"A": "1", "B": "3"}
    assert places.environment("j00000001", "ship") == {"A": "1", "B": "2"}


def test_what_was_never_kept_is_none(places: JobPlaces) -> None:
    assert places.environment("j00000001", "build") is None


def test_another_job_gets_the_same(places: JobPlaces) -> None:
    places.keep("j00000001", {"A": "1"}, {"s": {"B": "2"}})
    places.copy("j00000001", "j00000002")
    assert places.environment("j00000002", "s") == {"A": "1", "B": "2"}
    with pytest.raises(OSError):
        places.copy("j00000003", "j00000004")


def test_nobody_else_can_read_the_file(tmp_path: Path) -> None:
    JobFolders(str(tmp_path / "jobs")).keep("j00000001", {"KEY": "secret"}, {})
    assert os.stat(tmp_path / "jobs").st_mode & 0o777 == 0o700
    assert os.stat(tmp_path / "jobs" / "j00000001.json").st_mode & 0o777 == 0o600


def test_a_damaged_file_is_none_and_a_path_is_no_id(tmp_path: Path) -> None:
    folders = JobFolders(str(tmp_path / "jobs"))
    folders.keep("j00000001", {"KEY": "secret"}, {})
    (tmp_path / "jobs" / "j00000001.json").write_text("[")
    assert folders.environment("j00000001", "a") is None
    with pytest.raises(ValueError):
        folders.keep("../../x", {}, {})
