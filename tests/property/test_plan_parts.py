"""A plan in the journal: however long it is and wherever its writing was cut, it is read whole or not at all."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.feature.plan import BadPlan, Plan, Task, arrange
from rekindle.core.feature.plan_event import PART, from_event, to_events
from rekindle.core.journal.analysis import analyse
from rekindle.core.journal.decode import decode_line
from rekindle.core.journal.fold import fold
from rekindle.core.journal.run import RecordedPlan
from tests.journals import line

SID = "aaaa0001"


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    names = [f"t{number}" for number in range(draw(st.integers(1, 12)))]
    prompts = st.text(st.characters(codec="utf-8"), max_size=40)
    tasks = [
        Task(name, name, draw(prompts), "scripted", checks=draw(st.sampled_from([(), ("true",)]))) for name in names
    ]
    lint = draw(st.sampled_from([(), ("ruff check .",)]))
    if draw(st.booleans()):
        shuffled = draw(st.permutations(names))
        cuts = sorted(draw(st.sets(st.integers(1, len(names)), max_size=3)) | {0, len(names)})
        waves = tuple(tuple(shuffled[start:end]) for start, end in pairwise(cuts))
        return arrange(tasks, needs={}, after={}, waves=waves, lint=lint)
    needs, after = (
        {
            name: tuple(draw(st.sets(st.sampled_from(names[:place]), min_size=1)))
            for place, name in enumerate(names)
            if place
        }
        for _ in range(2)
    )
    return arrange(tasks, needs=needs, after=draw(st.sampled_from([{}, after])), waves=None, lint=lint)


def written(plan: Plan, part: int) -> list[bytes]:
    types = ("plan.created", *["plan.updated"] * 100)
    told = [("session.start", {"command": "implement"}), *zip(types, to_events(plan, part), strict=False)]
    return [line(type_, SID, seq, **data) for seq, (type_, data) in enumerate(told)]


def read(lines: list[bytes]) -> RecordedPlan | None:
    return analyse(fold(map(decode_line, lines))).state.plan


@given(plans(), st.integers(1, 2000), st.data())
def test_a_plan_is_read_whole_or_not_at_all(plan: Plan, part: int, data: st.DataObject) -> None:
    lines = written(plan, part)
    found = from_event(read(lines))
    assert found is not None
    assert (found.waves, found.needs, found.after, found.lint) == (plan.waves, plan.needs, plan.after, plan.lint)
    assert sorted(found.tasks, key=lambda one: one.id) == sorted(plan.tasks, key=lambda one: one.id)
    kept = data.draw(st.integers(2, len(lines)))
    cut = read(lines[:kept])
    assert cut is not None
    assert (from_event(cut) is None) == (kept < len(lines))


@given(plans(), st.integers(1, 2000))
def test_each_part_is_a_plan_to_whoever_knows_nothing_of_parts(plan: Plan, part: int) -> None:
    for event in to_events(plan, part):
        names = [task["id"] for task in event["tasks"]]
        assert names
        assert sorted(names) == sorted(name for wave in event["waves"] for name in wave["task_ids"])
        assert {one["task_id"] for one in event["dependencies"]} <= set(names)


def test_a_plan_of_five_thousand_tasks_is_written_in_parts_that_fit() -> None:
    tasks = [Task(f"t{number}", f"Task {number}", "Write it. " * 40, "scripted") for number in range(5000)]
    waves = tuple(tuple(task.id for task in tasks[start : start + 500]) for start in range(0, 5000, 500))
    plan = arrange(tasks, needs={}, after={}, waves=waves)
    sizes = [len(json.dumps(event)) for event in to_events(plan)]
    assert 5 < len(sizes) < 30
    assert max(sizes) < PART * 1.2
    assert from_event(read(written(plan, PART))) == plan


def test_a_task_that_fits_into_no_event_is_named_before_anything_is_written() -> None:
    plan = arrange([Task("a"), Task("b", prompt="x" * (1 << 20))], needs={}, after={}, waves=None)
    with pytest.raises(BadPlan, match="task 'b' takes"):
        to_events(plan)


def test_a_plan_that_another_run_was_cut_at_takes_nobodys_place() -> None:
    old = arrange([Task("a"), Task("b")], needs={}, after={}, waves=None)
    start, first, *_ = written(old, 1)
    whole = [line("session.start", "bbbb0002", 0, command="implement"), *_again(written(old, PART)[1:], "bbbb0002")]
    resumed = [line("session.start", SID, 0, command="resume", resumes="bbbb0002"), first]
    assert b'"session.start"' in start
    assert from_event(read([*whole, *resumed])) == old


def _again(lines: list[bytes], sid: str) -> list[bytes]:
    return [one.replace(SID.encode(), sid.encode()) for one in lines]
