"""What a resume of a feature finds and would do, and how to show it. Needs no daemon, changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import msgspec

from rekindle.agents.registry import AGENTS
from rekindle.app.requests import Choice
from rekindle.core.feature.evidence import GitEvidence
from rekindle.core.feature.modes import MODES, Mode
from rekindle.core.feature.naming import session_id
from rekindle.core.feature.orders import orders
from rekindle.core.feature.outlook import Outlook, after_answer, before_answer, outlook
from rekindle.core.feature.plan import BadPlan, Plan
from rekindle.core.feature.plan_event import from_event
from rekindle.core.feature.progress import TaskProgress, progress
from rekindle.core.feature.records import named_branches, recorded_trees
from rekindle.core.feature.staffing import RunTerms, recorded_terms, terms_of_resume, unstaffed
from rekindle.core.feature.stray_questions import listed
from rekindle.core.feature.strays import Stray
from rekindle.core.git_locks import Lock, remedy
from rekindle.core.journal.analysis import Analysis
from rekindle.core.journal.lineage import status_of
from rekindle.core.terminal_text import quoted
from rekindle.ports.errors import NoOpenRun, OwnedError, QuestionError, UsageError
from rekindle.ports.feature import ResumableGit
from rekindle.ports.identity import RepositoryIdentities
from rekindle.ports.teams import AgentTeams
from rekindle.ports.workspace import Workspace

_LONGEST_INSTRUCTIONS = 64 * 1024
#: The fewest characters with which an approval names what it approves.
SHORTEST_YES = 8
#: What to do: continue without a question, one of the three options, or restart with the old or a new plan.
Answer = Literal["auto", "A", "B", "C", "restart A", "restart B"]


@dataclass(frozen=True)
class FoundFeature:
    """A feature that could be resumed. `unapproved` is a fingerprint of instructions not yet approved here."""

    feature: str
    analysis: Analysis
    git: ResumableGit
    plan: Plan | None
    progress: dict[str, TaskProgress]
    outlook: Outlook
    elsewhere: str | None
    unapproved: str | None
    repository_id: str = ""
    strays: dict[str, tuple[Stray, ...]] = field(default_factory=dict)
    locks: tuple[Lock, ...] = ()
    terms: RunTerms = field(default_factory=RunTerms)

    @property
    def settled(self) -> frozenset[str]:
        """The tasks that are merged or skipped."""
        return frozenset(row.name for row in self.outlook.tasks if row.action in ("done", "skipped"))


def look(here: Workspace, feature: str, known_as: str, *, lock_is_ours: bool = False) -> FoundFeature:
    """Examine a feature that nobody is running. Raises OwnedError if somebody does, NoOpenRun if nothing is left to do.

    `known_as` is the repository's id.
    """
    analysis, owner = here.analysis(feature, lock_is_ours=lock_is_ours)
    if owner is not None:
        where = f"by pid {owner.pid}" if owner.verdict == "alive" else "on another host; only that host can tell"
        watch = f"it needs no resume while it is held; watch it: rekindle attach {quoted(feature)}"
        raise OwnedError(f"run {owner.sid} of {feature} is held {where}", watch)
    run = analysis.run
    if run is None:
        raise NoOpenRun(f"{feature} has nothing to resume: it has no run yet", "start it: rekindle run --plan FILE")
    if run.ended and run.end_reason == "completed":
        hint = f"see what was done: rekindle analyze {quoted(feature)}"
        raise NoOpenRun(f"{feature} has nothing to resume: its run {run.sid} is completed", hint)
    try:
        plan = from_event(analysis.state.plan)
    except BadPlan as error:
        raise UsageError(f"the plan of {feature} cannot be used: {error.message}", error.hint) from error
    runs = [analysis.journal.sids[sid] for sid in analysis.lineage]
    known = progress(feature, plan, runs) if plan else {}
    named = named_branches(runs)
    git = here.git(feature, named)
    seen = git.observe(known, recorded_trees(runs))
    begun = [name for name, one in known.items() if one.has_branch and not one.merged]
    sessions = {name: _session(known_as, feature, name, known[name]) for name in begun}
    snapshots = git.with_snapshots({session: known[name].branch for name, session in sessions.items()})
    seen = _with_fallen(seen, git, sessions, known)
    kept = frozenset(name for name, session in sessions.items() if session in snapshots)
    found = outlook(analysis, plan, known, seen, kept, named)
    unapproved = here.unapproved(feature, analysis.lineage)
    return FoundFeature(
        feature,
        analysis,
        git,
        plan,
        known,
        found,
        seen.elsewhere,
        unapproved,
        known_as,
        seen.strays,
        tuple(git.locks()),
        recorded_terms(runs, AGENTS),
    )


def _with_fallen(
    seen: GitEvidence, git: ResumableGit, sessions: Mapping[str, str], known: Mapping[str, TaskProgress]
) -> GitEvidence:
    """The evidence with the branches that are gone and that only a snapshot remembers."""
    gone = {name: one for name, one in sessions.items() if known[name].branch not in seen.branches}
    found = git.fallen_in_snapshots({session: known[name].branch for name, session in gone.items()}) if gone else {}
    remembered = {name: found[session] for name, session in gone.items() if session in found}
    return msgspec.structs.replace(seen, fallen={**remembered, **seen.fallen}) if remembered else seen


def session_of(found: FoundFeature, task: str) -> str:
    """The session that works on a task."""
    return _session(found.repository_id, found.feature, task, found.progress[task])


def _session(repository: str, feature: str, task: str, one: TaskProgress) -> str:
    return session_id(repository, feature, one.epoch, task, "work")


class FeatureOutlook:
    """Says what a resume would do. `settings` are the terms that the user set, `built_in` the defaults."""

    def __init__(
        self,
        identities: RepositoryIdentities,
        teams: AgentTeams,
        settings: Callable[[], RunTerms],
        built_in: RunTerms,
    ) -> None:
        self._identities = identities
        self._teams = teams
        self._settings = settings
        self._built_in = built_in

    def explain(self, here: Workspace, feature: str, home: str) -> ExplainedFeature:
        """All that a resume would do."""
        found = look(here, feature, self._repository_id(here))
        plan = found.plan
        wished = terms_of_resume(found.terms, self._settings())
        terms = wished.over(self._built_in)
        agent = terms.agent
        needed = [task.agent or agent for task in plan.tasks] if plan is not None else []
        return ExplainedFeature(
            **msgspec.structs.asdict(told(replace(found, outlook=before_answer(found.outlook)))),
            team=self._teams.look(home, team_of(found), needed) if home else "missing",
            has_plan=plan is not None,
            orders=orders(plan, found.progress, mode_of(found), AGENTS, agent) if plan is not None else None,
            unapproved=found.unapproved,
            terms=msgspec.to_builtins(terms),
            unstaffed=list(unstaffed(plan, AGENTS)) if plan is not None else [],
            agent_from="record" if found.terms.agent else "settings" if wished.agent else "built in",
        )

    def _repository_id(self, here: Workspace) -> str:
        """The repository's identity: its id, or one derived from its path while it has none."""
        found = self._identities.find(here.repository)
        return found.id if found is not None and found.verdict != "copy" else self._identities.by_path(here.repository)


