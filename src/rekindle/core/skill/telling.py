"""The texts of a resume, word for word as the procedure has them: headings, sentences and log entries. Pure.

Agents and hooks look for these texts, so that a change here is a change of a contract.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rekindle.core.skill import procedure
from rekindle.core.skill.dehydration import DehydratedContext
from rekindle.core.skill.state import SkillState

RECOVERY: Final = procedure.RECOVERY
NO_SESSION: Final = procedure.NO_SESSION
COMPLETED: Final = procedure.COMPLETED
overflow_intent = procedure.overflow_intent


def manual_intent(folder: str, skill: str, phase: str, artifacts: Sequence[str], progress: str) -> list[str]:
    """Step 4S: what was found, without dehydrated context."""
    return procedure.manual_intent(folder, skill, phase, ", ".join(artifacts) or "none", progress)


def overflow_entry(phase: str, context: DehydratedContext) -> str:
    """Step 5F: the entry in the log."""
    return "\n".join(
        [
            procedure.OVERFLOW_ENTRY,
            f"*   **Resumed At**: {phase}",
            f"*   **Last Action**: {_line(context.last_action or context.summary)}",
            f"*   **Next Steps**: {_line('; '.join(context.next_steps))}",
        ]
    )


def manual_entry(phase: str, method: str, artifacts: Sequence[str], progress: str) -> str:
    """Step 7S: the entry in the log."""
    return "\n".join(
        [
            procedure.MANUAL_ENTRY,
            f"*   **Resumed At**: {phase}",
            f"*   **Method**: {_line(method)}",
            f"*   **Artifacts Found**: {', '.join(artifacts) or 'none'}",
            f"*   **Actual Progress**: {_line(progress)}",
        ]
    )


def announcement(skill: str, phase: str, context: DehydratedContext) -> list[str]:
    """Step 9F: goal, last action, next steps, and where they come from."""
    goal, last, following = _line(context.summary), _line(context.last_action), _line("; ".join(context.next_steps))
    return procedure.announcement(skill, phase, goal, last, following)


def orders(state: SkillState, folder: str, *, redo: bool = False) -> list[str]:
    """Steps 6F to 8F: how the agent goes on from the saved phase. `redo`: the phase is done again."""
    phase = state.current_phase or "the saved place"
    told = [f"Read the skill's instructions first: {state.skill_file}"] if state.skill_file else []
    if redo:
        told.append(f"Do {phase} again from its inputs: read them again and redo the phase's work.")
    else:
        told.append(f"You are AT {phase}, not past it. Follow the skill from there on.")
    told += [
        "Do not repeat earlier phases, do not parse the parameters again, do not create the folder again.",
        "If the phase's work is complete, do the next phase's work and then move with proof; "
        "never skip a sub-phase: a debrief proves only its own sub-phase.",
        f"All planned work of the phase is done? Fire the gate at once: rekindle session gate {folder}",
        f"Keep writing the log: rekindle session log {folder}/{state.rules.log or 'LOG.md'}",
    ]
    return told


def _line(text: str) -> str:
    return " ".join(text.split())[:1000]
