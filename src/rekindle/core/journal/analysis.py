"""From a journal's state to what a resume would do: the analysis and its decision, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rekindle.core.journal.fold import JournalState
from rekindle.core.journal.lineage import LineageState, lineages, overlay, status_of
from rekindle.core.journal.run import FAILED, IN_PROGRESS, PENDING, RunState

Case = Literal["A", "B", "C", "none"]


@dataclass(frozen=True)
class DecisionOption:
    """One answer to the decision's question, and what it does."""

    key: str
    title: str
    effect: str


@dataclass(frozen=True)
class Decision:
    """What to do about an interrupted run. Case A asks nothing, so it has no options."""

    case: Case
    next_step: Any
    restart_tasks: tuple[str, ...]
    options: tuple[DecisionOption, ...] = ()


@dataclass(frozen=True)
class Analysis:
    """Everything that a resume needs to know, and a person wants to read."""

    feature: str | None
    sid: str | None
    interrupted: tuple[str, ...]
    lineage: tuple[str, ...]
    run: RunState | None
    state: LineageState
    journal: JournalState
    superseded: frozenset[str]
    decision: Decision

    @property
    def is_interrupted(self) -> bool:
        """Whether there is anything to resume."""
        return bool(self.interrupted)


def analyse(journal: JournalState, *, owned: frozenset[str] = frozenset()) -> Analysis:
    """Analyse a journal. `owned` are the runs that a live process holds: those are not interrupted."""
    links = lineages(journal)
    interrupted = tuple(sid for sid in links.interrupted if sid not in owned)
    runs = journal.runs
    if interrupted:
        sid: str | None = interrupted[0]
    else:
        sid = runs[-1].sid if runs else None
    chain = links.of(sid) if sid is not None else []
    state = overlay([journal.sids[name] for name in chain])
    run = journal.sids[sid] if sid is not None else None
    return Analysis(
        feature=run.feature if run is not None else None,
        sid=sid,
        interrupted=interrupted,
        lineage=tuple(chain),
        run=run,
        state=state,
        journal=journal,
        superseded=links.superseded,
        decision=decide(state, interrupted=bool(interrupted)),
    )


def decide(state: LineageState, *, interrupted: bool) -> Decision:
    """Cases A, B and C of the journal's resume protocol."""
    if not interrupted:
        return Decision("none", None, ())
    named = {issue.task for issue in state.issues}
    restart = tuple(
        name
        for name, task in state.tasks.items()
        if status_of(task) in (IN_PROGRESS, FAILED) or (status_of(task) == PENDING and name in named)
    )
    if state.checkpoint is None:
        return Decision("C", None, restart, options_without_checkpoint(has_plan=state.plan is not None))
    next_step = state.checkpoint.plan_step
    if state.issues:
        return Decision("B", next_step, restart, options_with_issues(affected(state, restart), next_step))
    return Decision("A", next_step, restart)


def affected(state: LineageState, restart: tuple[str, ...]) -> tuple[str, ...]:
    """The tasks that the issues are about. One that was only cut off continues, unless an issue names no task."""
    named = {issue.task for issue in state.issues}
    if None in named:
        return restart
    return tuple(name for name in restart if name in named or status_of(state.tasks[name]) == FAILED)


def options_with_issues(affected: tuple[str, ...], next_step: Any) -> tuple[DecisionOption, ...]:
    """The options. If no task is affected, there is none to start over, to skip or to talk to."""
    if not affected:
        return (
            DecisionOption("A", "Fix and restart", "no task starts over; what failed is tried again: mend it first"),
            DecisionOption("B", "Continue past it", "there is no task to skip; what failed is tried again"),
            DecisionOption(
                "C", "Own instructions", "your words go to the tasks that are not finished, if there are any"
            ),
        )
    tasks = tasks_phrase(affected)
    onward = f"go on at {next_step}" if next_step else "go on with the next planned step"
    return (
        DecisionOption("A", "Fix and restart", f"set {tasks} back to the checkpoint and start over"),
        DecisionOption("B", "Continue past it", f"mark {tasks} as skipped and {onward}"),
        DecisionOption("C", "Own instructions", "say in your own words how to go on"),
    )


def options_without_checkpoint(*, has_plan: bool) -> tuple[DecisionOption, ...]:
    """The options. A run that was killed before its plan was recorded has none to keep, and no task to talk to."""
    anew = DecisionOption("B", "Restart with a new plan", "start over and plan again")
    if not has_plan:
        return (anew,)
    return (
        DecisionOption("A", "Restart with the plan", "start over and keep the plan of the interrupted run"),
        anew,
        DecisionOption("C", "Own instructions", "say in your own words how to go on"),
    )


def tasks_phrase(names: tuple[str, ...]) -> str:
    """`task 2`, or `tasks 2 and 3`, for a sentence."""
    if not names:
        return "the affected work"
    if len(names) == 1:
        return f"task {names[0]}"
    return f"tasks {', '.join(names[:-1])} and {names[-1]}"
