"""The pictures of screens in the documentation show what the real commands have shown, and nothing else is there."""

from __future__ import annotations

import re
from pathlib import Path

from demo.recording import still
from tests.e2e.captured import pieces

ROOT = Path(__file__).parent
PICTURES = ROOT.parent.parent / "docs" / "screens"
KEPT = {file.name.removesuffix("-80.txt"): file for file in (ROOT / "terminal").glob("*-80.txt")}


def test_each_picture_is_drawn_from_the_screen_that_the_command_has_shown() -> None:
    assert KEPT
    assert {file.stem for file in PICTURES.iterdir()} == set(KEPT)
    for name, file in KEPT.items():
        assert (PICTURES / f"{name}.svg").read_text() == still(pieces(file.read_text())), name


def test_each_picture_is_on_the_page_and_small() -> None:
    page = (PICTURES.parent / "screens.md").read_text()
    assert sorted(re.findall(r"screens/([\w-]+)\.svg", page)) == sorted(KEPT)
    for file in PICTURES.iterdir():
        assert file.stat().st_size < 20_000, file
