"""The reasons why a feature cannot be started or resumed now, each with what to do about it."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Mapping

from rekindle.agents.base.kind import AgentKind
from rekindle.app.feature_resume import FoundFeature
from rekindle.core.feature.decide import wave_commands
from rekindle.core.feature.evidence import GitEvidence
from rekindle.core.feature.left_over import only_there, removal
from rekindle.core.feature.modes import Mode
from rekindle.core.feature.plan import BadPlan, Plan
from rekindle.core.feature.plan_event import to_events
from rekindle.ports.errors import FeatureBlocked, OwnedError, UsageError
from rekindle.ports.workspace import Workspace


def refuse_open_run(here: Workspace, feature: str, *, lock_is_ours: bool) -> None:
    """A feature with a run that never ended must be resumed, not started."""
    if not here.journal(feature).path.exists():
        return
    analysis, owner = here.analysis(feature, lock_is_ours=lock_is_ours)
    if owner is not None:
        raise OwnedError(f"run {owner.sid} of {feature} is held by pid {owner.pid}", "wait for it, or end it")
    if analysis.interrupted:
        raise UsageError(
            f"run {analysis.interrupted[0]} of {feature} never ended",
            f"continue it: rekindle resume {feature}; or end it for good: rekindle abandon {feature}",
        )


def refuse_leftovers(here: Workspace, feature: str, seen: GitEvidence) -> None:
    """What an earlier run left behind is not built on without asking."""
    if seen.branches:
        left, found = next(iter(seen.branches.items()))
        lost = only_there(seen, found)
        what = f"it has {' and '.join(lost)}; to delete it with them" if lost else "to delete it"
        remove = f"{what}: {removal(seen, found)}"
        again = (
            f"continue the feature: rekindle resume {shlex.quote(feature)}; or, " if _resumable(here, feature) else ""
        )
        raise UsageError(f"{left} is left over from earlier work on {feature}", f"{again}{remove}")
    refuse_checked_out(seen.target, seen.elsewhere)


def _resumable(here: Workspace, feature: str) -> bool:
    if not here.journal(feature).path.exists():
        return False
    run = here.analysis(feature, lock_is_ours=True)[0].run
    return run is not None and run.end_reason != "completed"


def refuse_unwritable(plan: Plan | None) -> None:
    """A plan that the journal cannot store is refused before anything is written."""
    if plan is not None:
        try:
            to_events(plan)
        except BadPlan as error:
            raise UsageError(error.message, error.hint, code="bad_plan") from error


def no_plan(feature: str, *, can_restart: bool) -> UsageError:
    """A journal kept by hand has no plan to continue. If the run starts over, a new plan can be given."""
    name = shlex.quote(feature)
    begin = f"run a plan instead: rekindle abandon {name}, then rekindle run --plan FILE"
    hint = f"give one: rekindle resume {name} --choose B --plan FILE" if can_restart else begin
    return UsageError(f"the journal of {feature} has no plan", f"{hint}; to continue by hand, use rekindle track")


def refuse_checked_out(branch: str, where: str | None) -> None:
    """The feature's branch is not moved while it is checked out."""
    if where is not None:
        raise FeatureBlocked(
            f"{branch} is checked out in {where}; merges would move it under you",
            f"free it (git -C {where} switch --detach keeps the files as they are), then try again",
        )


def refuse_missing_agents(
    wanted: Iterable[tuple[str, AgentKind]], program_of: Callable[[AgentKind], str | None]
) -> None:
    """An agent that cannot be started would fail its task, after others were paid. `wanted` are tasks with agents."""
    for task, kind in wanted:
        if kind.program and program_of(kind) is None:
            raise UsageError(
                f"task {task!r} wants {kind.title}, and there is no program {kind.program!r} on your PATH", kind.missing
            )


def refuse_missing_programs(plan: Plan, mode: Mode, env: Mapping[str, str]) -> None:
    """A check whose program is missing would fail every round of every task. A path may be created by a task."""
    of_tasks = [(command, f"task {task.id!r}, checks") for task in plan.tasks for command in task.checks]
    of_waves = [(command, "lint or checks of the plan") for command in wave_commands(plan, mode)]
    for command, place in (*(of_tasks if mode != "fast" else ()), *of_waves):
        program = shlex.split(command)[0]
        if "/" not in program and shutil.which(program, path=env.get("PATH", os.defpath)) is None:
            raise UsageError(
                f"{place}: there is no program {program!r} for {command!r}",
                "install it, give its path, or remove the check (commands run without a shell)",
            )


def refuse_outdated(found: FoundFeature, seen: str | None) -> None:
    """An answer belongs to a question: what somebody else did since may have changed the question."""
    if seen is not None and found.analysis.sid != seen:
        raise OwnedError(
            f"somebody else has resumed {found.feature} meanwhile: run {seen} is no longer its last",
            f"look again: rekindle resume {found.feature} --explain",
        )
