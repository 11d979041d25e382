"""Text from anywhere in a page of HTML."""

from __future__ import annotations

import pytest

from rekindle.doors.cli.html_text import escape


@pytest.mark.parametrize("char", ["\x1b", "\x07", "\x00", "\x9b", "\u202e", "\u2066", "\u200b", "\x85", "\u2028"])
def test_nothing_in_a_text_controls_a_terminal_or_turns_a_line_around(char: str) -> None:
    assert char not in escape(f"a{char}b") and escape("a\nb") == "a\nb"


def test_markup_is_text() -> None:
    assert escape("<a href='x'>&\"") == "&lt;a href=&#x27;x&#x27;&gt;&amp;&quot;"
