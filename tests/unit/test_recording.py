"""The recording of a demonstration: every line is in it, in order, and it scrolls so that the newest is in sight."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from demo.recording import Line, svg

SPACE = "{http://www.w3.org/2000/svg}"
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=40)


@given(st.lists(st.tuples(st.floats(0, 100), TEXTS), max_size=20))
def test_every_line_is_in_the_recording_in_order_whatever_it_has_in_it(shown: list[tuple[float, str]]) -> None:
    drawn = ElementTree.fromstring(svg([Line(at, "output", text) for at, text in shown], columns=12, rows=5))
    texts = ["".join(one.itertext()) for one in drawn.iter(f"{SPACE}text")]
    assert "".join(texts) == "".join(text for _, text in shown)
    assert all(len(one) <= 12 for one in texts)


def test_the_newest_line_is_in_sight_and_no_pause_is_long() -> None:
    drawn = svg([Line(60.0 * number, "output", f"line {number}") for number in range(8)], rows=5)
    moved = re.search(r'type="translate" values="([^"]*)"', drawn)
    assert moved is not None
    assert [float(one.split()[1]) for one in moved[1].split(";")] == [0, -18, -36, -54]
    [seconds] = {float(one) for one in re.findall(r'dur="([\d.]+)s"', drawn)}
    assert seconds < 8 * 2 + 10


def test_nothing_is_loaded_from_anywhere() -> None:
    drawn = svg([Line(0, "command", "$ rekindle")])
    assert re.findall(r"https?://\S+?[\"']", drawn) == ['http://www.w3.org/2000/svg"']
    assert "url(" not in drawn.replace("url(#screen)", "")
