"""What a new conversation is told, and whether its receipt says the same: no agent, no files."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

import msgspec
import pytest

from rekindle.core.session import facts as f
from rekindle.core.session.history import Turn, request_of
from rekindle.core.session.overflow import question
from rekindle.core.session.state import Prompt, Session
from rekindle.core.session.summary_marks import BEGIN, END
from rekindle.core.session.values import ContextGauge
from rekindle.core.skill import injection
from rekindle.core.skill.dehydration import DehydratedContext
from rekindle.ports.notes import HeldSkill, NoNotes
from rekindle.runtime.rehydration import Rehydrated, Rehydration
from tests.fakes.workplace import FakeWorkplace
from tests.sessions import created, folded

NOTES = DehydratedContext("the door is green", "painted it", ["open it"], ["a.txt"])
OLD = [Turn("user", "paint the door"), Turn("assistant", "We take green. ")]
AFTER = [Turn("assistant", "There is a red key under the mat."), Turn("tool_call", name="run make")]


class Answers(FakeWorkplace):
    """A workplace whose agent gave this answer in every attempt."""

    def __init__(self, answer: str = "") -> None:
        super().__init__()
        self.answer = answer

    async def last_turns(self, session: Session, attempts: object) -> dict[int, str]:
        return {1: self.answer}


class Files(NoNotes):
    """No skill session; two files of the work tree."""

    def files(self, session: Session, names: Sequence[str], window: int | None, nonce: str) -> list[str]:
        texts = {"a.txt": "whole", "b.txt": "a part\n(cut: 6 of 9 bytes; read the rest yourself)"}
        return [injection.file_block(one, texts.get(one, "(not given: there is no such file)"), nonce) for one in names]


def session(*prompts: Prompt) -> Session:
    return msgspec.structs.replace(
        folded([created("s")]), prompts=list(prompts), context=ContextGauge(8, 10, "t", 1, 1)
    )


def prepared(one: Session, turns: Sequence[Turn], answer: str = "") -> Rehydrated:
    return asyncio.run(Rehydration(Answers(answer), Files()).prepare(one, turns, []))


def as_told(found: Rehydrated, request: str) -> Turn:
    return Turn("user", found.history.replace(f.PROMPT, request))


def summed_up(context: DehydratedContext = NOTES) -> tuple[Prompt, list[Turn], str]:
    """The question, the turns up to its answer, and that answer."""
    asked = question(ContextGauge(8, 10, "t", 1, 1))
    answer = f"{BEGIN}\n{msgspec.json.encode(context).decode()}\n{END}"
    turns = [*OLD, Turn("user", asked, "rekindle"), Turn("assistant", answer)]
    return Prompt("p+y0", asked, 1.0, "done", 1, 2, by="rekindle", of="p"), turns, answer


def test_a_second_new_conversation_is_told_the_older_summary_and_what_came_after_it_once() -> None:
    asked, turns, answer = summed_up()
    first = prepared(session(asked), turns, answer)
    assert "the door is green" in first.history and "the agent's own summary of it" in first.given
    later = [*turns, as_told(first, "find the key"), *AFTER]
    cut = Prompt("p1", later[len(turns)].text, 2.0, "cut", 2, 1)
    second = prepared(session(asked, cut), later, answer)
    assert second.history.count("the door is green") == 1
    for said in ("[USER]: find the key", "There is a red key under the mat.", "run make", "open it"):
        assert said in second.history
    assert "We take green" not in second.history, "that is in the summary"
    assert "the 3 entries that came after that, word for word" in second.given
    third = prepared(session(asked, cut), [*later, as_told(second, "go on"), Turn("assistant", "It is open.")], answer)
    for said in ("the door is green", "There is a red key", "[ASSISTANT]: It is open."):
        assert third.history.count(said) == 1


def test_where_nothing_came_after_it_the_same_is_told_again() -> None:
    asked, turns, answer = summed_up()
    first = prepared(session(asked), turns, answer)
    waits = Prompt("p1", "find the key", 2.0, "queued")
    second = prepared(session(asked, waits), [*turns, as_told(first, "find the key")], answer)
    assert injection.told_notes(second.history)[-2:] == injection.told_notes(first.history)[-2:]
    assert "find the key" not in second.history and "came after" not in second.given


def test_a_new_summary_replaces_the_older_one() -> None:
    asked, turns, answer = summed_up()
    first = prepared(session(asked), turns, answer)
    newer, _, words = summed_up(DehydratedContext("the door is open"))
    again = msgspec.structs.replace(newer, id="p+y1", attempt=1, message=9)
    later = [*turns, as_told(first, "x"), *AFTER, Turn("user", again.text, "rekindle"), Turn("assistant", words)]
    found = prepared(session(asked, again), later, words)
    assert "the door is open" in found.history and "the door is green" not in found.history


@pytest.mark.parametrize("length", [100, 23_000, 190_000])
def test_the_receipt_counts_what_was_given_and_says_what_was_cut(length: int) -> None:
    words = " ".join(f"word{one}" for one in range(length // 8))
    asked, turns, answer = summed_up(DehydratedContext(words))
    found = prepared(session(asked), turns, answer)
    notes = injection.told_notes(found.history)
    counted = re.search(r"\((\d+) characters(, cut from (\d+))?\)", found.given)
    assert counted is not None
    assert int(counted[1]) == len("\n".join(notes)) + 1 and len(found.history) < 26_000
    assert bool(counted[2]) is (words not in "\n".join(notes))
    assert "(cut; the whole text is in .state.json)" not in found.history, "it is in no such file"


@pytest.mark.parametrize("length", [200_000])
def test_what_was_running_is_told_whatever_is_cut_from_a_summary_without_a_model(length: int) -> None:
    long = [Turn("assistant", f"Step {one} of {length} found the file src/part{one}.py. ") for one in range(4_000)]
    ended = f.Cut(said="I go", tools=["run make -j9"])
    facts: list[f.AnyFact] = [
        created("s"),
        f.PromptQueued(at=1.0, prompt="p0", text="do one"),
        f.LaunchIntended(at=1.0, attempt=1, generation=1, how="new"),
        f.Launched(at=2.0, attempt=1, folder="/1", pid=7),
        f.Opened(at=3.0, attempt=1, how="new", token="t1"),
        f.PromptSent(at=4.0, attempt=1, prompt="p0", message=1, text="do one"),
        f.Exited(at=9.0, attempt=1, how_ended="killed", by_us=False, cut=ended),
    ]
    found = prepared(folded(facts), [*OLD, *long])
    assert "run make -j9" in found.history


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a.txt"], "with 1 file that it names"),
        (["a.txt", "b.txt"], "with 2 files that it names, 1 of them cut"),
        (["a.txt", "gone.txt"], "with 1 of 2 files that it names"),
        ([], "characters)"),
    ],
)
def test_files_that_were_not_given_are_not_said_to_be(names: list[str], said: str) -> None:
    asked, turns, answer = summed_up(DehydratedContext("the door is green", required_files=names))
    found = prepared(session(asked), turns, answer)
    assert said in found.given and request_of(found.history) == f.PROMPT


class Skill(Files):
    """A skill session. `is_full`: nothing can be written to its folder."""

    def __init__(self, context: DehydratedContext | None, *, is_full: bool = False) -> None:
        self.context, self.is_full = context, is_full

    def skill_of(self, session: Session) -> HeldSkill | None:
        return HeldSkill("sessions/door", self.context)

    def leave(self, session: Session, context: DehydratedContext, used: DehydratedContext | None = None) -> None:
        if not self.is_full and self.context in (None, used):
            self.context = context

    def skill_text(self, session: Session, window: int | None) -> str | None:
        if self.context is None:
            return None
        told = {"dehydratedContext": msgspec.to_builtins(self.context), "currentPhase": "1: Work"}
        return injection.skill_block(told, "sessions/door", "0b1d9a0b7e3f2468", most=24_000)


def with_skill(skill: Skill, turns: Sequence[Turn]) -> Rehydrated:
    return asyncio.run(Rehydration(Answers(), skill).prepare(session(), turns, []))


def test_where_the_state_file_cannot_be_written_the_next_conversation_is_told_all_the_same() -> None:
    first = with_skill(Skill(NOTES), OLD)
    later = [*OLD, as_told(first, "go on"), *AFTER]
    assert "Step 3F" in with_skill(Skill(NOTES), later).history
    for full in (Skill(NOTES, is_full=True), Skill(None, is_full=True)):
        found = with_skill(full, later)
        assert "the door is green" in found.history and "a red key" in found.history
        assert "Session: sessions/door" in found.history and "in which phase" in found.history
        assert "came after that, word for word" in found.given


def test_notes_that_come_back_from_an_older_state_file_do_not_replace_newer_ones() -> None:
    first = with_skill(Skill(NOTES), OLD)
    second = with_skill(Skill(DehydratedContext("the door is open")), OLD)
    turns = [*OLD, as_told(first, "go on"), *AFTER, as_told(second, "go on"), Turn("assistant", "I went in.")]
    found = with_skill(Skill(NOTES), turns)
    assert "the door is open" in found.history and "I went in." in found.history
    assert "the door is green" not in found.history
