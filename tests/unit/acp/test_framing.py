"""Lines come out whole, with their offsets, whatever the chunks are."""

from __future__ import annotations

import pytest

from rekindle.agents.base.framing import Framed, Framer, Line, Oversized

DATA = b'{"a":1}\n\n  {"b":2}\r\n' + "ü".encode() + b"\nrest"


@pytest.mark.parametrize("size", range(1, len(DATA) + 1))
def test_chunks_do_not_matter(size: int) -> None:
    framer = Framer()
    lines = [one for at in range(0, len(DATA), size) for one in framer.feed(DATA[at : at + size])]
    assert lines == Framer().feed(DATA)
    assert [DATA[one.start : one.end] for one in lines] == [one.data + b"\n" for one in lines if isinstance(one, Line)]
    assert framer.offset == len(DATA)


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_a_line_over_the_limit_is_reported_and_skipped(size: int) -> None:
    data = b"x" * 10 + b"\n" + b"y" * 11 + b"\n" + b"z\n"
    framer = Framer(longest=10)
    framed: list[Framed] = [one for at in range(0, len(data), size) for one in framer.feed(data[at : at + size])]
    assert framed[0] == Line(0, 11, b"x" * 10)
    assert isinstance(framed[1], Oversized)
    assert (framed[1].start, framed[1].end) == (11, 23)
    assert framed[1].head.startswith(b"y")
    assert framed[2] == Line(23, 25, b"z")
