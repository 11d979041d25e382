"""Skill sessions as a person reads them. Nothing in a state file can steer the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rekindle.core.skill.holding import SeenSession
from rekindle.core.skill.state import SkillState
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.next_step import next_step

#: How each kind of move reads before the phase.
_MOVES = {"begin": "began at", "next": "moved to", "back": "went back to", "skip": "skipped to", "same": "stayed at"}


def title_of(one: SeenSession) -> str:
    """A session in a few words."""
    if one.problem:
        return one.problem
    held = "yours" if one.is_mine else f"held by {one.holder}" if one.holder is not None else one.lifecycle
    return f"{one.skill}, {one.phase or 'no phase'}, {held}"


def found_line(one: SeenSession, shown: str) -> str:
    """A session in a list."""
    return printable(f"{shown}: {title_of(one)}")


def shown_lines(state: SkillState, folder: str, holder: object, moves: str) -> Iterator[str]:
    """Everything that matters about a session. `moves`: those that are open, in words."""
    yield printable(f"{folder}: skill {state.skill}, {state.lifecycle}" + (" (abandoned)" if state.abandoned else ""))
    yield printable(f"  phase: {state.current_phase or 'none'}")
    if state.last_completed:
        yield printable(f"  completed before it: {state.last_completed}")
    if state.lifecycle != "completed":
        yield printable(f"  moves: {moves}")
    yield f"  held by: {f'process {holder}' if holder is not None else 'nobody'}"
    yield f"  tool calls since the last log entry: {state.tool_calls_since_last_log}"
    if state.dehydrated_context is not None:
        yield printable(f"  dehydrated context: {' '.join(state.dehydrated_context.summary.split())[:200]}")
    if state.question is not None and not state.question.option:
        yield printable(f"  asks: {state.question.title}")
        yield "    " + next_step(f"rekindle answer {printable(state.question.id)} OPTION")
    for move in state.phase_moves[-5:]:
        why = f", approved by {move.approved_by}: {move.reason}" if move.approved_by else ""
        yield printable(f"  {move.at} {_MOVES.get(move.kind, move.kind)} {move.phase}{why}")
    if state.resumes:
        last = state.resumes[-1]
        proof = last.proof
        yield printable(f"  receipt of the last resume ({last.at}, {last.method}):")
        yield printable(f"    sessionReactivated: {proof.get('sessionReactivated')}")
        yield printable(f"    resumePath: {proof.get('resumePath')}")
        yield printable(f"    phaseResumed: {proof.get('phaseResumed')}")
    if state.lifecycle == "completed" and state.next_skills:
        yield printable(f"  next skills: {', '.join(state.next_skills)}")
    elif state.lifecycle != "completed" and holder is None:
        yield "  " + next_step(f"rekindle session resume {printable(folder)}")
