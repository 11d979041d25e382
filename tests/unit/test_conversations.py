"""A session's conversation is read in one way, whoever asks and whatever is left of its spools."""

from __future__ import annotations

from pathlib import Path

from rekindle.adapters.session_folder.conversation import FolderConversation
from tests.spooled import ClaudeTalk, put_beginning, put_spools


def test_a_prompt_stands_before_its_answer_where_the_end_of_the_turn_before_is_lost(tmp_path: Path) -> None:
    talk = ClaudeTalk()
    talk.say("p1", "one", ["first"])
    talk.say("p2", "two", ["second"])
    talk.say("p3", "three", ["third"])
    ends = [number for number, line in enumerate(talk.lines) if b'"result"' in line]
    del talk.lines[ends[0]]
    put_beginning(tmp_path / "s1", "claude")
    put_spools(tmp_path / "s1" / "1", talk.sent, b"".join(talk.lines))
    read = [
        (one.kind, one.text)
        for one in FolderConversation(str(tmp_path / "s1")).poll()
        if one.kind in ("prompt", "said")
    ]
    assert read == [
        ("prompt", "one"),
        ("said", "first"),
        ("prompt", "two"),
        ("said", "second"),
        ("prompt", "three"),
        ("said", "third"),
    ]
