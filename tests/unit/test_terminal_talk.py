"""An agent in a terminal: what its silence and its record say, and what is typed for a prompt."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.agents.base.dialect import Awaited
from rekindle.agents.base.observation import OpenTool
from rekindle.agents.base.terminal import (
    ESCAPE,
    MUTE_SECONDS,
    QUIET_SECONDS,
    READY_SECONDS,
    UNSEEN_SECONDS,
    TerminalDialect,
    in_terminal,
    judge,
    typeable,
)
from rekindle.agents.base.transcript import Record
from rekindle.agents.registry import AGENTS
from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.state import Session
from rekindle.ports.keepers import Sent
from rekindle.runtime.talk import Talk
from tests.sessions import folded
from tests.spooled import understood

TOOL = OpenTool(tool_id="t", title="make", kind="execute", paths=(), status="pending")


@given(st.text())
def test_what_is_typed_has_no_keys_in_it_and_is_typed_as_it_is_written_down(text: str) -> None:
    typed = typeable(text)
    assert typeable(typed) == typed
    assert all(character == "\n" or not (ord(character) < 32 or 127 <= ord(character) < 160) for character in typed)


def test_the_lines_of_a_prompt_stay_lines() -> None:
    assert typeable("one\r\ntwo\rthree\tfour\x1b[A \n") == "one\ntwo\nthree    four[A"


prompts = st.lists(st.sampled_from(["go on", "stop"]), max_size=4).map(tuple)


@given(silent=st.floats(0, 100), recorded=prompts, earlier=st.integers(0, 3), tools=st.booleans())
def test_a_turn_is_never_over_before_the_record_has_its_prompt_and_no_tool_runs(
    silent: float, recorded: tuple[str, ...], earlier: int, tools: bool
) -> None:
    record = Record(prompts=recorded, open_tools=(TOOL,) if tools else ())
    found = judge(silent, Awaited("go on", earlier), record)
    taken = recorded.count("go on") > earlier
    assert (found == "over") == (taken and not tools and silent >= QUIET_SECONDS)
    assert (found == "unseen") == (not taken and silent >= UNSEEN_SECONDS)


@given(silent=st.floats(0, 100))
def test_without_a_record_silence_is_all_there_is(silent: float) -> None:
    found = judge(silent, Awaited("x", 0), None)
    assert found == ("over" if silent >= QUIET_SECONDS else "nothing")


def test_a_prompt_is_escape_escape_text_enter_and_only_the_enter_is_the_prompt() -> None:
    wire = TerminalDialect(3, "/w", "token")
    keys = [*(one.message for one in wire.approach("p-1+r0", "two\nlines")), wire.say("p-1+r0", "two\nlines")]
    assert [one.line for one in keys] == [ESCAPE, ESCAPE, b"two\nlines", b"\r"]
    assert len({one.message_id for one in keys}) == 4
    for one in keys[:3]:
        wire.sent(one.message_id, one.line)
        assert wire.prompt_in(one.message_id, one.line) is None
        assert not wire.is_prompting
    wire.sent(keys[3].message_id, keys[3].line)
    assert wire.prompt_in(keys[3].message_id, keys[3].line) == ("p-1+r0", "two\nlines")
    assert wire.is_prompting


def test_escapes_are_too_far_apart_to_be_one_key_and_a_long_text_gets_more_time() -> None:
    wire = TerminalDialect(1, "/w", None)
    first, second, short = wire.approach("p", "x")
    assert first.seconds > 1.0 and second.seconds > 0
    assert short.seconds < wire.approach("p", "x" * 20_000)[2].seconds < wire.approach("p", "x" * 50_000)[2].seconds
    assert wire.approach("p", "x" * 10_000_000)[2].seconds <= 5.0


@given(st.binary())
def test_any_bytes_can_be_on_the_screen(screen: bytes) -> None:
    wire = TerminalDialect(1, "/w", "token")
    assert understood(wire, [("1-p-enter", b"\r")], screen) == []
    assert wire.was_sent("1-p-enter")


@dataclass
class Stage:
    """A talk, a clock that is turned by hand, and the session that the facts make."""

    now: float = 100.0
    facts: list[AnyFact] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tell(
            f.Created(at=1, session="s1", agent="claude", cwd="/w", terminal=True),
            f.PromptQueued(at=2, prompt="p1", text="do it"),
            f.LaunchIntended(at=3, attempt=1, generation=1, how="new", token="t"),
            f.Launched(at=4, attempt=1, folder="/k/1", pid=1),
        )
        kind = in_terminal(AGENTS["claude"])
        self.talk = Talk(self.session, 1, kind, clock=lambda: self.now, resolve=lambda _, paths: list(paths))
        self.talk.open("new", "t")

    @property
    def session(self) -> Session:
        return folded(self.facts)

    def tell(self, *facts: AnyFact) -> None:
        self.facts += facts

    def listen(self, record: Record | None = None) -> list[AnyFact]:
        found = self.talk.listen(self.session, record).facts
        self.tell(*found)
        return found

    def become_ready(self) -> None:
        self.now += MUTE_SECONDS
        assert self.talk.listen(self.session, None).opening

    def send(self) -> None:
        self.tell(
            f.Opened(at=self.now, attempt=1, how="new", token="t"),
            f.PromptSent(at=self.now, attempt=1, prompt="p1", message=4, text="do it"),
        )


@pytest.mark.parametrize(
    ("words", "seconds"), [((b"hi\x1b[?20", b"04h"), READY_SECONDS), ((b"hi",), MUTE_SECONDS), ((), MUTE_SECONDS)]
)
def test_a_program_is_ready_when_it_has_fallen_silent(words: tuple[bytes, ...], seconds: float) -> None:
    stage = Stage()
    for one in words:
        stage.talk.feed(one)
    stage.now += seconds - 0.1
    assert not stage.talk.listen(stage.session, None).opening
    stage.now += 0.2
    assert stage.talk.listen(stage.session, None).opening
    opened = stage.talk.opened()
    assert opened is not None and (opened.token, opened.proof) == ("t", "transcript")


def test_a_turn_begins_with_the_record_and_ends_with_silence() -> None:
    stage = Stage()
    stage.become_ready()
    stage.now += 60
    stage.send()
    assert stage.listen(Record()) == []
    stage.talk.feed(b"thinking")
    assert [type(fact) for fact in stage.listen(Record(prompts=("do it",)))] == [f.TurnBegan]
    stage.now += QUIET_SECONDS + 1
    assert stage.listen(Record(prompts=("do it",), open_tools=(TOOL,))) == []
    [over] = stage.listen(Record(prompts=("do it",)))
    assert isinstance(over, f.TurnFinished) and over.stop_reason == "silence"
    assert stage.listen(Record(prompts=("do it",))) == []


def test_a_prompt_that_went_into_something_else_is_told_to_a_person() -> None:
    stage = Stage()
    stage.become_ready()
    stage.send()
    stage.now += UNSEEN_SECONDS + 1
    [failed] = stage.listen(Record())
    assert isinstance(failed, f.TurnFailed) and "look at the terminal" in failed.message
    assert "look at the terminal" in stage.session.message


def test_the_next_daemon_finds_a_prompt_in_the_spool_that_nobody_lived_to_write_down() -> None:
    stage = Stage()
    wire = TerminalDialect(1, "/w", "t")
    keys = [*(one.message for one in wire.approach("p1", "do it")), wire.say("p1", "do it")]
    records = [Sent(number, one.message_id, one.line) for number, one in enumerate(keys, start=1)]
    stage.tell(f.Opened(at=stage.now, attempt=1, how="new", token="t"))
    assert stage.talk.rebuild(records[:3], b"screen").facts == []
    stage = Stage()
    [sent] = stage.talk.rebuild(records, b"screen").facts
    assert isinstance(sent, f.PromptSent) and (sent.prompt, sent.text, sent.message) == ("p1", "do it", 4)
