"""What runs as often as `git status` imports next to nothing; no call pays for what only others need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("acp", "alembic", "asyncio", "click", "dataclasses", "msgspec", "rich", "sqlalchemy", "sqlite3", "subprocess")
#: Runs the command line in this process and tells which of some modules it has loaded, on standard error.
CODE = """
import sys
heavy, sys.argv = sys.argv[1].split(","), ["rekindle", *sys.argv[2:]]
from rekindle.entry import main
try:
    main()
finally:
    sys.stdout = open("/dev/null", "w")
    print("loaded", *[name for name in heavy if name in sys.modules], file=sys.stderr)
"""


def loaded(tmp_path: Path, heavy: tuple[str, ...], *words: str) -> list[str]:
    subprocess.run(["git", "init", "-q", "-b", "feature/search", tmp_path / "repo"], check=True, timeout=60)
    names = ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR")
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], **{name: str(tmp_path / name) for name in names}}
    done = subprocess.run(
        [sys.executable, "-c", CODE, ",".join(heavy), *words],
        cwd=tmp_path / "repo",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()[-1].split()[1:]


@pytest.mark.parametrize("words", [(), ("--version",)])
def test_the_bare_command_loads_neither_packages_nor_typing(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert loaded(tmp_path, (*HEAVY, "typing"), *words) == []


@pytest.mark.parametrize("words", [("ps",), ("features",), ("track", "session.start"), ("completion", "bash")])
def test_a_quick_command_loads_nothing_of_the_daemon(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert loaded(tmp_path, ("acp", "alembic", "asyncio", "rich", "sqlalchemy", "rekindle.daemon"), *words) == []


def test_ps_loads_nothing_to_look_whether_its_repository_was_moved(tmp_path: Path) -> None:
    unused = ("dataclasses", "msgspec", "rekindle.core.journal.analysis", "rekindle.ports.workspace", "socket")
    assert loaded(tmp_path, unused, "ps") == []
