"""Features in the daemon: start a run, resume one, show its state, end it. One live run per feature."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

import msgspec

from rekindle.agents.base.kind import AgentKind
from rekindle.app.feature_decision import carry_out, ensure_team, given_up, start_of, tell_plan
from rekindle.app.feature_finished import finished
from rekindle.app.feature_refusals import (
    no_plan,
    refuse_checked_out,
    refuse_leftovers,
    refuse_missing_agents,
    refuse_missing_programs,
    refuse_open_run,
    refuse_outdated,
    refuse_unwritable,
)
from rekindle.app.feature_resume import ResumedFeature, answer, ensure_approved, look, mode_of, team_of, told, unlocked
from rekindle.app.feature_strays import Answers, refuse_unanswered
from rekindle.app.feature_view import RunView, view
from rekindle.app.journals import JournalWriters
from rekindle.app.requests import FeatureResumeRequest, PlanRequest
from rekindle.app.run_events import WrittenRunEvents
from rekindle.app.service import check_permission, limits_of
from rekindle.core.feature.modes import MODES, Mode
from rekindle.core.feature.plan import BadPlan, Plan, Task
from rekindle.core.feature.plan_file import PARALLEL, PlanFile, parse
from rekindle.core.feature.staffing import RunTerms, staffed
from rekindle.core.feature.talks import signed
from rekindle.core.journal import event as ev
from rekindle.core.session.choices import PERMISSIONS
from rekindle.core.session.state import TERMINAL, Session
from rekindle.core.session.values import Limits
from rekindle.ports.conversations import Conversations
from rekindle.ports.errors import NoOpenRun, OwnedError, RekindleError, UsageError
from rekindle.ports.feature import CheckCommands, ResumableGit
from rekindle.ports.teams import AgentTeams
from rekindle.ports.workplace import SessionPlaces
from rekindle.ports.workspace import HeldFeature, Workspace
from rekindle.runtime.ending import end_agent
from rekindle.runtime.feature.run import RunOrder, RunPorts
from rekindle.runtime.feature.runner import FeatureRunner, RunEnd
from rekindle.runtime.outbox import Outbox
from rekindle.runtime.supervisor import Supervisor

log = logging.getLogger(__name__)
_NO_TERMS = RunTerms()


class BegunFeature(msgspec.Struct, frozen=True):
    """A run in progress and how much there is to do; or the run that already `finished` all of it."""

    feature: str
    sid: str
    tasks: int
    waves: int
    finished: RunView | None = None


@dataclass(frozen=True)
class FeaturePorts:
    """What features are run with: how sessions are started and read, and which agents exist.

    `program_of` finds an agent's program on the PATH of an environment. `arrive` registers a repository at its
    current place and returns its id; see `rekindle.app.relocation`. `new_sid` names a new run.
    """

    supervisor: Supervisor
    journals: JournalWriters
    outbox: Outbox
    open_here: Callable[[str], Workspace]
    arrive: Callable[[Workspace], Awaitable[tuple[str, list[str]]]]
    places: SessionPlaces
    commands: CheckCommands
    conversations: Conversations
    teams: AgentTeams
    kinds: Mapping[str, AgentKind]
    program_of: Callable[[AgentKind, Mapping[str, str]], str | None]
    default_agent: str
    new_sid: Callable[[], str] = lambda: secrets.token_hex(4)


@dataclass
class _Live:
    runner: FeatureRunner
    task: asyncio.Task[None]


class RunWatcher(Protocol):
    """Is told when a run begins and ends. Raises nothing that should end the run."""

    async def began(self, order: RunOrder) -> None:
        """A run is driven from now on."""
        ...

    async def ended(self, order: RunOrder, end: RunEnd | None) -> None:
        """A run is over; None: it could not go on."""
        ...


class Features:
    """The features of one daemon. `watcher` is told about their runs."""

    def __init__(self, ports: FeaturePorts) -> None:
        self._ports = ports
        self._live: dict[tuple[str, str], _Live] = {}
        self._runs: dict[tuple[str, str], str] = {}
        ports.supervisor.engine.run_of = self._run_of
        self.watcher: RunWatcher | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a run is in progress."""
        return any(not live.task.done() for live in self._live.values())

    def is_driven(self, repository: str, feature: str) -> bool:
        """Whether a run of this feature is in progress here."""
        live = self._live.get((repository, feature))
        return live is not None and not live.task.done()

    async def known_as(self, repository: str) -> str:
        """The id of a repository at its current place."""
        id_, _ = await self._ports.arrive(self._ports.open_here(repository))
        return id_

    async def close(self) -> None:
        """Release every run without ending it: it is interrupted and can be resumed."""
        for live in self._live.values():
            live.task.cancel()
        for live in self._live.values():
            await asyncio.wait([live.task])

    async def begin(self, asked: PlanRequest) -> BegunFeature:
        """Start a feature from the text of a plan file, unless that plan was finished before."""
        given = _parsed(asked.plan, asked.name)
        chosen = _mode(asked.mode) or given.mode
        here = self._ports.open_here(asked.cwd)
        size = len(given.plan.tasks), len(given.plan.waves)
        if not asked.again and (before := await self._finished(here, given)) is not None:
            return BegunFeature(given.feature, before.sid, *size, before)
        refuse_unwritable(given.plan)
        terms = self._terms(asked)
        plan = staffed(given.plan, terms.agent)
        self._check_agents(plan)
        self._refuse_missing_agents(plan.tasks, asked.env)
        refuse_missing_programs(plan, chosen, asked.env)
        id_, _ = await self._ports.arrive(here)
        git = here.git(given.feature)
        here.writable(given.feature).close()
        await self._refuse_begun(here, git, given.feature)
        await asyncio.to_thread(git.check_base, given.base)
        sid = self._ports.new_sid()
        order = self._order(here, id_, asked, given.feature, sid, plan, chosen, terms, given.parallel, given.base)
        held = self._hold(here, given.feature, sid)
        try:
            await self._refuse_begun(here, git, given.feature, lock_is_ours=True)
            await asyncio.to_thread(git.choose_base, given.base)
            await asyncio.to_thread(git.commit_as, asked.env)
            held.claim()
            tell = self._events(order).tell()
            await tell(ev.SESSION_START, start_of(order, git.branch, "implement"), "start")
            await tell_plan(tell, plan)
            self._drive(order, git, here, held)
        except BaseException:
            held.release()
            raise
        return BegunFeature(given.feature, sid, *size)

    async def resume(self, asked: FeatureResumeRequest) -> ResumedFeature:
        """Resume a feature's run: decide, reconcile, continue."""
        feature = asked.feature
        here = self._ports.open_here(asked.cwd)
        self._refuse_live(here, feature)
        id_, _ = await self._ports.arrive(here)
        here.existing(feature).close()
        here.writable(feature).close()
        sid = self._ports.new_sid()
        held = self._hold(here, feature, sid)
        try:
            found = await asyncio.to_thread(look, here, feature, id_, lock_is_ours=True)
            refuse_outdated(found, asked.seen)
            ensure_approved(here, found, asked.trust)
            terms = self._terms(asked, found.terms)
            given = staffed(_parsed(asked.plan, asked.name).plan, terms.agent) if asked.plan is not None else None
            refuse_unwritable(given or found.plan)
            chosen = answer(feature, found.outlook, asked.choice, asked.instructions, new_plan=given is not None)
            strays = Answers(asked.take, asked.leave)
            refuse_unanswered(found, chosen, strays)
            self._refuse_at_work(here, feature, (*asked.take, *asked.leave))
            work = given if chosen == "restart B" else found.plan
            if work is None:
                raise no_plan(feature, can_restart=found.outlook.decision.case == "C")
            refuse_checked_out(found.git.branch, found.elsewhere)
            begun = (
                () if chosen.startswith("restart") else {name for name, one in found.progress.items() if one.has_branch}
            )
            self._refuse_missing_agents([task for task in work.tasks if task.id not in begun], asked.env)
            order = self._order(here, id_, asked, feature, sid, work, mode_of(found), terms, PARALLEL)
            removed = await asyncio.to_thread(unlocked, found, remove=asked.remove_locks)
            await asyncio.to_thread(found.git.commit_as, asked.env)
            held.claim()
            await self._end_agents(order, given_up(found, chosen))
            tell = self._events(order).tell()
            order, warnings = await carry_out(order, found, chosen, asked.instructions, tell, strays, removed)
            stands = ensure_team(self._ports.teams, order, found.progress, team_of(found))
            self._drive(order, found.git, here, held)
        except BaseException:
            held.release()
            raise
        about = {**msgspec.structs.asdict(told(found, chosen)), "warnings": [*found.outlook.warnings, *warnings]}
        return ResumedFeature(**about, resumes=found.analysis.sid, sid=sid, team=stands, choice=chosen)

    async def state(self, *, cwd: str, feature: str) -> RunView:
        """The state of a feature's run."""
        here = self._ports.open_here(cwd)
        live = self._live.get((here.repository.root, feature))
        if live is None:
            raise NoOpenRun(f"no run of {feature} is under way here", f"see `rekindle analyze {feature}`")
        return view(live.runner, is_over=live.task.done(), now=self._ports.supervisor.engine.clock())

    async def stop(self, *, cwd: str, feature: str) -> RunView:
        """End a feature's run: user_cancelled."""
        here = self._ports.open_here(cwd)
        live = self._live.get((here.repository.root, feature))
        if live is None or live.task.done():
            raise NoOpenRun(f"no run of {feature} is under way here", "`rekindle` shows what is running")
        live.runner.cancel()
        await asyncio.wait([live.task])
        return view(live.runner, is_over=True, now=self._ports.supervisor.engine.clock())

    def _run_of(self, session: Session) -> str | None:
        return self._runs.get((session.repository or "", session.feature or ""))

    def _refuse_live(self, here: Workspace, feature: str) -> None:
        live = self._live.get((here.repository.root, feature))
        if live is not None and not live.task.done():
            raise OwnedError(f"{feature} is already running", f"watch it: rekindle attach {feature}")

    def _refuse_at_work(self, here: Workspace, feature: str, tasks: Collection[str]) -> None:
        """An agent's work is taken or left once it has finished: until then the worktree belongs to the agent."""
        for session in self._ports.supervisor.engine.at_hand():
            ours = session.repository == here.repository.root and session.feature == feature
            if ours and session.task in tasks and session.is_up and session.turn is not None:
                raise OwnedError(f"the agent of task {session.task} is at work", "resume without --take and --leave")

    async def _refuse_begun(
        self, here: Workspace, git: ResumableGit, feature: str, *, lock_is_ours: bool = False
    ) -> None:
        """Start a feature once: check first without its lock, so that a refusal leaves nothing behind, then with it."""
        self._refuse_live(here, feature)
        refuse_open_run(here, feature, lock_is_ours=lock_is_ours)
        refuse_leftovers(here, feature, await asyncio.to_thread(git.observe, {}))

    async def _finished(self, here: Workspace, given: PlanFile) -> RunView | None:
        """The run that already finished this plan. An open run has not finished it."""
        self._refuse_live(here, given.feature)
        refuse_open_run(here, given.feature, lock_is_ours=False)
        return await asyncio.to_thread(finished, here, given.feature, given.plan)

    async def _end_agents(self, order: RunOrder, tasks: Collection[str]) -> None:
        """Agents may have outlived the daemon: those of tasks that start over or are left out are no longer needed."""
        supervisor = self._ports.supervisor
        for session in await supervisor.engine.all_sessions():
            ours = session.repository == order.repository and session.feature == order.feature
            if ours and session.task in tasks and session.attempts and session.state not in TERMINAL:
                await end_agent(supervisor, session.id, by=signed(order.feature), to="cancelled")

    def _check_agents(self, plan: Plan) -> None:
        """Every agent that a plan file names must exist. In a journal, it is a role that the default agent can fill."""
        for task in plan.tasks:
            for agent in (task.agent, task.reviewer):
                if agent and agent not in self._ports.kinds:
                    there = ", ".join(self._ports.kinds)
                    raise UsageError(f"task {task.id!r} wants an agent {agent!r}", f"there are: {there}")

    def _refuse_missing_agents(self, tasks: Collection[Task], env: Mapping[str, str]) -> None:
        """Agents that have not been started yet must be installed: they get the caller's environment."""
        kinds = self._ports.kinds
        wanted = [(task.id, name) for task in tasks for name in (task.agent, task.reviewer) if name in kinds]
        refuse_missing_agents(
            [(task, kinds[name]) for task, name in wanted], lambda kind: self._ports.program_of(kind, env)
        )

    def _terms(self, asked: PlanRequest | FeatureResumeRequest, recorded: RunTerms = _NO_TERMS) -> RunTerms:
        """The terms of a run: what the caller asks for, then what is on record, then the built-in defaults."""
        if asked.agent and asked.agent not in self._ports.kinds:
            raise UsageError(f"there is no agent {asked.agent!r}", f"there are: {', '.join(self._ports.kinds)}")
        if asked.permission:
            check_permission(asked.permission)
        limits_of(asked.limits, Limits())
        given = RunTerms(asked.agent, asked.permission, asked.limits)
        return given.over(recorded).over(RunTerms(self._ports.default_agent, PERMISSIONS[0]))

    def _order(
        self,
        here: Workspace,
        repository_id: str,
        asked: PlanRequest | FeatureResumeRequest,
        feature: str,
        sid: str,
        plan: Plan,
        mode: Mode,
        terms: RunTerms,
        parallel: int,
        base: str = "",
    ) -> RunOrder:
        jobs = asked.jobs or parallel
        if jobs < 1:
            raise UsageError(f"{jobs} tasks in parallel is not a valid number", "give at least 1")
        root = here.repository.root
        return RunOrder(root, feature, sid, plan, mode, jobs, asked.env, terms, base, repository_id)

    def _hold(self, here: Workspace, feature: str, sid: str) -> HeldFeature:
        held = here.hold(feature, sid)
        if held is None:
            raise OwnedError(f"another process holds {feature}", "`rekindle` shows which")
        return held

    def _events(self, order: RunOrder) -> WrittenRunEvents:
        ports = self._ports
        return WrittenRunEvents(order.repository, order.feature, order.sid, ports.journals, ports.outbox)

    def _drive(self, order: RunOrder, git: ResumableGit, here: Workspace, held: HeldFeature) -> None:
        """Start driving a run, which holds the feature from then on. If this raises, the run has not started."""
        ports = self._ports
        tools = RunPorts(
            git,
            ports.supervisor,
            self._events(order),
            ports.places,
            ports.commands,
            ports.conversations,
            ports.kinds,
        )
        runner = FeatureRunner(order, tools, here.existing(order.feature).proven)

        async def drive() -> None:
            end: RunEnd | None = None
            try:
                await self._told(lambda watcher: watcher.began(order))
                end = await runner.drive()
            except Exception:
                log.exception("%s: its run could not go on; it can be resumed", order.feature)
            finally:
                self._runs.pop((order.repository, order.feature), None)
                held.release()
            await self._told(lambda watcher: watcher.ended(order, end))

        git.keep_untracked()
        self._runs[order.repository, order.feature] = order.sid
        self._live[order.repository, order.feature] = _Live(runner, asyncio.ensure_future(drive()))

    async def _told(self, tell: Callable[[RunWatcher], Awaitable[None]]) -> None:
        """Tell the watcher. What goes wrong there does not concern the run."""
        if self.watcher is not None:
            try:
                await tell(self.watcher)
            except RekindleError as error:
                log.warning("what a run does could not be recorded: %s", error.message)


def _parsed(text: str, name: str) -> PlanFile:
    try:
        return parse(text.encode("utf-8", "surrogateescape"), name)
    except BadPlan as error:
        raise UsageError(error.message, error.hint, code="bad_plan") from error


def _mode(given: str | None) -> Mode | None:
    found = next((mode for mode in MODES if mode == given), None)
    if found is None and given is not None:
        raise UsageError(f"{given!r} is not a mode", f"it is one of: {', '.join(MODES)}")
    return found