def team_of(found: FoundFeature) -> str:
    """The team's name: from the newest run that gives one, else the feature's."""
    starts = (found.analysis.journal.sids[sid].start for sid in reversed(found.analysis.lineage))
    return next((start.team for start in starts if start is not None and start.team), found.feature)


def mode_of(found: FoundFeature) -> Mode:
    """How strictly the interrupted run checked."""
    start = found.analysis.run.start if found.analysis.run is not None else None
    given = start.mode if start is not None else None
    return next((mode for mode in MODES if mode == given), "standard")


def ensure_approved(here: Workspace, found: FoundFeature, yes: str) -> None:
    """Refuse work that nobody here has approved. `yes` is (the beginning of) the fingerprint that was shown."""
    if found.unapproved is not None:
        check_yes(found.feature, found.unapproved, yes)
        here.approve(found.feature, found.unapproved)


def check_yes(feature: str, unapproved: str, yes: str) -> None:
    """Raises QuestionError unless somebody approved exactly these instructions."""
    if len(yes) >= SHORTEST_YES and unapproved.startswith(yes):
        return
    again = f"rekindle resume {quoted(feature)}"
    changed = "; it has changed since you approved it" if yes else ""
    raise QuestionError(
        f"the journal of {feature} was not written by your rekindle on this machine{changed}: "
        "may its commands and prompts run?",
        f"see them: {again} --explain; approve them: {again} --trust {unapproved[:12]}",
        code="not_approved",
    )


def unlocked(found: FoundFeature, *, remove: bool) -> list[str]:
    """Remove blocking locks of dead processes, with approval; returns what was removed.

    Raises OwnedError for a lock whose owner may be alive, QuestionError without approval.
    """
    held = [lock for lock in found.locks if not lock.may_go]
    if held:
        raise OwnedError(f"git is locked by {held[0].sentence}", "wait for that process, or end it; then resume")
    if found.locks and not remove:
        listed = "; ".join(lock.sentence for lock in found.locks)
        raise QuestionError(f"a killed git left lock files: {listed}. Remove them?", remedy(found.feature))
    return [lock.sentence for lock in found.locks if found.git.remove_lock(lock)]


