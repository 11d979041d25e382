"""Every main screen, by the real command on a terminal emulator, at 80 and 160 columns, with colours and without.

A screen that was changed on purpose is written anew, together with its picture in docs/screens: `make screens`.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from demo.recording import still
from rekindle.doors.cli.measure import cells
from tests.e2e.captured import Pieces, marked, pieces, settled, unmarked
from tests.e2e.daemon import Machine
from tests.e2e.emulator import Emulated
from tests.e2e.morning import Morning, empty_machine, morning, path_of

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "golden" / "terminal"
PICTURES = ROOT.parent / "docs" / "screens"
WIDTHS = (80, 160)
pytestmark = [pytest.mark.timeout(600), pytest.mark.xdist_group("terminal screens")]

#: What is typed on the morning's machine, by the name of the screen. Nothing of it changes anything.
LOOKING: dict[str, Callable[[Morning], tuple[str, ...]]] = {
    "rekindle": lambda _: (),
    "ps": lambda _: ("ps",),
    "features": lambda _: ("features",),
    "inbox": lambda _: ("inbox",),
    "doctor": lambda _: ("doctor",),
    "show": lambda its: ("show", its.sessions["limited"]),
    "explain-session": lambda its: ("resume", its.sessions["interrupted"], "--explain"),
    "explain-feature": lambda _: ("resume", "search", "--explain"),
    "board-completed": lambda _: ("attach", "billing"),
    "board-failed": lambda _: ("attach", "checkout"),
}
#: Screens that change something: each on a session of its own.
DOING = ("run", "resume")
SCREENS = (*LOOKING, *DOING)
_SCRIPT = """\
say I look at the **cart** first:
say - `cart.py` has no tests
say - `pay.py` rounds twice, which is wrong where an amount has three decimals
run echo 2 files
ask May I list files?
say Done."""


@pytest.fixture(scope="module")
def its() -> Iterator[Morning]:
    with morning() as made:
        yield made


@pytest.fixture(scope="module")
def bench() -> Iterator[Machine]:
    with empty_machine() as made:
        yield made


def environment(machine: Machine, *, colours: bool) -> dict[str, str]:
    """It is never close to midnight, and no agent is installed."""
    hour = time.gmtime().tm_hour - 9
    always = {"TZ": f"RKT{hour:+d}", "PATH": path_of(machine)}
    return always if colours else {**always, "NO_COLOR": "1"}


def look(machine: Machine, words: tuple[str, ...], width: int, *, colours: bool, board: bool = False) -> list[Pieces]:
    with Emulated(machine, *words, columns=width, rows=100, env=environment(machine, colours=colours)) as person:
        person.leave()
        if not board:
            for line in person.raw.decode().splitlines():
                check_width(line, width)
        return settled(person.cells(), board=board)


def check_width(line: str, width: int) -> None:
    """Only a command, which is to be copied, may be wider than the terminal."""
    plain = unstyled(line)
    assert cells(plain) <= width or "rekindle " in plain or "git " in plain, plain


def unstyled(line: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line)


def run_to_its_end(machine: Machine, width: int, *, colours: bool) -> list[Pieces]:
    env = environment(machine, colours=colours)
    with Emulated(machine, "run", "--agent", "scripted", _SCRIPT, columns=width, rows=100, env=env) as person:
        person.until_shown("(1-3) ›")
        person.type("1")
        assert person.leave() == 0
        return settled(person.cells())


def resume_with_a_receipt(machine: Machine, width: int, *, colours: bool) -> list[Pieces]:
    session = machine.begin("say begun", "sleep 3000")
    machine.until_said(session, "sleep: 3000")  # a tool that was started: the receipt names it
    machine.kill(machine.pids(session)["agent"])
    machine.until_status(session, "interrupted")
    return look(machine, ("resume", session), width, colours=colours)


def captured(name: str, width: int, its: Morning, bench: Machine, *, colours: bool) -> list[Pieces]:
    match name:
        case "run":
            return run_to_its_end(bench, width, colours=colours)
        case "resume":
            return resume_with_a_receipt(bench, width, colours=colours)
        case _:
            board = name.startswith("board")
            return look(its.machine, LOOKING[name](its), width, colours=colours, board=board)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_is_as_it_was_agreed_and_colours_add_nothing_but_colours(
    name: str, width: int, its: Morning, bench: Machine
) -> None:
    file, picture = FOLDER / f"{name}-{width}.txt", PICTURES / f"{name}.svg"
    coloured = marked(captured(name, width, its, bench, colours=True))
    if os.environ.get("REKINDLE_WRITE_SCREENS"):
        file.write_text(coloured)
        if width == WIDTHS[0]:
            picture.write_text(still(pieces(coloured)))
    assert coloured == file.read_text()
    plain = captured(name, width, its, bench, colours=False)
    assert "".join("".join(text for _, text in line).rstrip() + "\n" for line in plain) == unmarked(file.read_text())
    looks = {look for line in plain for look, _ in line if look}
    assert looks <= {"bold", "italics", "reverse", "underscore"}, looks
