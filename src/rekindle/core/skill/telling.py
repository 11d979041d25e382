"""The texts of a resume, word for word as the procedure has them: headings, sentences and log entries. Pure.

Agents and hooks look for these texts, so that a change here is a change of a contract.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rekindle.core.skill.state import Dehydrated, SkillState

#: The heading that chooses the fast path.
RECOVERY: Final = "## Session Recovery (Dehydrated Context)"
OVERFLOW_ENTRY: Final = "## ♻️ Context Overflow Restart"
MANUAL_ENTRY: Final = "## ♻️ Manual Session Resume"
NO_SESSION: Final = "No active session found. Use a `/skill` to start one."
COMPLETED: Final = "Session already completed before overflow. Nothing to resume."


def overflow_intent(folder: str, skill: str, phase: str) -> list[str]:
    """Step 2F: what follows, after a restart with dehydrated context."""
    return [
        "> **Context Overflow Recovery**",
        ">",
        "> Rehydrating session after context overflow restart:",
        f"> - **Session**: `{folder}`",
        f"> - **Skill**: `{skill}`",
        f"> - **Resuming at**: `{phase}`",
        ">",
        "> I will now:",
        "> 1. Re-activate session",
        "> 2. Resume session tracking",
        "> 3. Log the restart",
        f"> 4. Continue at `{phase}`",
    ]


def manual_intent(folder: str, skill: str, phase: str, artifacts: Sequence[str], progress: str) -> list[str]:
    """Step 4S: what was found, without dehydrated context."""
    return [
        "> **Session Resume (Manual)**",
        ">",
        "> Found active session:",
        f"> - **Session**: `{folder}`",
        f"> - **Skill**: `{skill}`",
        f"> - **Saved phase**: `{phase}`",
        f"> - **Artifacts found**: {', '.join(artifacts) or 'none'}",
        f"> - **Actual progress**: {progress}",
    ]


def overflow_entry(phase: str, context: Dehydrated) -> str:
    """Step 5F: the entry in the log."""
    return "\n".join(
        [
            OVERFLOW_ENTRY,
            f"*   **Resumed At**: {phase}",
            f"*   **Last Action**: {_line(context.last_action or context.summary)}",
            f"*   **Next Steps**: {_line('; '.join(context.next_steps))}",
        ]
    )


def manual_entry(phase: str, method: str, artifacts: Sequence[str], progress: str) -> str:
    """Step 7S: the entry in the log."""
    return "\n".join(
        [
            MANUAL_ENTRY,
            f"*   **Resumed At**: {phase}",
            f"*   **Method**: {_line(method)}",
            f"*   **Artifacts Found**: {', '.join(artifacts) or 'none'}",
            f"*   **Actual Progress**: {_line(progress)}",
        ]
    )


def announcement(skill: str, phase: str, context: Dehydrated) -> list[str]:
    """Step 9F: goal, last action, next steps, and where they come from."""
    return [
        f"> **Resuming `{skill}`** at `{phase}`",
        ">",
        "> **Context restored from**: `.state.json` (auto-injected by SessionStart)",
        f"> - **Goal**: {_line(context.summary)}",
        f"> - **Last Action**: {_line(context.last_action)}",
        f"> - **Next Steps**: {_line('; '.join(context.next_steps))}",
        ">",
        "> Continuing now...",
    ]


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