class FoundView(msgspec.Struct, frozen=True, kw_only=True):
    """What was found about a feature that could be resumed, as plain values."""

    feature: str
    branch: str
    run: str | None
    case: str
    checkpoint: dict[str, Any] | None
    next_step: str | None
    options: list[dict[str, str]]
    issues: list[dict[str, Any]]
    affected: list[str]
    lost: list[str]
    locks: list[str]
    active_agents: list[str]
    warnings: list[str]
    strays: list[dict[str, Any]]
    tasks: list[dict[str, Any]]
    states: dict[str, str]
    branches: list[dict[str, Any]]
    worktrees: list[dict[str, Any]]


class ExplainedFeature(FoundView, frozen=True, kw_only=True):
    """All that a resume would do. `unapproved` names the approval that it needs first.

    `terms` are what new sessions get; its agent works on tasks that name no agent of ours (`unstaffed`).
    """

    team: str
    has_plan: bool
    orders: dict[str, Any] | None
    unapproved: str | None
    terms: dict[str, Any]
    unstaffed: list[str]
    agent_from: Literal["record", "settings", "built in"]


class ResumedFeature(FoundView, frozen=True, kw_only=True):
    """What a resume has decided: the run `sid` continues the run `resumes`."""

    resumes: str | None
    sid: str
    team: str
    choice: str


def told(found: FoundFeature, chosen: Answer = "auto") -> FoundView:
    """What was found, as plain values; tasks as they are after the answer, if one was given."""
    decision, state = found.outlook.decision, found.analysis.state
    checkpoint = state.checkpoint
    rows = {name: [asdict(row) for row in getattr(found.outlook, name)] for name in ("branches", "worktrees")}
    issues = [
        {
            name: getattr(issue, name)
            for name in ("sid", "seq", "type", "task", "message", "place", "attempts", "resolved")
        }
        for issue in found.outlook.issues
    ]
    return FoundView(
        feature=found.feature,
        branch=found.git.branch,
        run=found.analysis.sid,
        case=decision.case,
        checkpoint=None if checkpoint is None else {"label": checkpoint.label, "seq": checkpoint.seq},
        next_step=decision.next_step,
        options=[{"key": one.key, "title": one.title, "effect": one.effect} for one in decision.options],
        issues=issues,
        affected=list(found.outlook.affected),
        lost=list(found.outlook.lost),
        locks=[lock.sentence for lock in found.locks],
        active_agents=[_agent(name, found) for name in state.active_agents],
        warnings=list(found.outlook.warnings),
        strays=listed(found.progress, found.strays, found.settled),
        tasks=[asdict(row) for row in after_answer(found.outlook, chosen)],
        states={name: status_of(task) for name, task in state.tasks.items()},
        **rows,
    )


def _agent(name: str, found: FoundFeature) -> str:
    """An agent with the task and branch it was working on, if the journal says so."""
    for task, one in found.progress.items():
        work = found.analysis.state.tasks.get(task)
        ours = name.endswith(_session(found.repository_id, found.feature, task, one))
        if ours or (work is not None and work.agent == name):
            return f"{name} (task {task}, branch {one.branch})"
    return name


def answer(feature: str, found: Outlook, choice: Choice | None, instructions: str, *, new_plan: bool) -> Answer:
    """What to do. Raises QuestionError if a person has to decide first."""
    if len(instructions.encode("utf-8", "surrogatepass")) > _LONGEST_INSTRUCTIONS:
        most = f"{_LONGEST_INSTRUCTIONS} bytes are the most"
        raise UsageError(f"these instructions are too long ({most})", "put them into a file, and name that file")
    again = f"rekindle resume {quoted(feature)} --choose"
    case = found.decision.case
    if case == "A":
        return "C" if instructions.strip() else "auto"
    if choice is None and instructions.strip():
        choice = "C"
    if choice is None:
        options = "; ".join(f"{one.key}: {one.title}, {one.effect}" for one in found.decision.options)
        more = {"A": "", "B": " --plan FILE" if case == "C" else "", "C": " --instructions TEXT"}
        ways = "; ".join(f"{again} {one.key}{more[one.key]}" for one in found.decision.options)
        hint = f"answer with one of: {ways}" if len(found.decision.options) > 1 else f"answer: {ways}"
        raise QuestionError(f"how should it continue? {options}", hint)
    if choice == "C" and not instructions.strip():
        raise QuestionError("your own instructions are needed", f"give them: {again} C --instructions TEXT")
    if case == "C" and choice == "A":
        return "restart A"
    if case == "C" and choice == "B":
        if not new_plan:
            raise UsageError("a restart with a new plan needs the plan file", f"give it: {again} B --plan FILE")
        return "restart B"
    return choice
