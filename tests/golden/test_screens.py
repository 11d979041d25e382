"""The first screens, as they are: `rekindle`, `ps`, `features`, `report`, at 80 and 160 columns, with colours or not.

To write them anew after a change that is meant: `REKINDLE_WRITE_SCREENS=1 pytest tests/golden/test_screens.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from datetime import UTC
from pathlib import Path

import pytest

from rekindle.app.status import StatusReport
from rekindle.doors.cli import feature_list, report_screen, status
from rekindle.doors.cli.colours import Ink
from rekindle.doors.cli.measure import cells
from rekindle.doors.cli.session_screen import Surface, grouped, table
from tests.golden.report_samples import sample
from tests.golden.screen_samples import FEATURES, HOME, NOW, SESSIONS

FOLDER = Path(__file__).parent / "screens"
STYLE = re.compile(r"\x1b\[[0-9;]*m")


def bare(surface: Surface) -> Iterable[str]:
    report = StatusReport(SESSIONS, "")
    report.in_repository, report.root = True, f"{HOME}/src/shop"
    report.branch, report.feature, report.features = "feature/checkout", "checkout", FEATURES
    return status.lines(report, surface)


SCREENS: dict[str, Callable[[Surface], Iterable[str]]] = {
    "rekindle": bare,
    "ps": lambda surface: table(grouped(SESSIONS), surface),
    "features": lambda surface: feature_list.rows(FEATURES, surface),
    "report": lambda surface: report_screen.lines(sample(), surface, UTC),
}


def drawn(name: str, width: int | None, *, colours: bool) -> list[str]:
    return list(SCREENS[name](Surface(width, Ink(colours), NOW, HOME)))


@pytest.mark.parametrize("colours", [False, True], ids=["plain", "colour"])
@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_is_as_it_was_agreed(name: str, width: int, colours: bool) -> None:
    file = FOLDER / f"{name}-{width}-{'colour' if colours else 'plain'}.txt"
    shown = "".join(f"{line}\n" for line in drawn(name, width, colours=colours))
    if os.environ.get("REKINDLE_WRITE_SCREENS"):
        file.write_text(shown)
    assert shown == file.read_text()


@pytest.mark.parametrize("width", [80, 100, 119, 120, 160, 250])
@pytest.mark.parametrize("name", SCREENS)
def test_no_line_is_wider_than_the_screen_but_a_command_that_is_to_be_copied(name: str, width: int) -> None:
    for line in drawn(name, width, colours=False):
        assert cells(line) <= width or "next: " in line, line


@pytest.mark.parametrize("name", SCREENS)
def test_colours_add_nothing_but_colours(name: str) -> None:
    coloured = drawn(name, 80, colours=True)
    assert [STYLE.sub("", line) for line in coloured] == drawn(name, 80, colours=False)
    assert any(STYLE.search(line) for line in coloured)


@pytest.mark.parametrize("name", ["rekindle", "ps"])
def test_what_needs_a_person_comes_first_with_its_reason_and_what_to_type(name: str) -> None:
    """Failed, asking, a refused key, a limit of its own, cut; then what waits for a limit to end; then what works."""
    shown = drawn(name, None, colours=False)
    needy = [row for row in SESSIONS if row["needs_you"] and (name == "ps" or row["feature"] is None)]
    ends = next(number for number, line in enumerate(shown) if line.startswith("Without an agent"))
    for row in needy:
        at = next(number for number, line in enumerate(shown) if line.startswith(row["id"]))
        assert at < ends, row
        assert shown[at + 1].strip() == row["why"]
        assert shown[at + 2].strip() == f"next: {row['next']}"
    order = [next(n for n, line in enumerate(shown) if line.startswith(word)) for word in ("Paused", "Working")]
    assert ends < order[0] < order[1]
    assert any("continues by itself in 1 h 30 min" in line for line in shown)
