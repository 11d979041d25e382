"""A skill with three phases, one of them with sub-phases and a proof, and states of it."""

from __future__ import annotations

from typing import Any

from rekindle.core.skill.lifecycle import Claimant, begun
from rekindle.core.skill.skill import Skill, skill_of
from rekindle.core.skill.state import SkillState

AT = "2026-01-01T00:00:00.000Z"
PROOF: dict[str, Any] = {
    "type": "object",
    "properties": {"file": {"type": "string"}},
    "required": ["file"],
    "additionalProperties": False,
}
DECLARED: dict[str, Any] = {
    "description": "Build something",
    "phases": [
        "0: Setup",
        "1: Interrogation",
        "2: Planning",
        "3: Build",
        "4: Synthesis",
        "4.1: Checklist",
        {"label": "4.2", "name": "Debrief", "proof": PROOF},
        "4.3: Pipeline",
        "4.4: Close",
    ],
    "next": ["review", "deploy"],
}


def skill(**more: Any) -> Skill:
    return skill_of("build", {**DECLARED, **more}, "skills/build/SKILL.md")


def claimant(pid: int = 100, at: str = AT) -> Claimant:
    return Claimant(pid, {"pid": pid, "started": pid}, at)


def state_at(label: str, **more: Any) -> SkillState:
    from msgspec.structs import replace

    begin = begun(skill(), claimant(), {})
    names = [one.text for one in begin.phases]
    upto = [one.label for one in begin.phases].index(label) + 1
    return replace(begin, current_phase=names[upto - 1], phase_history=names[:upto], loading=False, **more)
