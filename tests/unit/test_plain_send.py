"""`rekindle send` without options skips the option parser; everything else takes the long way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rekindle.doors.cli import sending

#: Runs the command line, and then says whether the option parser was imported.
_LOOK = """
import sys
from rekindle.doors.cli import use_cases
from rekindle.doors.cli.start import run
from rekindle.wiring import Wired
use_cases.provide(Wired({}))
sys.argv[1:] = {words}
status = run(sys.argv[1:])
print(status, "click" in sys.modules)
"""


def looked(tmp_path: Path, *words: str) -> str:
    home = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    program = _LOOK.replace("{}", repr(home)).replace("{words}", repr(list(words)))
    done = subprocess.run([sys.executable, "-c", program], env=home, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


def test_no_option_parser_is_imported_for_a_plain_send(tmp_path: Path) -> None:
    try:
        assert looked(tmp_path, "send", "abc", "hello") == "2 False"  # no session has that name
        assert looked(tmp_path, "send", "abc", "hello", "--json").endswith(" True")
    finally:
        looked(tmp_path, "serve", "--stop")


@pytest.mark.parametrize("words", [["send"], ["send", "a"], ["send", "a", "-"], ["send", "-h", "b"], ["send", "", "b"]])
def test_anything_but_two_plain_words_takes_the_long_way(words: list[str]) -> None:
    assert not sending.is_plain(words)


def test_so_does_an_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    class Inside:
        def ancestry(self) -> Inside:
            return self

        def is_inside(self) -> bool:
            return True

    monkeypatch.setattr(sending, "use_cases", Inside)
    assert not sending.is_plain(["send", "a", "b"])
