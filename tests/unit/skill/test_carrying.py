"""A summary that was told once, carried on into the next conversation: whole or shortened, never more than fits."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.session.history import Turn, with_summary
from rekindle.core.session.summary_marks import TITLE as QUESTION
from rekindle.core.skill import injection
from rekindle.core.skill.carrying import carried, fitted, lines_size, since, summary_told, told_at, told_size
from rekindle.core.skill.dehydration import DehydratedContext, size
from rekindle.core.skill.salvage import Remains

OLDER = DehydratedContext("the door is green", "painted it", ["open it"], ["a.txt"], user_history="be quick")
TEXT = st.text(st.sampled_from("aé🙂\t\n x"), max_size=300)
MOST = 4_000


def told(context: DehydratedContext, request: str) -> Turn:
    block = injection.block({"summary": context.summary}, [("Made by", "it")], "5c1d9a0b7e3f2468", ["Go on."], 24_000)
    return Turn("user", with_summary(block, request))


AFTER = [Turn("assistant", "I found a red key"), Turn("tool_call", name="run ls"), Turn("tool_result", "a.txt", "ls")]


def test_the_newest_turn_that_told_a_summary_is_found_and_its_summary_read_back() -> None:
    turns = [Turn("user", "paint"), told(OLDER, "one"), *AFTER, told(DehydratedContext("newer\n\n| x"), "two")]
    assert told_at(turns) == 5 and told_at(turns[:5]) == 1 and told_at(turns[:1]) is None
    assert summary_told(turns[5].text).summary == "newer\n\n| x"
    assert told_at([Turn("assistant", turns[5].text)]) is None, "what an agent says tells it nothing"


def test_what_came_after_begins_with_the_prompt_and_has_no_question_for_a_summary() -> None:
    turns = [told(OLDER, "find the key"), AFTER[0], Turn("user", f"{QUESTION}\nIts context", "rekindle")]
    assert since(turns, 0, ()) == [Turn("user", "find the key"), AFTER[0]]
    assert since(turns[:1], 0, ["find the key"]) == [], "it is given again anyway"
    assert since(turns[:1], 0, ["else"]) == [Turn("user", "find the key")], "nobody gives it again"


def test_what_is_short_is_told_word_for_word_after_the_older_summary() -> None:
    found = carried(OLDER, [Turn("user", "find the key"), *AFTER], Remains(["b.txt"], ["make"]), MOST)
    lines = found.context.summary.splitlines()
    assert found.is_whole and found.entries == 4 and lines[0] == "the door is green"
    assert lines[3:] == [
        "[USER]: find the key",
        "[ASSISTANT]: I found a red key",
        "[TOOL CALL: run ls]",
        "[TOOL RESULT: ls] a.txt",
        "Was running when that conversation ended, its outcome is unknown: make",
        "Files that differ from how they were when the last turn ended: b.txt",
    ]
    assert "are older" in lines[2] and found.context.next_steps == ["open it"]


def test_what_is_long_is_shortened_and_says_so_and_the_older_summary_stays() -> None:
    turns = [Turn("user", "find the key"), *(Turn("assistant", f"{one}: the key {one} is red. ") for one in range(500))]
    found = carried(OLDER, turns, Remains((), ["make"]), MOST)
    assert not found.is_whole and "without a model" in found.context.summary
    assert "the door is green" in found.context.summary and "find the key" in found.context.summary
    assert "make" in found.context.summary and size(found.context) <= MOST


def test_a_long_older_summary_leaves_half_of_the_room_to_what_is_newer() -> None:
    older = DehydratedContext("x" * 50_000)
    found = carried(older, [Turn("user", "find the key"), *AFTER], Remains(), MOST)
    assert found.is_whole and "I found a red key" in found.context.summary and size(found.context) <= MOST
    assert re.search(r"\[\d+ characters, the middle is left out\]", found.context.summary)


@given(st.lists(TEXT, max_size=4), TEXT, st.integers(1_500, 6_000))
def test_it_never_takes_more_than_its_room_and_nothing_is_cut_where_it_is_given(
    said: list[str], older: str, room: int
) -> None:
    context = DehydratedContext(older * 20, older, said, user_history=older * 9)
    found = fitted(carried(context, [Turn("assistant", one * 9) for one in said], Remains(), room).context, room)
    assert told_size(found) <= room
    block = injection.block(
        {"summary": found.summary, "lastAction": found.last_action, "nextSteps": found.next_steps}
        | {"userHistory": found.user_history},
        [],
        "5c1d9a0b7e3f2468",
        [],
        room + 24_000 - injection.room_for_notes([], "5c1d9a0b7e3f2468", [], 24_000),
    )
    assert lines_size(injection.told_notes(block)) <= room and "(cut; the whole" not in block
