"""The installed procedure and the text of the start-up hook, held against the resume protocol's headings and words."""

from __future__ import annotations

import pytest

from rekindle.core.skill import injection, manual, procedure

#: The headings of the protocol, in its order.
FAST = (
    "### Step 2F: Report Intent",
    "### Step 2.5F: Check Lifecycle (Completed Session Guard)",
    "### Step 3F: Re-Activate Session",
    "### Step 4F: Resume Session Tracking",
    "### Step 5F: Log the Restart",
    "### Step 6F: Load Skill Protocol",
    "### Step 7F: Resume at Saved Phase",
    "### Step 8F: Check Phase Completion",
    "### Step 9F: Announce Resume",
)
HEADINGS = (
    "## Algorithm",
    "### Step 1: Detect Path",
    "## Fast Path (Dehydrated Context Present)",
    *FAST,
    "## Slow Path (No Dehydrated Context)",
    "### Step 2S: Detect Active Session",
    "### Step 3S: Scan Artifacts",
    "### Step 4S: Report Intent",
    "### Step 5S: Present Options",
    "### Step 6S: Execute Choice",
    "### Step 7S: Log the Resume",
    "## Constraints",
    "## Decision: Resume Method",
    "## PROOF FOR §CMD_RESUME_SESSION",
)
TREE = """\
Extras: A: View session artifacts before deciding | B: Show phase history | C: Check for newer sessions on same topic

## Decision: Resume Method
- [RSM] Resume at saved phase
  Pick up where the session left off
- [RST] Restart current phase
  Redo the current phase cleanly from scratch
- [SWT] Switch skill
  Start a different skill on this session directory
- [OTH] Other
  - [ABN] Abandon session
    Close this session and start fresh
  - [INS] Inspect first
    Read session artifacts before deciding
"""
OVERFLOW_INTENT = """\
> **Context Overflow Recovery**
>
> Rehydrating session after context overflow restart:
> - **Session**: `[SESSION_DIR]`
> - **Skill**: `[SKILL]`
> - **Resuming at**: `[PHASE]`
>
> I will now:
> 1. Re-activate session
> 2. Resume session tracking
> 3. Log the restart
> 4. Continue at `[PHASE]`
"""
ANNOUNCEMENT = """\
> **Resuming `[SKILL]`** at `[PHASE]`
>
> **Context restored from**: `.state.json` (auto-injected by SessionStart)
> - **Goal**: [from summary]
> - **Last Action**: [from lastAction]
> - **Next Steps**: [from nextSteps]
>
> Continuing now...
"""
MANUAL_INTENT = """\
> **Session Resume (Manual)**
>
> Found active session:
> - **Session**: `[SESSION_DIR]`
> - **Skill**: `[SKILL]`
> - **Saved phase**: `[PHASE]`
> - **Artifacts found**: [list: log, plan, debrief, etc.]
> - **Actual progress**: [derived from artifact scan]
"""
#: What an agent must and must not do, each in the words that mark it in the protocol.
ORDERS = (
    "Session already completed before overflow. Nothing to resume.",
    "**DO NOT**:",
    "**DO**:",
    "**Proof-Gated Awareness**:",
    "**Sub-Phase Awareness**:",
    '"Ready to proceed when you give the word" is NEVER',
    "The gate IS the announcement",
    "< /dev/null",
    "## ♻️ Context Overflow Restart",
    "~/.claude/skills/[SKILL]/SKILL.md",
    "AskUserQuestion",
)


def hook_text() -> str:
    state = {"skill": "report", "currentPhase": "2.1: Draft", "dehydratedContext": {"summary": "s"}}
    return injection.skill_block(state, "sessions/a", "0123456789abcdef")


def test_the_installed_procedure_has_the_headings_of_the_protocol_in_their_order() -> None:
    lines = manual.skill_text().splitlines()
    assert [one for one in lines if one in HEADINGS] == list(HEADINGS)


def test_the_hook_gives_every_step_of_the_fast_path_under_the_heading_that_chooses_it() -> None:
    lines = hook_text().splitlines()
    assert lines[0] == "## Session Recovery (Dehydrated Context)"
    assert [one for one in lines if one.startswith("### Step")] == list(FAST)


@pytest.mark.parametrize("text", [OVERFLOW_INTENT, ANNOUNCEMENT])
def test_what_the_agent_says_on_the_fast_path_is_in_both_word_for_word(text: str) -> None:
    assert text in manual.skill_text()
    assert text in hook_text()


@pytest.mark.parametrize("text", [MANUAL_INTENT, TREE, procedure.NO_SESSION, procedure.MANUAL_ENTRY])
def test_what_is_said_and_asked_on_the_slow_path_is_in_the_installed_procedure(text: str) -> None:
    assert text in manual.skill_text()


@pytest.mark.parametrize("words", ORDERS)
def test_every_order_of_the_fast_path_reaches_the_agent_by_the_hook_and_by_the_skill(words: str) -> None:
    assert words in hook_text()
    assert words in manual.skill_text()


def test_the_hook_leaves_most_of_its_room_to_the_notes() -> None:
    assert len(hook_text()) < injection.HOOK_CHARACTERS // 2
