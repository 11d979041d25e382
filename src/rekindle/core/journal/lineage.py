"""Which run continues which, which are therefore interrupted, and the state of a whole lineage."""

from __future__ import annotations

from dataclasses import dataclass, field

from rekindle.core.journal.fold import JournalState
from rekindle.core.journal.plan_parts import newer_plan
from rekindle.core.journal.run import (
    FAILED,
    PENDING,
    Checkpoint,
    Claim,
    Gap,
    Issue,
    LaterEvent,
    Qa,
    RecordedBranch,
    RecordedPlan,
    RecordedTask,
    RecordedWorktree,
    RunState,
    Work,
)
from rekindle.core.journal.run_events import LATER


@dataclass(frozen=True)
class Lineages:
    """How the runs of a journal are connected. Sids; `interrupted` is newest first."""

    parents: dict[str, str]
    superseded: frozenset[str]
    interrupted: tuple[str, ...]

    def of(self, sid: str) -> list[str]:
        """The lineage that ends with this run, oldest first."""
        chain = [sid]
        while chain[-1] in self.parents:
            chain.append(self.parents[chain[-1]])
        return chain[::-1]


class Chain:
    """Connects runs by what their starts say. They are added in the order in which they began."""

    def __init__(self) -> None:
        self.earlier: list[RunState] = []
        self.parents: dict[str, str] = {}
        self.continued: set[str] = set()
        self._known: set[str | None] = set()

    def continues(self, run: RunState) -> str | None:
        """The earlier run that this one would resume or restart."""
        start = run.start
        if start is None:
            return None
        if start.restarts in self._known:
            return start.restarts
        if start.command != "resume":
            return None
        return start.resumes if start.resumes in self._known else _default_parent(self.earlier, self.continued)

    def add(self, run: RunState) -> None:
        """The next run."""
        before = self.continues(run)
        if before is not None:
            self.continued.add(before)
            if run.start is not None and run.start.restarts not in self._known:
                self.parents[run.sid] = before
        self.earlier.append(run)
        self._known.add(run.sid)


def lineages(state: JournalState) -> Lineages:
    """Connect the runs by what their starts say, in the order in which they began."""
    chain = Chain()
    for run in state.runs:
        chain.add(run)
    interrupted = [run.sid for run in chain.earlier if not run.ended and run.sid not in chain.continued]
    return Lineages(chain.parents, frozenset(chain.continued), tuple(reversed(interrupted)))


def _default_parent(earlier: list[RunState], continued: set[str]) -> str | None:
    for run in reversed(earlier):
        if not run.ended and run.sid not in continued:
            return run.sid
    return earlier[-1].sid if earlier else None


@dataclass(frozen=True)
class LineageState:
    """The runs of a lineage merged into one state, oldest first."""

    tasks: dict[str, RecordedTask] = field(default_factory=dict)
    active_agents: list[str] = field(default_factory=list)
    branches: dict[str, RecordedBranch] = field(default_factory=dict)
    worktrees: dict[str, str | None] = field(default_factory=dict)
    qa: dict[str, Qa] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)
    plan: RecordedPlan | None = None
    checkpoint: Checkpoint | None = None
    issues: list[Issue] = field(default_factory=list)
    resolved_issues: list[Issue] = field(default_factory=list)
    warnings: list[Issue] = field(default_factory=list)
    later: list[LaterEvent] = field(default_factory=list)
    later_count: int = 0
    claims: list[Claim] = field(default_factory=list)


def overlay(runs: list[RunState]) -> LineageState:
    """Fold the states of a lineage's runs."""
    tasks: dict[str, RecordedTask] = {}
    agents: dict[str, bool] = {}
    branches: dict[str, RecordedBranch] = {}
    worktrees: dict[str, RecordedWorktree] = {}
    qa: dict[str, Qa] = {}
    gaps: list[Gap] = []
    plan: RecordedPlan | None = None
    decided: set[tuple[str, int]] = set()
    claims: list[Claim] = []
    for run in runs:
        claims.extend(run.work.claims)
        for name, task in run.work.tasks.items():
            tasks[name] = _newer(tasks.get(name), task)
        for name, active in run.work.agents.items():
            agents.pop(name, None)
            agents[name] = active
        for name, branch in run.work.branches.items():
            old = branches.get(name, RecordedBranch())
            branches[name] = RecordedBranch(
                branch.task if branch.task is not None else old.task,
                branch.merged if branch.merged is not None else old.merged,
            )
        worktrees.update(run.work.worktrees)
        qa.update(run.work.qa)
        gaps.extend(run.work.gaps)
        plan = newer_plan(plan, run.work.plan)
        decided.update(run.work.decided)
    recent = _from_the_checkpoint(runs)
    issues: list[Issue] = []
    settled: list[Issue] = []
    for issue in (issue for work in recent for issue in work.issues):
        (settled if _is_settled(issue, tasks, decided) else issues).append(issue)
    return LineageState(
        tasks=tasks,
        active_agents=[name for name, active in agents.items() if active],
        branches=branches,
        worktrees={path: tree.branch for path, tree in worktrees.items() if not tree.removed},
        qa=qa,
        gaps=gaps,
        plan=plan,
        checkpoint=recent[0].checkpoint if recent else None,
        issues=issues,
        resolved_issues=settled,
        warnings=[warning for work in recent for warning in work.warnings],
        later=[one for work in recent for one in work.later][-LATER:],
        later_count=sum(work.later_count for work in recent),
        claims=claims,
    )


def _from_the_checkpoint(runs: list[RunState]) -> list[Work]:
    """The work of the run with the lineage's last checkpoint and of the runs after it; of all runs if there is none."""
    works = [run.work for run in runs]
    marked = [at for at, work in enumerate(works) if work.checkpoint is not None]
    return works[marked[-1] :] if marked else works


def _newer(old: RecordedTask | None, new: RecordedTask) -> RecordedTask:
    """What is known about a task when a later run adds to it: a mere mention resets nothing."""
    if old is None:
        return new
    merged = RecordedTask()
    for name in RecordedTask.__struct_fields__:
        value = getattr(new, name)
        setattr(merged, name, getattr(old, name) if value is None else value)
    if new.status is not None:
        merged.error, merged.attempts = new.error, new.attempts
    return merged


def _is_settled(issue: Issue, tasks: dict[str, RecordedTask], decided: set[tuple[str, int]]) -> bool:
    if issue.resolved:
        return True
    if issue.type == "task.failed" and issue.task is not None:
        task = tasks.get(issue.task)
        if task is None or task.status != FAILED:
            return True
    return issue.seq is not None and (issue.sid, issue.seq) in decided


def status_of(task: RecordedTask) -> str:
    """The status for display: a task that was only mentioned is pending."""
    return task.status or PENDING
