"""How rekindle waits for git: in the kernel, until it ends or its time is over."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rekindle.adapters.git import process


@pytest.fixture
def slow_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A git that says all it has to say a while before its end."""
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec >&- 2>&-\nsleep 0.3\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return str(tmp_path)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system cannot wait for a process by a descriptor")
def test_nobody_sleeps_while_git_ends(slow_git: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_seconds: float) -> None:
        raise AssertionError("waiting for git must not be a matter of looking and sleeping")

    monkeypatch.setattr("time.sleep", never)
    with process.start(slow_git, ("status",)) as git:
        assert git.communicate(b"", 20) == (b"", b"")
        assert git.returncode == 3


def test_a_git_that_does_not_end_in_time_is_told(slow_git: str) -> None:
    with process.start(slow_git, ("status",)) as git:
        with pytest.raises(subprocess.TimeoutExpired):
            git.communicate(b"", 0.05)
        assert git.wait() == 3
        assert git.wait(0.0) == 3
