"""A skill that was edited while a session of it was away: whether it still declares the phase that was saved. Pure.

A session keeps the phases as they were when it was activated, and goes on by them. Only where the saved phase is gone
or has another name now, nobody knows where in the skill the work stands: then every move has to be approved.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec.structs import replace

from rekindle.core.skill import labels
from rekindle.core.skill.moves import JudgedMove, RefusedMove, judge, moves_told
from rekindle.core.skill.skill import Skill
from rekindle.core.skill.state import SkillState

#: A phase that no skill can declare: it is no label.
_NOWHERE: Final = "-"


def is_gone(state: SkillState, skill: Skill) -> bool:
    """Whether a skill, as it is now, lacks the saved phase. One that declares no phases at all says nothing."""
    label, name = labels.split(state.current_phase)
    if not label or not skill.phases or state.skill != skill.name:
        return False
    return not any(one.label == label and name in ("", one.name) for one in skill.phases)


def redeclared(state: SkillState, skill: Skill) -> SkillState:
    """The session with the phases and rules that its skill has now. It stays where it is.

    Editing a skill does not take an approval away from a person.
    """
    approver: Literal["agent", "person"] = "agent"
    if "person" in (state.rules.approver, skill.rules.approver):
        approver = "person"
    return replace(
        state,
        phases=list(skill.phases),
        rules=replace(skill.rules, approver=approver),
        next_skills=list(skill.next_skills),
        skill_file=skill.file or state.skill_file,
        gate_passed="",
    )


def judged(skill: Skill, wanted: str) -> JudgedMove | RefusedMove:
    """What a move takes from a saved phase that is not declared any more: an approval, wherever it leads."""
    return judge(skill.phases, _NOWHERE, wanted)


def why(state: SkillState, skill: Skill) -> str:
    """What has happened, in words."""
    told = f"the session was left at {state.current_phase}, which the skill {skill.name} does not declare any more"
    return f"{told}: it was edited since"


def moves(skill: Skill) -> str:
    """The moves that are open then."""
    return moves_told(skill.phases, _NOWHERE)
