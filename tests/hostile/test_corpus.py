"""Whatever a repository from elsewhere holds: nothing of it runs, and nothing outside of it is written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.daemon import Machine
from tests.hostile import foreign_repositories, git_layouts, git_repositories, repositories
from tests.hostile.commands import RUNS, Command, type_all
from tests.hostile.stage import HOSTILE, Stage
from tests.soaking import only_in_soak

#: The modules that fill the corpus.
SOURCES = (repositories, foreign_repositories, git_repositories, git_layouts)


#: Each with one of the two ways to start an agent in `make test`, and with the other one in `make soak`.
NOW = {name: RUNS[number % 2] for number, name in enumerate(HOSTILE)}
LATER = {name: RUNS[1 - number % 2] for number, name in enumerate(HOSTILE)}


@pytest.fixture(scope="module")
def grounds() -> Iterator[str]:
    """Where all repositories are. It is removed after everything that could still write into them has ended."""
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        yield os.path.realpath(folder)


@pytest.fixture
def ground(grounds: str) -> Path:
    return Path(tempfile.mkdtemp(dir=grounds))


@pytest.fixture(scope="module")
def machine(grounds: str) -> Iterator[Machine]:  # noqa: ARG001 - it outlives this
    """One user for all of it: a HOME with files that somebody might want to change, and a daemon."""
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        made = Machine(Path(folder, "home"), Path(folder, "work"))
        made.home.mkdir()
        made.work.mkdir()
        for name in (".cache", ".local/state"):
            (made.home / name).mkdir(parents=True)
        (made.home / ".bashrc").write_text("# the user's own\n")
        (made.home / ".ssh").mkdir(mode=0o700)
        (made.home / ".ssh" / "authorized_keys").write_text("ssh-ed25519 AAAA the user's own\n")
        yield made
        made.clean_up()
        assert made.stamped() == []


@pytest.mark.parametrize(
    ("name", "run"), [*NOW.items(), *only_in_soak(*LATER.items())], ids=[*NOW, *(f"{name}-otherwise" for name in LATER)]
)
def test_nothing_of_it_runs_and_nothing_outside_is_written(
    ground: Path, machine: Machine, name: str, run: Command
) -> None:
    stage = Stage(machine, ground)
    stage.set_up()
    scene = HOSTILE[name](stage)
    assert stage.ran() == [], "building it must not spring it"
    before = stage.untouched()
    wrong = list(type_all(stage, scene, run))
    assert stage.ran() == []
    assert stage.untouched() == before
    assert wrong == []
