"""Which moves between phases are open. Pure.

Free: staying, and the next declared phase. Going back, or leaving out a phase, needs an approval with a reason. A
sub-phase is never left out, whoever approves. What a phase has to prove is asked when it is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from rekindle.core.skill import labels
from rekindle.core.skill.skill import SkillPhase

MoveKind = Literal["same", "next", "back", "skip"]


class JudgedMove(msgspec.Struct, frozen=True):
    """A move that is possible: where it leads, and whether it needs an approval and a proof."""

    kind: MoveKind
    to: SkillPhase
    needs_approval: bool
    #: the phase whose proof has to be shown, because it is left forward
    proves: SkillPhase | None = None


class RefusedMove(msgspec.Struct, frozen=True):
    """A move that nobody can approve, and why."""

    why: str


def judge(phases: Sequence[SkillPhase], current: str, wanted: str) -> JudgedMove | RefusedMove:
    """What it takes to go from the label `current` ("": no phase yet) to `wanted`, "5.3" or "5.3: Pipeline"."""
    label, name = labels.split(wanted)
    if not labels.is_label(label):
        return RefusedMove(f"{label!r} is not the label of a phase (labels look like {labels.EXAMPLES})")
    order = {one.label: number for number, one in enumerate(phases)}
    if label not in order:
        return RefusedMove(f"the skill declares no phase {label}")
    to = phases[order[label]]
    if name and name != to.name:
        return RefusedMove(f"phase {label} is called {to.name!r}, not {name!r}")
    here, there = order.get(current, -1), order[label]
    if current and here < 0:
        return JudgedMove("skip", to, needs_approval=True)  # the saved phase is not declared: only a reason leads on
    if there == here:
        return JudgedMove("same", to, needs_approval=False)
    if there < here:
        return JudgedMove("back", to, needs_approval=True)
    proves = phases[here] if here >= 0 and phases[here].proof is not None else None
    if there == here + 1:
        return JudgedMove("next", to, needs_approval=False, proves=proves)
    left_out = [one for one in phases[here + 1 : there] if labels.is_sub(one.label)]
    if left_out:
        named = ", ".join(one.text for one in left_out[:5])
        return RefusedMove(f"this would leave out {named}, and a sub-phase is never skipped")
    return JudgedMove("skip", to, needs_approval=True, proves=proves)


def free_moves(phases: Sequence[SkillPhase], current: str) -> list[SkillPhase]:
    """The phases that can be entered without an approval: the current one and the next one."""
    found = []
    for one in phases:
        judged = judge(phases, current, one.label)
        if isinstance(judged, JudgedMove) and not judged.needs_approval:
            found.append(one)
    return found


def open_moves(phases: Sequence[SkillPhase], current: str) -> list[str]:
    """The labels that are open now without an approval."""
    return [one.label for one in free_moves(phases, current)]


def moves_told(phases: Sequence[SkillPhase], current: str) -> str:
    """The open moves in words, for every refusal."""
    free = free_moves(phases, current)
    with_reason = [
        one.label
        for one in phases
        if isinstance(judged := judge(phases, current, one.label), JudgedMove) and judged.needs_approval
    ]
    told = f"open now: {', '.join(one.text for one in free)}" if free else "no move is open without an approval"
    return told + (f"; with --approve REASON: {', '.join(with_reason)}" if with_reason else "")


def next_after(phases: Sequence[SkillPhase], current: str) -> SkillPhase | None:
    """The phase that follows; None at the last one, or if the current one is not declared."""
    order = [one.label for one in phases]
    if not current:
        return phases[0] if phases else None
    if current not in order:
        return None
    place = order.index(current) + 1
    return phases[place] if place < len(phases) else None
