"""What Claude Code is given for skill sessions: the command `/session`, and the skill with the procedure. Pure."""

from __future__ import annotations

import json
from typing import Final

from rekindle.core.skill import decision, procedure
from rekindle.core.skill.proof import SCHEMA

#: The name of the skill that carries the procedure. It is not a skill to work through.
NAME: Final = "resume-session"
COMMAND: Final = "session"
_TOOLS: Final = "allowed-tools: Bash(rekindle session:*), AskUserQuestion, Read, Skill"


def command_text() -> str:
    """`/session`: what the user types to continue, and a way to every other command."""
    return "\n".join(
        [
            "---",
            "description: Continue a skill session after an interruption, or show, move and close it",
            "argument-hint: continue [DIR] | show [DIR] | next | idle | close",
            _TOOLS,
            "---",
            "",
            "The user typed: /session $ARGUMENTS",
            "",
            f"- `continue`, or nothing: a skill session is to be resumed. Use the skill `{NAME}` and follow it "
            "from its Step 1. What comes after `continue` is the session's folder.",
            "- Anything else: run `rekindle session` with those words, and tell the user what it says. Exit status 3 "
            "means that the user has to decide: ask with AskUserQuestion, with the options that it names, and run the "
            "command again with `--choose`.",
            "",
            "Ask the user nothing in plain text: every question goes through AskUserQuestion.",
            "",
        ]
    )


def skill_text() -> str:
    """The whole resume procedure, both paths."""
    slots = f"`{procedure.DIR}`, `{procedure.SKILL}` and `{procedure.PHASE}`"
    return "\n".join(
        [
            "---",
            f"name: {NAME}",
            "description: Resume a skill session after an interruption. Use it when the conversation begins with "
            f'"{procedure.RECOVERY.removeprefix("## ")}", or when the user types /session continue.',
            _TOOLS,
            "---",
            "",
            "# Resume a skill session",
            "",
            f"{slots} stand for the folder of the session, its skill and its saved phase.",
            "",
            "## Algorithm",
            "### Step 1: Detect Path",
            f"- **Fast path**: `{procedure.RECOVERY}` was given to you at the start of this conversation. Go to "
            "Step 2F. Nobody is asked.",
            "- **Slow path**: it was not. Go to Step 2S.",
            "",
            "## Fast Path (Dehydrated Context Present)",
            *procedure.fast_steps(),
            "",
            "## Slow Path (No Dehydrated Context)",
            *procedure.slow_steps(),
            "",
            "## Constraints",
            "- Every question to the user goes through AskUserQuestion, never through plain text.",
            "- Do NOT create the session directory again or parse the parameters again.",
            "- Do NOT skip a sub-phase: each is run, from the exact one that is saved.",
            "- The saved phase may be stale: artifacts are the ground truth.",
            "- Keep your messages short and do not narrate the steps. The procedure is the task: leave out no step.",
            "",
            "The question of Step 5S is asked at every resume except on the fast path. The user may always type "
            "something else. Do NOT add, remove, or modify its options:",
            "",
            *decision.tree_lines(),
            "",
            "## PROOF FOR §CMD_RESUME_SESSION",
            "`continue --json` and `resume --json` give the proof of the resume under `proof`. It has this shape:",
            "```json",
            json.dumps(SCHEMA, indent=2),
            "```",
            "",
        ]
    )
