"""Where the benchmark plays: sizes, a scratch folder, an environment of its own, and the journals in it.

Everything is below one temporary folder that is removed at the end; no child process sees the user's home.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import journals

ROOT = Path(__file__).resolve().parent.parent
GIT = "git"


@dataclass(frozen=True)
class Sizes:
    """How much of everything. `heavy` rounds take seconds each, `light` ones milliseconds."""

    long: int = 1_000_000
    short: int = 10_000
    tail: int = 1_000
    folders: int = 5_000
    folder_lines: int = 200
    appends: int = 3_200
    heavy: int = 3
    light: int = 27
    starts: int = 81
    tiny: int = 301
    files: int = 20_000


QUICK = Sizes(
    long=20_000,
    short=10_000,
    tail=100,
    folders=100,
    folder_lines=200,
    appends=640,
    heavy=2,
    light=5,
    starts=5,
    tiny=21,
    files=400,
)


class ChildFailed(Exception):
    """A program that was to be timed did not get to its end."""


@dataclass(frozen=True)
class Timing:
    """What a child process measured, and what it found."""

    seconds: float
    answer: Any


@dataclass(frozen=True)
class Stage:
    """The scratch folder and what is made in it on demand."""

    folder: Path
    sizes: Sizes

    @property
    def environment(self) -> dict[str, str]:
        """A user who has nothing yet. `PATH` is the only thing that is taken over."""
        home = self.folder / "home"
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_STATE_HOME": str(home / "state"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    def journal(self, lines: int) -> Path:
        """A journal of this length whose last run is interrupted; made once."""
        path = self.folder / f"{lines}-lines" / "events.jsonl"
        if not path.exists():
            journals.write(path, journals.Shape("auth-system", lines, interrupted=True))
        return path

    def progress(self) -> Path:
        """A progress folder with very many features, three of ten interrupted; made once."""
        folder = self.folder / "many"
        if not folder.exists():
            for number in range(self.sizes.folders):
                name = f"feature-{number:05}"
                shape = journals.Shape(name, self.sizes.folder_lines, interrupted=number % 10 < 3)
                journals.write(folder / name / "events.jsonl", shape)
        return folder

    def repository(self, name: str, branch: str) -> Path:
        """A real git repository on a branch, with one commit."""
        folder = self.folder / name
        folder.mkdir()
        who = ("-c", "user.name=Bench", "-c", "user.email=bench@example.invalid")
        for words in (("init", "-q", "-b", branch), (*who, "commit", "-q", "--allow-empty", "-m", "Begin")):
            subprocess.run([GIT, *words], cwd=folder, env=self.environment, check=True, stdin=subprocess.DEVNULL)
        return folder

    def timed(self, operation: str, *arguments: object) -> Timing:
        """Run an operation of `bench.timed` in a process of its own, so that no row inherits another's memory."""
        return self.child([sys.executable, "-m", "bench.timed", operation, *map(str, arguments)])

    def child(self, command: list[str]) -> Timing:
        """Run a program that prints its own seconds and its answer as one JSON object."""
        done = subprocess.run(command, cwd=ROOT, env=self.environment, check=False, stdout=subprocess.PIPE)
        if done.returncode != 0:
            raise ChildFailed(f"{Path(command[0]).name} ended with status {done.returncode}; it said why above")
        said = json.loads(done.stdout)
        return Timing(said["seconds"], said["answer"])
