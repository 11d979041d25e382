"""A scratch repository and the real commands, each run as a user would: own HOME, nothing of this machine's."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import starter
from tests.e2e.daemon import BIN, Machine
from tests.e2e.features import Shop


@dataclass(frozen=True)
class Scratch:
    """A repository with a home beside it."""

    root: Path
    home: Path

    def environment(self, **more: str) -> dict[str, str]:
        return {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "HOME": str(self.home), "LANG": "C.UTF-8", **more}

    def git(self, *words: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", *words],
            cwd=cwd or self.root,
            env=self.environment(),
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def run(
        self, *words: str, cwd: Path | None = None, input_: str = "", env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        if not env:
            return starter.starter().run(
                "rekindle", words, cwd=cwd or self.root, env=self.environment(), stdin=input_, seconds=60
            )
        return subprocess.run(
            [str(BIN / "rekindle"), *words],
            cwd=cwd or self.root,
            env=self.environment(**(env or {})),
            input=input_,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def ok(self, *words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
        done = self.run(*words, cwd=cwd, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def json(self, *words: str) -> Any:
        return json.loads(self.ok(*words, "--json"))

    def journal(self, feature: str = "auth") -> Path:
        return self.root / ".claude" / "progress" / feature / "events.jsonl"

    def lines(self, feature: str = "auth") -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.journal(feature).read_bytes().splitlines()]

    def put(self, feature: str, content: bytes) -> None:
        path = self.journal(feature)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    root, home = tmp_path / "repo", tmp_path / "home"
    root.mkdir()
    home.mkdir()
    made = Scratch(root, home)
    made.git("init", "-q", "-b", "feature/auth")
    made.git("commit", "-q", "--allow-empty", "-m", "begin")
    return made


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A machine of its own. Nothing is left running."""
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        made = Machine(Path(folder, "home"), Path(folder, "work"))
        made.home.mkdir()
        made.work.mkdir()
        yield made
        made.clean_up()
        assert made.stamped() == []


@pytest.fixture(scope="package", autouse=True)
def _no_starter_is_left() -> Iterator[None]:
    yield
    starter.end()


@pytest.fixture
def shop() -> Iterator[Shop]:
    """A repository with a feature to be run, on a machine of its own. Nothing is left running."""
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        machine = Machine(Path(folder, "home"), Path(folder, "work"))
        machine.home.mkdir()
        machine.work.mkdir()
        yield Shop(machine).make()
        machine.clean_up()
        assert machine.stamped() == []
