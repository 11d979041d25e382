"""One suite for the conversations port: sessions' folders and the fake tell the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekindle.adapters.session_folder.conversation import FolderConversations
from rekindle.agents.base.conversation import ConversationEntry
from rekindle.agents.base.exchange import SpooledMessage
from rekindle.ports.conversations import Conversations
from tests.fakes.conversations import FakeAttempt, FakeConversations
from tests.spooled import ClaudeTalk, put_beginning, put_exit, put_spools


class World:
    """Conversations with Claude Code, and the keepers' hand on them."""

    def __init__(self, conversations: Conversations, sessions: Path, fake: FakeConversations | None) -> None:
        self.conversations = conversations
        self._sessions = sessions
        self._fake = fake

    def put(self, talk: ClaudeTalk, session: str = "s1", attempt: int = 1, *, less: int = 0) -> None:
        """The spools as they are by now. `less`: so many bytes of the output are not written yet."""
        out = b"".join(talk.lines)
        out = out[: len(out) - less]
        if self._fake is not None:
            kept = self._fake.sessions[session].setdefault(attempt, FakeAttempt())
            kept.messages = [SpooledMessage(number, *one) for number, one in enumerate(talk.sent, start=1)]
            kept.out = out
            return
        put_beginning(self._sessions / session, "claude")
        put_spools(self._sessions / session / str(attempt), talk.sent, out)

    def end(self, session: str = "s1", attempt: int = 1) -> None:
        """The agent is killed."""
        if self._fake is not None:
            self._fake.sessions[session][attempt].ended = "killed by SIGKILL"
        else:
            put_exit(self._sessions / session / str(attempt), signal="SIGKILL")


@pytest.fixture(params=["folder", "fake"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    if request.param == "fake":
        fake = FakeConversations("claude", terminals=["t1"])
        return World(fake, tmp_path, fake)
    put_beginning(tmp_path / "t1", "claude", terminal=True)
    return World(FolderConversations(str(tmp_path)), tmp_path, None)


def words(entries: list[ConversationEntry]) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in entries if one.kind in ("prompt", "told", "said")]


def test_a_host_reads_the_originals_of_its_own_sessions(world: World) -> None:
    assert world.conversations.follow("s1").source == ""


def test_a_session_that_is_not_known_has_said_nothing(world: World) -> None:
    assert world.conversations.read("nobody") == []
    assert world.conversations.follow("nobody").poll() == []
    assert not world.conversations.is_in_terminal("nobody")


def test_prompts_answers_and_ends_come_in_their_order(world: World) -> None:
    talk = ClaudeTalk()
    talk.say("p1", "one", ["first", "and more"])
    talk.say("p1+1", "go on", ["second"])
    world.put(talk)
    assert world.conversations.read("s1") == [
        ConversationEntry("prompt", "one", 1),
        ConversationEntry("said", "first", 1),
        ConversationEntry("said", "and more", 1),
        ConversationEntry("end", "end_turn", 1),
        ConversationEntry("told", "go on", 1),
        ConversationEntry("said", "second", 1),
        ConversationEntry("end", "end_turn", 1),
    ]


def test_what_was_given_out_does_not_come_again_and_a_line_comes_when_it_is_whole(world: World) -> None:
    talk = ClaudeTalk()
    followed = world.conversations.follow("s1")
    assert followed.poll() == []
    talk.say("p1", "one", ["first"])
    world.put(talk)
    assert words(followed.poll()) == [("prompt", "one"), ("said", "first")]
    assert followed.poll() == []
    talk.say("p2", "two", ["second"], ends=False)
    world.put(talk, less=1)
    assert words(followed.poll()) == [("prompt", "two")]
    world.put(talk)
    assert words(followed.poll()) == [("said", "second")]
    assert words(world.conversations.read("s1")) == [
        ("prompt", "one"),
        ("said", "first"),
        ("prompt", "two"),
        ("said", "second"),
    ], "whoever begins later gets all of it"


def test_attempts_follow_upon_each_other_and_can_be_chosen(world: World) -> None:
    one, two = ClaudeTalk(1), ClaudeTalk(2)
    one.say("p1", "one", ["first"])
    two.say("p2", "two", ["second"])
    world.put(one)
    world.put(two, attempt=2)
    heading = ConversationEntry("attempt", "attempt 2", 2)
    read = world.conversations.read("s1")
    assert [entry.attempt for entry in read] == sorted(entry.attempt for entry in read)
    assert heading in read
    assert {entry.attempt for entry in world.conversations.read("s1", [1])} == {1}
    assert world.conversations.read("s1", {2})[0] == heading
    assert world.conversations.read("s1", []) == []


def test_an_attempt_that_ended_in_the_middle_of_a_turn_says_so_once(world: World) -> None:
    talk = ClaudeTalk()
    talk.say("p1", "one", ["first"], ends=False)
    world.put(talk)
    followed = world.conversations.follow("s1")
    followed.poll()
    assert followed.ended == frozenset()
    world.end()
    note = ConversationEntry("note", "the agent was cut off in the middle of its turn (killed by SIGKILL)", 1)
    assert followed.poll() == [note]
    assert followed.ended == {1}
    assert followed.poll() == []
    assert world.conversations.read("s1")[-1] == note


def test_a_prompt_that_nobody_answered_is_there(world: World) -> None:
    talk = ClaudeTalk()
    talk.say("p1", "one", ["first"], ends=False)
    talk.say("p2", "two", [], ends=False)
    del talk.lines[-1]  # not even repeated
    world.put(talk)
    assert words(world.conversations.read("s1")) == [("prompt", "one"), ("said", "first"), ("prompt", "two")]


def test_it_is_known_who_is_used_in_a_terminal(world: World) -> None:
    assert world.conversations.is_in_terminal("t1")


def test_who_waits_is_told_of_what_came_before_and_of_what_comes_then(world: World) -> None:
    """Each wait would last for an hour if nobody noticed."""
    talk = ClaudeTalk()
    world.put(talk)
    followed = world.conversations.follow("s1")
    followed.poll()
    for number, text in enumerate(("one", "two", "three")):
        talk.say(f"p{number}", text, ["done"])
        world.put(talk)
        followed.wait(3600)
        assert words(followed.poll()) == [("prompt", text), ("said", "done")]
