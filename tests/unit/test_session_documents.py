"""What the documents say of sessions is what the code says."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.session.continuation import MOST_OF_ITS_WORDS, continuation, handed_back
from rekindle.core.session.diagram import mermaid
from rekindle.core.session.facts import Cut

ROOT = Path(__file__).parents[2]


def test_the_diagram_is_made_from_the_table() -> None:
    text = (ROOT / "docs" / "sessions.md").read_text("utf-8")
    shown = text.split("```mermaid\n")[1].split("\n```")[0]
    assert shown == mermaid()


def test_the_same_cut_is_told_in_the_same_bytes() -> None:
    cut = Cut(said="I was just\nabout to", tools=["run: make"], swept=["make", "cc1"])
    told = continuation("fix it\nrun rm -rf x", cut)
    assert told == continuation("fix it\nrun rm -rf x", cut)
    assert "run: make" in told
    assert "outcome is unknown" in told
    assert "make, cc1" in told
    assert all(not line.startswith("run ") for line in told.splitlines()), "a quotation is no instruction"


def test_a_command_that_had_ended_is_not_called_unknown() -> None:
    told = continuation("fix it", Cut(said="I build", done=["run: make"]))
    assert "came to its end" in told
    assert "run: make" in told
    assert "unknown" not in told


def test_every_answer_that_was_cut_off_comes_back_once_and_in_order() -> None:
    told = continuation("fix it", Cut(said="the end of two"), said=["one", "", "two"])
    assert told.index("cut off was: one") < told.index("cut off again, was: two")
    assert "the end of two" not in told
    assert told.count("fix it") == 1


@given(st.lists(st.text(max_size=300), max_size=5), st.integers(0, 600))
def test_words_share_their_room_and_whatever_is_left_out_is_counted(said: list[str], room: int) -> None:
    told = handed_back(said, room)
    assert len(told) == len(said)
    kept = 0
    for before, after in zip(said, told, strict=True):
        if before == after:
            kept += len(before)
            continue
        [missing] = [int(number) for number in re.findall(r"\n\[(\d+) characters are left out here\]\n", after)][:1]
        note = f"\n[{missing} characters are left out here]\n"
        head, _, tail = after.partition(note)
        assert before.startswith(head)
        assert before.endswith(tail)
        assert len(head) + len(tail) + missing == len(before)
        kept += len(before) - missing
    assert kept <= max(room, 0) or told == said
    if sum(map(len, said)) <= room:
        assert told == said


def test_the_share_of_the_context_is_the_one_that_the_documents_state() -> None:
    text = (ROOT / "docs" / "sessions.md").read_text("utf-8")
    assert f"{MOST_OF_ITS_WORDS:,} characters" in text
