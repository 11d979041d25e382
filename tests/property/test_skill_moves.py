"""Moves between phases, whatever a skill declares: what is free, what needs a reason, what nobody can approve."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.skill import labels
from rekindle.core.skill.lifecycle import moved
from rekindle.core.skill.moves import JudgedMove, RefusedMove, free_moves, judge, moves_told, open_moves
from rekindle.core.skill.skill import SkillPhase
from rekindle.core.skill.state import SkillState, encode, parse

LABELS = st.builds(
    lambda major, subs: ".".join([str(major), *subs]),
    st.integers(0, 6),
    st.lists(st.sampled_from(["1", "2", "3", "A", "B", "2B"]), max_size=2),
)
PHASES = st.lists(LABELS, min_size=1, max_size=12, unique=True).map(
    lambda found: [SkillPhase(label, f"Name {label}", {"type": "object"} if "2" in label else None) for label in found]
)


@given(PHASES, st.data())
def test_staying_and_the_next_phase_are_free_and_nothing_else(phases: list[SkillPhase], data: st.DataObject) -> None:
    here = data.draw(st.integers(0, len(phases) - 1))
    expected = [one.label for one in phases[here : here + 2]]
    assert open_moves(phases, phases[here].label) == expected
    for label in expected:
        assert label in moves_told(phases, phases[here].label)


@given(PHASES, st.data())
def test_no_way_leaves_out_a_sub_phase(phases: list[SkillPhase], data: st.DataObject) -> None:
    """Not even with every approval in the world, in as many moves as you like."""
    at = 0
    entered = {0}
    for wanted in data.draw(st.lists(st.integers(0, len(phases) - 1), max_size=20)):
        judged = judge(phases, phases[at].label, phases[wanted].label)
        if isinstance(judged, JudgedMove):
            at = wanted
            entered.add(at)
    left_out = [one.label for number, one in enumerate(phases[:at]) if number not in entered]
    assert not any(labels.is_sub(label) for label in left_out)


@given(PHASES, st.data())
def test_going_back_or_leaving_out_needs_an_approval(phases: list[SkillPhase], data: st.DataObject) -> None:
    here, there = data.draw(st.integers(0, len(phases) - 1)), data.draw(st.integers(0, len(phases) - 1))
    judged = judge(phases, phases[here].label, phases[there].text)
    if isinstance(judged, RefusedMove):
        assert there > here + 1
        assert "never skipped" in judged.why
    else:
        assert judged.needs_approval == (there < here or there > here + 1)


@given(PHASES, st.data())
def test_a_proof_is_asked_of_the_phase_that_is_left_forward(phases: list[SkillPhase], data: st.DataObject) -> None:
    here = data.draw(st.integers(0, len(phases) - 1))
    for one in phases:
        judged = judge(phases, phases[here].label, one.label)
        if isinstance(judged, JudgedMove):
            forward = judged.kind in ("next", "skip")
            assert judged.proves == (phases[here] if forward and phases[here].proof is not None else None)


@given(PHASES, st.text(max_size=8))
def test_what_is_not_declared_is_refused(phases: list[SkillPhase], wanted: str) -> None:
    judged = judge(phases, phases[0].label, wanted)
    label, name = labels.split(wanted)
    known = {one.label: one.name for one in phases}
    assert isinstance(judged, JudgedMove) == (label in known and name in ("", known[label]))


@given(PHASES, st.data())
def test_the_history_of_moves_survives_the_file(phases: list[SkillPhase], data: st.DataObject) -> None:
    state = SkillState(skill="s", phases=phases, current_phase=phases[0].text, phase_history=[phases[0].text])
    for _ in range(data.draw(st.integers(0, 4))):
        options = free_moves(phases, state.label)
        judged = judge(phases, state.label, data.draw(st.sampled_from(options)).label)
        assert isinstance(judged, JudgedMove)
        before = state
        state = parse(encode(moved(state, judged, "t")), "x")
        if judged.kind != "same":
            assert (state.history[-1], state.last_completed) == (judged.to.text, before.current_phase)
    assert state.history[-1] == state.current_phase
