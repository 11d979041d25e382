"""What is typed at the scripted agent's screen, key by key."""

from __future__ import annotations

import pytest

from rekindle.scripted.keys import InputLine, Key, Submitted


def typed(*chunks: bytes) -> tuple[list[Key], str, str]:
    line = InputLine()
    keys: list[Key] = []
    echo = ""
    for chunk in chunks:
        found, shown = line.feed(chunk)
        keys += found
        echo += shown
    return keys, echo, line.text


def test_enter_sends_and_a_line_feed_is_part_of_the_text() -> None:
    assert typed(b"say a\nsay b\r") == ([Submitted("say a\nsay b")], "say a\nsay b\n", "")


def test_a_prompt_as_rekindle_types_it() -> None:
    assert typed(b"\x1b", b"\x1b", b"say x", b"\r")[0] == ["escape", "escape", Submitted("say x")]


def test_a_paste_is_not_sent_by_the_enter_within_it() -> None:
    assert typed(b"\x1b[200~one\rtwo\x1b[201~", b"\r")[0] == [Submitted("one\ntwo")]


@pytest.mark.parametrize("key", [b"\x1b[A", b"\x1b[1;5C", b"\x1bOP", b"\x1b[3~", b"\x00", b"\t"])
def test_a_key_without_a_meaning_leaves_the_text_alone(key: bytes) -> None:
    assert typed(b"ab", key, b"c") == ([], "abc", "abc")


def test_backspace_takes_the_last_character_and_stops_at_the_beginning() -> None:
    assert typed("aä".encode(), b"\x7f\x7f\x7f") == ([], "aä\b \b\b \b", "")


def test_a_character_that_comes_in_halves_is_one() -> None:
    first, second = "ä".encode()[:1], "ä".encode()[1:]
    assert typed(first, second)[2] == "ä"


def test_ctrl_c_ends_a_turn_and_ctrl_d_leaves_only_from_an_empty_line() -> None:
    assert typed(b"\x03")[0] == ["escape"]
    assert typed(b"\x04")[0] == ["close"]
    assert typed(b"x\x04")[0] == []
