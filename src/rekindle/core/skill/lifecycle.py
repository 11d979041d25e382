"""What each command changes in the state of a skill session. Pure: a state in, a state out.

`completed` is over: nothing here brings it back. Whoever claims a session has made sure before that nobody else
holds it (`rekindle.core.skill.holding`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from rekindle.core.skill.dehydration import DehydratedContext
from rekindle.core.skill.moves import JudgedMove
from rekindle.core.skill.skill import Skill
from rekindle.core.skill.state import KEPT, EarlierSkill, PhaseMove, SkillResume, SkillState

COMPLETED: Final = "completed"


class Claimant(msgspec.Struct, frozen=True):
    """The process that takes a session over: who it is, where it runs, and when."""

    pid: int
    owner: Mapping[str, Any]
    at: str
    pane: str | None = None
    session: str | None = None
    #: the id of the session that rekindle supervises it in
    conversation: str | None = None


def begun(skill: Skill, who: Claimant, parameters: Mapping[str, Any]) -> SkillState:
    """A new session of a skill, at its first phase."""
    first = skill.phases[0].text if skill.phases else ""
    state = SkillState(
        skill=skill.name,
        lifecycle="active",
        loading=True,
        current_phase=first,
        phases=list(skill.phases),
        phase_history=[first] if first else [],
        phase_moves=[PhaseMove(first, who.at, "begin")] if first else [],
        next_skills=list(skill.next_skills),
        started_at=who.at,
        rules=skill.rules,
        skill_file=skill.file,
        parameters=dict(parameters),
    )
    return claimed(state, who)


def claimed(state: SkillState, who: Claimant) -> SkillState:
    """The state with its new holder. Everything else stays."""
    last = state.pid if state.pid is not None and state.pid != who.pid else state.last_known_pid
    return replace(
        state,
        pid=who.pid,
        last_known_pid=last if last is not None else who.pid,
        owner=dict(who.owner),
        pane_id=who.pane or state.pane_id,
        session_id=who.session or state.session_id,
        conversation=who.conversation,
        last_heartbeat=who.at,
    )


def reactivated(state: SkillState, who: Claimant) -> SkillState:
    """Activated again for a new process. Parameters, phases and phase stay; `continued` has to follow."""
    after_restart = state.lifecycle in ("dehydrating", "restarting", "resuming")
    return replace(claimed(state, who), lifecycle="resuming" if after_restart else "active", loading=True)


def switched(state: SkillState, skill: Skill, who: Claimant) -> SkillState:
    """Another skill takes the folder over, at its own first phase. What was worked before is remembered."""
    fresh = begun(skill, who, state.parameters)
    earlier = EarlierSkill(state.skill, state.current_phase, state.lifecycle, who.at, state.phase_history)
    return replace(
        fresh,
        started_at=state.started_at,
        last_known_pid=state.pid if state.pid is not None else state.last_known_pid,
        session_id=who.session or state.session_id,
        pane_id=who.pane or state.pane_id,
        completed_skills=state.completed_skills,
        resumes=state.resumes,
        earlier_skills=[*state.earlier_skills, earlier][-KEPT:],
        others=state.others,
    )


def continued(state: SkillState, who: Claimant) -> SkillState:
    """Claimed and at work: not loading, counters at zero, the dehydrated context acknowledged. The phase stays."""
    return replace(
        claimed(state, who),
        lifecycle="active",
        loading=False,
        overflowed=False,
        context_usage=0.0,
        dehydrated_context=None,
        tool_calls_since_last_log=0,
        turns_since_resume=0,
        question=None,
    )


def proved(state: SkillState, resume: SkillResume) -> SkillState:
    """The state with the proof of a resume."""
    return replace(state, resumes=[*state.resumes, resume][-KEPT:])


def moved(
    state: SkillState, move: JudgedMove, at: str, *, reason: str = "", approved_by: str = "", proof: Any = None
) -> SkillState:
    """The state after a move. Staying changes nothing but the heartbeat."""
    if move.kind == "same":
        return replace(state, loading=False, last_heartbeat=at)
    made = PhaseMove(move.to.text, at, move.kind, reason, approved_by, proof)
    return replace(
        state,
        lifecycle="active",
        loading=False,
        current_phase=move.to.text,
        phase_history=[*state.phase_history, move.to.text],
        phase_moves=[*state.phase_moves, made][-KEPT:],
        gate_passed="",
        question=None,
        last_heartbeat=at,
    )


def restarted(state: SkillState, at: str, approved_by: str) -> SkillState:
    """The current phase is done again from its inputs."""
    again = PhaseMove(state.current_phase, at, "restart", approved_by=approved_by)
    return replace(state, phase_moves=[*state.phase_moves, again][-KEPT:], gate_passed="")


def logged(state: SkillState, at: str) -> SkillState:
    """An entry was written to the log."""
    return replace(state, tool_calls_since_last_log=0, last_heartbeat=at)


def asked_to_dehydrate(state: SkillState, usage: float, at: str) -> SkillState:
    """The context is nearly full: the agent is asked to leave a summary."""
    lifecycle = "dehydrating" if state.lifecycle in ("active", "resuming") else state.lifecycle
    return replace(
        state, lifecycle=lifecycle, overflowed=True, context_usage=min(max(usage, 0.0), 1.0), last_heartbeat=at
    )


def dehydrated(state: SkillState, context: DehydratedContext, at: str) -> SkillState:
    """The summary is there: what follows is a restart in a new conversation, and nobody is asked how to resume."""
    asked = None if state.question is not None and state.question.kind == "resume" else state.question
    return replace(
        state,
        lifecycle="restarting",
        overflowed=True,
        dehydrated_context=context,
        question=asked,
        last_heartbeat=at,
    )


def why_not_dehydrate(state: SkillState) -> str | None:
    """Why no summary is taken now; None if it is. After a restart one turn has to finish first."""
    if state.lifecycle in (COMPLETED, "idle"):
        return f"the session is {state.lifecycle}"
    if state.lifecycle == "restarting" and state.dehydrated_context is not None:
        return None  # a better summary may replace one that nobody has used yet
    resumed_fast = state.resumes[-1].proof.get("resumePath") == "fast" if state.resumes else False
    if resumed_fast and state.turns_since_resume < 1:
        return "the session has just come back from a restart, and no turn has finished since"
    return None


def turn_finished(state: SkillState) -> SkillState:
    """The agent finished a turn."""
    return replace(state, turns_since_resume=state.turns_since_resume + 1)


def acknowledged(state: SkillState) -> SkillState:
    """The dehydrated context was seen. A session that is over stays over."""
    return replace(state, dehydrated_context=None)


def idled(state: SkillState, at: str) -> SkillState:
    """The work is done, the session stays open for more; nobody holds it."""
    return replace(_released(state), lifecycle="idle", loading=False, last_heartbeat=at)


def closed(state: SkillState, at: str, *, abandoned: str = "") -> SkillState:
    """The session is over."""
    done = state.completed_skills
    if not abandoned and state.skill and state.skill not in done:
        done = [*done, state.skill]
    return replace(
        _released(state),
        lifecycle=COMPLETED,
        loading=False,
        question=None,
        completed_skills=done,
        abandoned=abandoned,
        last_heartbeat=at,
    )


def _released(state: SkillState) -> SkillState:
    return replace(
        state, pid=None, owner=None, last_known_pid=state.pid if state.pid is not None else state.last_known_pid
    )
