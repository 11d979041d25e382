"""The promises of who stands above a process. Nobody has a fake of it, so this machine alone is held to them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rekindle.adapters.machine import ancestry
from rekindle.core.inside import MARKS
from rekindle.ports.ancestry import Ancestry
from rekindle.ports.errors import InsideAgent

PORT: Ancestry = ancestry
#: Says where it stands itself, and whether it may do what only a person may.
ASKS = """
from rekindle.adapters.machine import ancestry
from rekindle.ports.errors import InsideAgent
try:
    ancestry.refuse_inside("stop it", "rekindle stop")
    print(ancestry.is_inside(), "allowed")
except InsideAgent as error:
    print(ancestry.is_inside(), "refused:", error.message)
"""


def test_a_process_is_told_from_a_later_one_with_its_number() -> None:
    with subprocess.Popen(["sleep", "1000"]) as process:
        began = PORT.began(process.pid)
        assert began is not None
        assert PORT.began(process.pid) == began
        assert PORT.standing_of(process.pid, began) == PORT.standing_of(process.pid)
        assert PORT.standing_of(process.pid, began + 1) == "unknown"
        process.kill()
        process.wait()
    assert PORT.began(process.pid) is None
    assert PORT.standing_of(process.pid, began) == "unknown"


def test_where_this_process_stands_is_what_it_is_told_and_what_it_may_do() -> None:
    standing = PORT.standing_of(os.getpid())
    assert PORT.is_inside() == (standing != "outside")
    if PORT.is_inside():
        with pytest.raises(InsideAgent):
            PORT.refuse_inside("stop it", "rekindle stop")
    else:
        PORT.refuse_inside("stop it", "rekindle stop")


@pytest.mark.parametrize("mark", ["", "s1"])
def test_what_an_agent_starts_is_inside_and_is_refused_what_only_a_person_may(mark: str) -> None:
    env = {"PATH": os.environ["PATH"], MARKS[0]: mark} if mark else {"PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", ASKS], env=env, capture_output=True, text=True, check=True)
    if mark:
        assert done.stdout.startswith("True refused: ")
        assert "stop it" in done.stdout
    else:
        assert done.stdout.startswith(f"{PORT.is_inside()} ")
