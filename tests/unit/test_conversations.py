"""A session's conversation is read in one way, whoever asks and whatever is left of its spools."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from rekindle.adapters.session_folder.conversation import FolderConversations, open_conversation
from rekindle.adapters.session_folder.layout import SessionFolder
from rekindle.adapters.vault.vault import Vault, transcript
from rekindle.agents.base.acknowledged import Spoken
from rekindle.agents.base.conversation import ConversationEntry, as_turns, with_record
from rekindle.agents.base.terminal import TerminalDialect
from rekindle.core.session.history import Turn
from rekindle.keeper.outcome import EndedBy
from tests.golden.claude_samples import TRANSCRIPTS
from tests.spooled import ClaudeTalk, put_beginning, put_exit, put_spools


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
        (one.kind, one.text) for one in open_conversation(str(tmp_path / "s1")).poll() if one.kind in ("prompt", "said")
    ]
    assert read == [
        ("prompt", "one"),
        ("said", "first"),
        ("prompt", "two"),
        ("said", "second"),
        ("prompt", "three"),
        ("said", "third"),
    ]


def test_what_is_there_and_cannot_be_read_is_said_once_and_read_when_it_can_be(tmp_path: Path) -> None:
    talk = ClaudeTalk()
    talk.say("p1", "one", ["first"])
    put_beginning(tmp_path / "s1", "claude")
    attempt = tmp_path / "s1" / "1"
    put_spools(attempt, [], b"")
    put_exit(attempt)
    (attempt / "out").unlink()
    (attempt / "out").mkdir()
    followed = open_conversation(str(tmp_path / "s1"))
    [note] = followed.poll()
    assert (note.kind, note.text) == ("note", "attempt 1: its output cannot be read: Is a directory")
    assert followed.poll() == []
    assert followed.ended == frozenset()
    (attempt / "out").rmdir()
    put_spools(attempt, talk.sent, b"".join(talk.lines))
    assert [one.text for one in followed.poll() if one.kind in ("prompt", "said")] == ["one", "first"]
    assert followed.ended == {1}


@pytest.mark.parametrize(
    ("ended_by", "reason", "said"),
    [
        (EndedBy.AGENT, "", "the agent was cut off in the middle of its turn (exit 0)"),
        (EndedBy.STOP, "cancelled", "the agent was stopped in the middle of its turn"),
        (
            EndedBy.STOP,
            "given up",
            "cut off in the middle of its turn (rekindle ended it: it was silent or took too long)",
        ),
    ],
)
def test_a_turn_that_somebody_stopped_is_not_called_cut_off(
    tmp_path: Path, ended_by: EndedBy, reason: str, said: str
) -> None:
    talk = ClaudeTalk()
    talk.say("p1", "one", ["first"])
    put_beginning(tmp_path / "s1", "claude")
    put_spools(tmp_path / "s1" / "1", talk.sent, b"".join(line for line in talk.lines if b'"result"' not in line))
    put_exit(tmp_path / "s1" / "1", ended_by=ended_by, reason=reason)
    note = open_conversation(str(tmp_path / "s1")).poll()[-1]
    assert note.kind == "note" and note.text.endswith(said)


class InTerminal:
    """A session of Claude Code in a terminal: keys in its spools, words in its own record."""

    def __init__(self, folder: Path) -> None:
        self.conversations = FolderConversations(str(folder))
        self.record = folder / "record.jsonl"
        self.own = SessionFolder(folder / "s1")
        put_beginning(folder / "s1", "claude", terminal=True)

    def type(self, attempt: int, *prompts: tuple[str, str]) -> None:
        keys = TerminalDialect(attempt, "/work", None)
        typed = [
            message
            for name, text in prompts
            for message in (*(one.message for one in keys.approach(name, text)), keys.say(name, text))
        ]
        sent = [(one.message_id, one.line) for one in typed]
        put_spools(Path(self.own.attempt(attempt)), sent, b"\x1b[2J a screen\r\n")

    def write(self, record: bytes) -> None:
        """The agent writes its record, and the daemon copies it."""
        self.record.write_bytes(record)
        with Vault(self.own.vault, "s1", time.time) as vault:
            vault.copy(transcript(str(self.record)))


def test_what_an_agent_in_a_terminal_said_is_read_from_its_own_record(tmp_path: Path) -> None:
    place = InTerminal(tmp_path)
    place.type(1, ("p1", "Say hello."))
    followed = place.conversations.follow("s1")
    assert followed.poll() == [ConversationEntry("prompt", "Say hello.", 1)], "before the agent has written anything"
    place.write(TRANSCRIPTS["plain"])
    answer = [ConversationEntry("said", "Hello from the model.", 1)]
    assert followed.poll() == answer
    assert followed.poll() == []
    put_exit(Path(place.own.attempt(1)), signal="SIGKILL")
    assert as_turns(place.conversations.read("s1")) == [
        Turn("user", "Say hello."),
        Turn("assistant", "Hello from the model."),
    ]
    assert place.conversations.read("s1", [2]) == []
    place.record.unlink()
    assert place.conversations.read("s1", [1])[1:2] == answer, "the vault has a copy"


def test_a_record_that_has_more_than_its_copy_counts(tmp_path: Path) -> None:
    place = InTerminal(tmp_path)
    place.type(1, ("p1", "Say hello."))
    lines = TRANSCRIPTS["plain"].splitlines(keepends=True)
    place.write(b"".join(lines[:3]))
    place.record.write_bytes(TRANSCRIPTS["plain"])
    assert [one.text for one in place.conversations.read("s1")] == ["Say hello.", "Hello from the model."]


def test_prompts_are_found_in_the_record_and_others_were_typed_by_hand() -> None:
    cut = ConversationEntry("note", "the agent was cut off in the middle of its turn (killed by SIGKILL)", 1)
    shown = [
        ConversationEntry("prompt", "one", 1),
        ConversationEntry("prompt", "lost", 1),
        cut,
        ConversationEntry("attempt", "attempt 2", 2),
        ConversationEntry("told", "go on", 2),
        ConversationEntry("prompt", "not taken", 2),
    ]
    recorded = [
        Spoken("user", "one"),
        Spoken("assistant", "first"),
        Spoken("user", "by hand"),
        Spoken("assistant", "second"),
        Spoken("boundary"),
        Spoken("summary", "it went well"),
        Spoken("user", " go on "),
        Spoken("assistant", "third"),
        Spoken("assistant", "and fourth"),
    ]
    assert [(one.kind, one.text, one.attempt) for one in with_record(shown, recorded)] == [
        ("prompt", "one", 1),
        ("said", "first", 1),
        ("prompt", "by hand", 1),
        ("said", "second", 1),
        ("note", "the agent has compacted its conversation", 1),
        ("prompt", "lost", 1),
        ("note", cut.text, 1),
        ("attempt", "attempt 2", 2),
        ("told", "go on", 2),
        ("said", "third", 2),
        ("said", "\n\nand fourth", 2),
        ("prompt", "not taken", 2),
    ]
    assert with_record(shown, []) == shown
    assert cut not in with_record([shown[0], cut], recorded[:2]), "nobody can tell"
