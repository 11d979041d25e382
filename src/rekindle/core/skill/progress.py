"""What was really accomplished: the saved phase compared with the artifacts. Pure.

The phase in the state file is a claim and may be stale if the agent died in the middle. Artifacts are the ground
truth, each for what it proves: a plan that it was planned, ticked steps that they were done, a debrief that sub-phase
N.2 ran, and nothing more: N.3 and N.4 may still be open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from rekindle.core.skill import labels
from rekindle.core.skill.artifacts import Artifacts
from rekindle.core.skill.moves import next_after
from rekindle.core.skill.skill import SkillPhase
from rekindle.core.skill.state import SkillState

#: The claim as the artifacts see it. `done`: the saved phase is complete. `stale`: they prove a later phase.
#: `ahead`: they lack what an earlier phase should have left.
Agreement = Literal["same", "done", "stale", "ahead"]


class SkillProgress(msgspec.Struct, frozen=True):
    """`at`: the phase that the artifacts say the work stands at. `done`: phases that they prove. `left`: in words."""

    claimed: str
    at: str
    agreement: Agreement
    done: tuple[str, ...]
    last_completed: str | None
    left: str
    why: tuple[str, ...]

    @property
    def told(self) -> str:
        """The actual progress in one line."""
        return f"at {self.at or 'the beginning'}; {self.left}" + (f" ({'; '.join(self.why)})" if self.why else "")


def derive(state: SkillState, found: Artifacts) -> SkillProgress:
    """Compare what the state file claims with what is there."""
    phases = state.phases
    order = {one.label: number for number, one in enumerate(phases)}
    here = order.get(state.label, -1)
    done, why = _proved(phases, found)
    furthest = max((order[one.label] for one in done), default=-1)
    missing = _missing(phases, here, found)
    at: SkillPhase | None = phases[here] if here >= 0 else None
    agreement: Agreement = "same"
    if missing is not None and furthest < here:
        at, agreement = missing[0], "ahead"
        why.append(missing[1])
    elif furthest >= max(here, 0):
        at = next_after(phases, phases[furthest].label) or phases[furthest]
        agreement = "done" if furthest == here else "stale"
    told = at.text if at is not None else state.current_phase
    left = _left(phases, at, found) if at is not None else "the skill declares no phases"
    return SkillProgress(
        claimed=state.current_phase,
        at=told,
        agreement=agreement,
        done=tuple(one.text for one in done),
        last_completed=state.last_completed,
        left=left,
        why=tuple(why),
    )


def planning(phases: Sequence[SkillPhase]) -> SkillPhase | None:
    """The phase that writes the plan, by its name."""
    return next((one for one in phases if "plan" in one.name.casefold()), None)


def debriefing(phases: Sequence[SkillPhase]) -> SkillPhase | None:
    """The sub-phase that a debrief proves: the one of that name, or N.2 of the last phase that has sub-phases."""
    named = next((one for one in phases if "debrief" in one.name.casefold()), None)
    if named is not None:
        return named
    majors = [labels.major(one.label) for one in phases if labels.is_sub(one.label)]
    return next((one for one in phases if majors and one.label == f"{majors[-1]}.2"), None)


def working(phases: Sequence[SkillPhase]) -> SkillPhase | None:
    """The phase that the steps of the plan are worked in: the one after planning and its sub-phases."""
    plan = planning(phases)
    if plan is None:
        return None
    after = phases[phases.index(plan) + 1 :]
    return next((one for one in after if labels.major(one.label) != labels.major(plan.label)), None)


def _proved(phases: Sequence[SkillPhase], found: Artifacts) -> tuple[list[SkillPhase], list[str]]:
    done: list[SkillPhase] = []
    why: list[str] = []
    plan, work, debrief = planning(phases), working(phases), debriefing(phases)
    if found.plan is not None and found.plan.ticked and plan is not None:
        done.append(plan)  # a plan alone may be half written; a ticked step shows that the work began
    if found.plan is not None and found.plan.is_done and work is not None:
        done.append(work)
        why.append(f"all {found.plan.total} steps of the plan are ticked")
    if found.debrief and debrief is not None:
        done.append(debrief)
        why.append(f"the debrief proves only {debrief.text}")
    return done, why


def _missing(phases: Sequence[SkillPhase], here: int, found: Artifacts) -> tuple[SkillPhase, str] | None:
    """The first phase before the claimed one that left no trace, though it should have."""
    order = {one.label: number for number, one in enumerate(phases)}
    plan, work, debrief = planning(phases), working(phases), debriefing(phases)
    if plan is not None and order[plan.label] < here and found.plan is None:
        return plan, "there is no plan"
    if (
        work is not None
        and order[work.label] < here
        and found.plan is not None
        and found.plan.ticked < found.plan.total
    ):
        return work, f"{found.plan.total - found.plan.ticked} steps of the plan are not ticked"
    if debrief is not None and order[debrief.label] < here and not found.debrief:
        return debrief, "there is no debrief"
    return None


def _left(phases: Sequence[SkillPhase], at: SkillPhase, found: Artifacts) -> str:
    """One line on what remains."""
    work = working(phases)
    told = []
    if work in (at, None) and found.plan is not None and found.plan.ticked < found.plan.total:
        told.append(f"{found.plan.total - found.plan.ticked} of {found.plan.total} steps of the plan are left")
        told += [f"next step: {found.plan.open[0]}"] if found.plan.open else []
    after = [one.text for one in phases[phases.index(at) + 1 :]]
    told.append(f"then {', '.join(after[:4])}" + (", …" if len(after) > 4 else "") if after else "it is the last phase")
    return ", ".join(told)
