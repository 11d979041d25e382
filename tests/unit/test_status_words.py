"""One vocabulary for sessions: every list and the documentation have the same words, with the same meaning."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rekindle.core.session.state import State
from rekindle.core.session.words import BUSY, CUT, OVER, WITHOUT_AGENT, WORDS
from rekindle.doors.cli.session_screen import FINISHED, GONE, PAUSED, WORKING, group_of

DOCS = Path(__file__).parent.parent.parent / "docs"


def test_the_documentation_has_every_word_with_its_meaning() -> None:
    table = (DOCS / "sessions.md").read_text().partition("| `rekindle ps` says | it means |")[2].partition("\n\n")[0]
    found = dict(re.findall(r"^\| (\w+) \| (.*) \|$", table, re.MULTILINE))
    assert found == WORDS


def test_every_group_of_words_is_of_the_vocabulary() -> None:
    assert WORDS.keys() >= OVER | CUT | WITHOUT_AGENT | BUSY
    assert not BUSY & (OVER | WITHOUT_AGENT)


def test_no_word_is_also_the_name_of_another_state() -> None:
    """The states' own names are in JSON and in `show`: where a word is the same, it has to mean the same."""
    names = {state.lower() for state in State}
    assert names & WORDS.keys() == {"starting", "completed", "failed", "cancelled"}


@pytest.mark.parametrize("word", WORDS)
def test_the_list_has_a_group_for_every_word(word: str) -> None:
    until = 5.0 if word == "paused" else None
    group = group_of({"needs_you": False, "status": word, "why": "", "waits_until": until})
    wanted = {**dict.fromkeys(OVER, FINISHED), **dict.fromkeys(WITHOUT_AGENT, GONE), **dict.fromkeys(BUSY, WORKING)}
    assert group == {**wanted, "paused": PAUSED}.get(word, "At rest")
