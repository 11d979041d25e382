"""What a resume of a feature finds and would do: needs no daemon, changes nothing. Also how it is told."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from rekindle.adapters.feature_git.git_feature import GitFeature, Worktrees
from rekindle.adapters.feature_git.locking import remedy
from rekindle.adapters.git import identity
from rekindle.adapters.git import locks as git_locks
from rekindle.adapters.git.repository import Repository
from rekindle.adapters.journal_file import run_owner
from rekindle.adapters.machine import team
from rekindle.agents.registry import AGENTS
from rekindle.core.feature.naming import session_id
from rekindle.core.feature.orders import orders
from rekindle.core.feature.outlook import Outlook, outlook
from rekindle.core.feature.plan import BadPlan, Plan
from rekindle.core.feature.plan_event import from_event
from rekindle.core.feature.plan_file import MODES, Mode
from rekindle.core.feature.progress import TaskProgress, progress
from rekindle.core.feature.records import named_branches, recorded_trees
from rekindle.core.feature.stray_questions import listed
from rekindle.core.feature.strays import Stray
from rekindle.core.git_locks import Lock
from rekindle.core.journal.analysis import Analysis
from rekindle.ports.errors import NoOpenRun, OwnedError, QuestionError, UsageError
from rekindle.ports.journal import Journal

Choice = Literal["A", "B", "C"]
#: A yes names what it is about by so many characters at least.
SHORTEST_YES = 8
#: What is done: on without a question, one of the three options, or a restart with the old or a new plan.
Answer = Literal["auto", "A", "B", "C", "restart A", "restart B"]


class Here(Protocol):
    """A repository with its journals."""

    @property
    def repository(self) -> Repository: ...

    @property
    def worktrees(self) -> Worktrees: ...

    @property
    def state_dir(self) -> str: ...

    @property
    def progress(self) -> str: ...

    def folder(self, feature: str) -> os.PathLike[str]: ...

    def existing(self, feature: str) -> Journal: ...

    def unapproved(self, feature: str, lineage: Collection[str]) -> str | None: ...

    def approve(self, feature: str, fingerprint: str) -> None: ...

    def writable(self, feature: str) -> Journal: ...

    def analysis(self, feature: str, *, lock_is_ours: bool = False) -> tuple[Analysis, run_owner.Owner | None]: ...


@dataclass(frozen=True)
class Found:
    """A feature that could be resumed. `unapproved` is a fingerprint of orders that nobody here has given yet."""

    feature: str
    analysis: Analysis
    git: GitFeature
    plan: Plan | None
    progress: dict[str, TaskProgress]
    outlook: Outlook
    elsewhere: str | None
    unapproved: str | None
    repository_id: str = ""
    strays: dict[str, tuple[Stray, ...]] = field(default_factory=dict)
    locks: tuple[Lock, ...] = ()

    @property
    def settled(self) -> frozenset[str]:
        """The tasks that are merged or skipped."""
        return frozenset(row.name for row in self.outlook.tasks if row.action in ("done", "skipped"))


def look(here: Here, feature: str, *, lock_is_ours: bool = False, known_as: str = "") -> Found:
    """Look at a feature that nobody runs. Raises OwnedError if somebody does, NoOpenRun if nothing is left to do.

    `known_as` is the repository's id, where more is known of that than the repository says.
    """
    analysis, owner = here.analysis(feature, lock_is_ours=lock_is_ours)
    if owner is not None:
        where = f"by pid {owner.pid}" if owner.verdict == "alive" else "on another host, which alone can tell"
        raise OwnedError(f"run {owner.sid} of {feature} is held {where}", "it needs no resume while it is")
    run = analysis.run
    if run is None or (run.ended and run.end_reason == "completed"):
        raise NoOpenRun(f"{feature} has nothing to resume", "begin it with `rekindle run --plan FILE`")
    try:
        plan = from_event(analysis.state.plan) if analysis.state.plan is not None else None
    except BadPlan as error:
        raise UsageError(f"the plan of {feature} cannot be used: {error.message}", error.hint) from error
    runs = [analysis.journal.sids[sid] for sid in analysis.lineage]
    known = progress(feature, plan, runs) if plan else {}
    named = named_branches(runs)
    git = GitFeature(here.repository, feature, here.worktrees, named)
    seen = git.observe(known, recorded_trees(runs))
    id_ = known_as or repository_id(here)
    kept = frozenset(
        name for name, one in known.items() if git.has_snapshot(_session(id_, feature, name, one), one.branch)
    )
    found = outlook(analysis, plan, known, seen, kept, named)
    unapproved = here.unapproved(feature, analysis.lineage)
    return Found(
        feature, analysis, git, plan, known, found, seen.elsewhere, unapproved, id_, seen.strays, tuple(git.locks())
    )


def repository_id(here: Here) -> str:
    """What the repository is known by: its id, or one that follows from its path as long as it has none."""
    found = identity.find(here.repository)
    return found.id if found is not None and found.verdict != "copy" else identity.by_path(here.repository)


def session_of(found: Found, task: str) -> str:
    """The session that works on a task."""
    return _session(found.repository_id, found.feature, task, found.progress[task])


def _session(repository: str, feature: str, task: str, one: TaskProgress) -> str:
    return session_id(repository, feature, one.epoch, task, "work")


def explain(here: Here, feature: str, home: str, default_agent: str) -> dict[str, Any]:
    """All that a resume would do, as an object."""
    found = look(here, feature)
    needed = [task.agent or default_agent for task in found.plan.tasks] if found.plan is not None else []
    stands = team.look(home, feature, needed) if home else "missing"
    return {**told(found), "team": stands, "has_plan": found.plan is not None, **_orders(found, default_agent)}


def _orders(found: Found, default_agent: str) -> dict[str, Any]:
    """What would be run and said, and which yes it needs first (`None`: the user's rekindle wrote it here)."""
    given = None
    if found.plan is not None:
        given = orders(found.plan, found.progress, mode_of(found), AGENTS, default_agent)
    return {"orders": given, "unapproved": found.unapproved}


def mode_of(found: Found) -> Mode:
    """How strictly the interrupted run checked."""
    start = found.analysis.run.start if found.analysis.run is not None else None
    given = start.mode if start is not None else None
    return next((mode for mode in MODES if mode == given), "standard")


def ensure_approved(here: Here, found: Found, yes: str) -> None:
    """Let nothing be worked that nobody here has ordered. `yes` is (the beginning of) the fingerprint that was seen."""
    if found.unapproved is not None:
        check_yes(found.feature, found.unapproved, yes)
        here.approve(found.feature, found.unapproved)


def check_yes(feature: str, unapproved: str, yes: str) -> None:
    """Raises QuestionError unless somebody said yes to exactly these orders."""
    if len(yes) >= SHORTEST_YES and unapproved.startswith(yes):
        return
    changed = "; what you said yes to is not what it says now" if yes else ""
    raise QuestionError(
        f"the journal of {feature} was not written by your rekindle on this machine{changed}: "
        "may its commands and prompts be run?",
        f"see them: rekindle resume {feature} --explain; say yes: rekindle resume {feature} --trust {unapproved[:12]}",
        code="not_approved",
    )


def unlocked(found: Found, *, remove: bool) -> list[str]:
    """Remove the locks of the dead that are in the way, after a yes; returns what was removed.

    Raises OwnedError for one whose maker may live, QuestionError without the yes.
    """
    held = [lock for lock in found.locks if not lock.may_go]
    if held:
        raise OwnedError(f"git is locked by {held[0].sentence}", "wait for that process, or end it; then resume")
    if found.locks and not remove:
        listed = "; ".join(lock.sentence for lock in found.locks)
        raise QuestionError(f"a killed git has left locks behind: {listed}. Remove them?", remedy(found.feature))
    return [lock.sentence for lock in found.locks if git_locks.remove(lock)]


def told(found: Found) -> dict[str, Any]:
    """What was found, in plain values."""
    decision, state = found.outlook.decision, found.analysis.state
    checkpoint = state.checkpoint
    rows = {name: [asdict(row) for row in getattr(found.outlook, name)] for name in ("tasks", "branches", "worktrees")}
    issues = [
        {name: getattr(issue, name) for name in ("sid", "seq", "type", "task", "message", "place", "attempts")}
        for issue in found.outlook.issues
    ]
    return {
        "feature": found.feature,
        "branch": found.git.branch,
        "run": found.analysis.sid,
        "case": decision.case,
        "checkpoint": None if checkpoint is None else {"label": checkpoint.label, "seq": checkpoint.seq},
        "next_step": decision.next_step,
        "options": [{"key": one.key, "title": one.title, "effect": one.effect} for one in decision.options],
        "issues": issues,
        "affected": list(found.outlook.affected),
        "lost": list(found.outlook.lost),
        "locks": [lock.sentence for lock in found.locks],
        "active_agents": [_agent(name, found) for name in state.active_agents],
        "warnings": list(found.outlook.warnings),
        "strays": listed(found.progress, found.strays, found.settled),
        **rows,
    }


def _agent(name: str, found: Found) -> str:
    """An agent with the task and the branch that it was at, where the journal says so."""
    for task, one in found.progress.items():
        work = found.analysis.state.tasks.get(task)
        ours = name.endswith(_session(found.repository_id, found.feature, task, one))
        if ours or (work is not None and work.agent == name):
            return f"{name} (task {task}, branch {one.branch})"
    return name


def answer(found: Outlook, choice: Choice | None, instructions: str, *, new_plan: bool) -> Answer:
    """What is done. Raises QuestionError where somebody has to say so first."""
    case = found.decision.case
    if case == "A":
        return "C" if instructions.strip() else "auto"
    if choice is None and instructions.strip():
        choice = "C"
    if choice is None:
        options = "; ".join(f"{one.key}: {one.title}, {one.effect}" for one in found.decision.options)
        raise QuestionError(
            f"how should it continue? {options}", "answer with --choose A, B or C (C with --instructions)"
        )
    if choice == "C" and not instructions.strip():
        raise QuestionError("your own instructions are needed", "give them with --instructions TEXT")
    if case == "C" and choice == "A":
        return "restart A"
    if case == "C" and choice == "B":
        if not new_plan:
            raise UsageError("a restart with a new plan needs that plan", "give it with --plan FILE")
        return "restart B"
    return choice
