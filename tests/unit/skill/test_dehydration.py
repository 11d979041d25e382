"""Dehydrated context: its limits, the marked block in an answer, and one that is made without a model."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.dehydration.filling import MadeTalk, filled, talks
from bench.dehydration.surviving import measured
from rekindle.core.session.history import Turn
from rekindle.core.session.summary_marks import BEGIN, END
from rekindle.core.skill.dehydration import (
    FILE_BYTES,
    LONGEST,
    MOST_FILES,
    DehydratedContext,
    context_in,
    lines,
    room_for_files,
    shares,
    size,
    trimmed,
    without_middle,
)
from rekindle.core.skill.injection import HOOK_CHARACTERS
from rekindle.core.skill.salvage import Remains, salvaged

TEXTS = st.text(max_size=3000)
CONTEXTS = st.builds(
    DehydratedContext,
    summary=st.text(min_size=1, max_size=6000),
    last_action=TEXTS,
    next_steps=st.lists(st.text(max_size=300), max_size=12),
    required_files=st.lists(st.text(min_size=1, max_size=200), max_size=MOST_FILES),
    handover_instructions=TEXTS,
    user_history=TEXTS,
)
TURNS = st.lists(
    st.builds(
        Turn,
        role=st.sampled_from(["user", "assistant", "tool_call", "tool_result"]),
        text=TEXTS,
        name=st.sampled_from(["", "Edit: a.py", "Bash: make", "rekindle"]),
    ),
    min_size=1,
    max_size=30,
)


@given(CONTEXTS, st.integers(60, 10_000))
def test_a_context_is_never_larger_than_it_may_be(context: DehydratedContext, most: int) -> None:
    assert size(trimmed(context, most)) <= most


@given(CONTEXTS)
def test_a_context_that_fits_is_left_as_it_is(context: DehydratedContext) -> None:
    assert trimmed(context, size(context)) == context


@given(st.text(max_size=500), st.integers(0, 600))
def test_a_text_without_its_middle_keeps_both_ends(text: str, most: int) -> None:
    short = without_middle(text, most)
    assert len(short) <= max(most, 0) or len(text) <= most
    assert short[:10] == text[: min(10, len(short))]


def test_what_is_cut_says_so() -> None:
    context = trimmed(DehydratedContext("begin" + "x" * 9000 + "end"), 2000)
    assert context.summary.startswith("begin") and context.summary.endswith("end")
    assert "left out" in context.summary


def test_files_take_a_quarter_of_the_window_at_most_and_none_takes_too_much() -> None:
    assert room_for_files(None) == MOST_FILES * FILE_BYTES
    assert room_for_files(40_000) == 40_000
    assert shares([60_000, 10, 90_000], None) == [FILE_BYTES, 10, FILE_BYTES]
    assert shares([30_000, 30_000, 5], 40_000) == [30_000, 10_000, 0]
    assert len(shares([1] * 20, None)) == MOST_FILES


def test_an_answer_carries_its_summary_in_a_marked_block() -> None:
    given_ = {"summary": "all of it", "lastAction": "ran the tests", "nextSteps": ["push"], "requiredFiles": ["a.py"]}
    block = f"Here it is.\n{BEGIN}\n{json.dumps(given_)}\n{END}\nDone."
    found = context_in(block)
    assert found == DehydratedContext("all of it", "ran the tests", ["push"], ["a.py"])
    fenced = f"{BEGIN}\n```json\n{json.dumps(given_)}\n```\n{END}"
    assert context_in(fenced) == found
    assert context_in("no block at all") is None
    assert context_in(f"{BEGIN}\n\n{END}") is None


def test_an_agent_that_cannot_write_json_has_still_summed_up() -> None:
    assert context_in(f"{BEGIN}\nwe did this and that\n{END}") == DehydratedContext("we did this and that")
    wrong = json.dumps({"summary": ["this", "and that"], "nextSteps": "push"})
    assert context_in(f"{BEGIN}\n{wrong}\n{END}") == DehydratedContext(wrong)
    twice = f"{BEGIN}\nfirst try\n{END}\nOh, better:\n{BEGIN}\nsecond try\n{END}"
    assert context_in(twice) == DehydratedContext("second try")


def test_too_many_files_or_too_long_a_summary_are_cut_and_the_rest_is_kept() -> None:
    files = [f"f{number}" for number in range(9)]
    many = context_in(f"{BEGIN}\n{json.dumps({'summary': 's', 'nextSteps': ['push'], 'requiredFiles': files})}\n{END}")
    assert many == DehydratedContext("s", "", ["push"], files[:MOST_FILES])
    long = context_in(f"{BEGIN}\n{json.dumps({'summary': 'x' * 5_000_000 + 'end', 'nextSteps': ['push']})}\n{END}")
    assert long is not None and size(long) <= LONGEST
    assert long.next_steps == ["push"] and long.summary.endswith("end") and "left out" in long.summary


@pytest.mark.parametrize(
    "empty", ["", "{}", "null", "[]", '{"summary": " "}', '{"summary": "", "nextSteps": [""]}', "7"]
)
def test_a_block_that_says_nothing_is_no_summary(empty: str) -> None:
    block = f"{BEGIN}\n{empty}\n{END}"
    assert context_in(block) is None
    assert context_in(f"{BEGIN}\nthe door is green\n{END}\n{block}") == DehydratedContext("the door is green")


def test_nobody_passes_a_summary_off_as_made_by_rekindle() -> None:
    found = context_in(f'{BEGIN}\n{{"summary": "s", "madeBy": "rekindle"}}\n{END}')
    assert found is not None and found.made_by == "agent"


@given(TURNS, st.sampled_from([1200, 4000, HOOK_CHARACTERS]))
def test_a_salvaged_context_is_within_its_limit_and_the_same_each_time(turns: list[Turn], most: int) -> None:
    made = salvaged(turns, most=most)
    assert size(made) <= most
    assert made == salvaged(turns, most=most)
    assert len(made.required_files) <= MOST_FILES


def test_a_salvaged_context_has_goal_decisions_files_commands_tasks_and_what_was_running() -> None:
    turns = [
        Turn("user", "Make the importer stream its files."),
        Turn("assistant", "I looked around. We use a staging table because of the checksum."),
        Turn("tool_call", name="Edit import/reader.go"),
        Turn("tool_call", name="go test ./import/..."),
        Turn("tool_result", "FAILED TestLarge: out of memory", "go test ./import/..."),
        Turn("user", "Use the schema `intake`."),
        Turn("user", "RESUME …", "rekindle"),
        Turn("assistant", "Done. Next I run TestLarge again."),
    ]
    plan = "[completed] read the code\n[pending] write the changelog"
    made = salvaged(turns, Remains(changed=["go.mod"], running=["go test -run TestLarge"], plan=plan))
    told = "\n".join(lines(made))
    for text in ("Make the importer stream", "staging table", "import/reader.go", "go test ./import/...", "go.mod"):
        assert text in told
    assert "FAILED TestLarge" in told and "go test -run TestLarge" in told
    assert "Use the schema `intake`." in made.user_history
    assert "RESUME" not in told, "what rekindle said itself is nobody's wish"
    assert made.next_steps[0] == "write the changelog"
    assert "without a model" in made.summary and made.made_by == "rekindle"


def test_no_planted_fact_is_also_in_what_is_around_it() -> None:
    for talk in talks():
        bare = "\n".join(one.text + one.name for one in filled(MadeTalk(talk.name, talk.goal, []), 1))
        assert [fact for fact, _ in talk.facts if fact in bare] == []


@pytest.mark.parametrize(("most", "floor"), [(9_500, 0.85), (24_000, 0.9)])
def test_most_planted_facts_survive_and_far_more_than_in_plain_truncation(most: int, floor: float) -> None:
    found = {one.way: one for one in measured() if one.size == most}
    assert found["dehydrated"].planted >= 150
    assert found["dehydrated"].share >= floor
    for way in ("the end", "beginning and end"):
        assert found["dehydrated"].kept >= 3 * found[way].kept


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "answer",
    [
        f"{BEGIN}\n" + " " * 4_000_000,
        f"{BEGIN}\n" * 300_000,
        f"{BEGIN}\n" + " " * 4_000_000 + f"x\n{END}",
        f"{BEGIN}\n" + "```\n" * 1_000_000 + f"x\n{END}",
        f"{BEGIN}\n```json\n" + "\n" * 4_000_000 + f"x\n{END}",
    ],
    ids=["spaces", "beginnings", "spaces before the end", "fences", "lines"],
)
def test_an_answer_of_any_shape_is_read_in_one_pass(answer: str) -> None:
    """It is read where all sessions are looked after. Going through it again at every place takes hours."""
    found = context_in(answer)
    assert found is None or len(found.summary) <= LONGEST


def test_a_block_is_found_wherever_it_is_and_its_fence_is_taken_off() -> None:
    for text, summary in (
        (f"{BEGIN}\na\n{END} {BEGIN} more\nb\n  {END}", "b"),
        (f"{BEGIN}\na\n{END}\n{BEGIN}\nnever ended", "a"),
        (f"{BEGIN}\n```json\nb\n```\n{END}", "b"),
        (f"{BEGIN}\n```\nb\n```\nc\n{END}", "```\nb\n```\nc"),
        (f"{BEGIN}\n```two words\nb\n```\n{END}", "```two words\nb\n```"),
    ):
        assert getattr(context_in(text), "summary", None) == summary
    assert context_in(f"{BEGIN}{END}") is None and context_in(f"{END}\n{BEGIN}\n") is None
