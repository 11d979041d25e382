"""Jobs from the command line's side: what was typed, and what a runbook says, become one order for the daemon."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from rekindle.app.fleet_ordering import Head, of_fleet
from rekindle.app.requests import JobRequest
from rekindle.app.runbooks import Runbooks, digest
from rekindle.core.fleet.needs import fleet_job
from rekindle.core.job.order import ONLY_STEP, JobOrder, StepOrder
from rekindle.core.job.rules import job_rules
from rekindle.core.runbook.limits import Limits
from rekindle.core.runbook.runbook import AgentRun, Reactions
from rekindle.ports.calendar import Calendar
from rekindle.ports.daemon import Daemon
from rekindle.ports.errors import UsageError, not_in_fleet
from rekindle.ports.workspace import Checkout


class JobTerms(msgspec.Struct, frozen=True):
    """What was typed. `limits` has only what was given, by the names of `runbook.limits.Limits`.

    `usual` are the limits that hold where neither the command line nor a runbook has one: the user's settings.
    `words` are the prompt, or with a runbook the agent or step and the prompt. `runbook` is (name, content).
    `fleet`: any host that has what the job `needs` may do it.
    """

    words: tuple[str, ...] = ()
    runbook: tuple[str, bytes] | None = None
    agent: str = ""
    model: str | None = None
    permission: str | None = None
    cwd: str = "."
    arguments: tuple[str, ...] = ()
    title: str = ""
    limits: dict[str, float | int] = {}
    usual: dict[str, float | int] = {}
    policy: str = "continue"
    resume: bool = True
    retries: int = 3
    at: str | None = None
    every: str | None = None
    zone: str = ""
    worktree: str | None = None
    fleet: bool = False
    needs: tuple[str, ...] = ()


class JobSubmitting:
    """Submits jobs to the daemon, and asks it about them. Raises RekindleError."""

    def __init__(
        self,
        daemon: Daemon,
        runbooks: Runbooks,
        calendar: Calendar,
        find: Callable[[str], Checkout | None],
        worktrees_dir: Callable[[str | None], str | None],
        environment: Mapping[str, str],
        head: Head = lambda _top: None,
        is_shared: Callable[[], bool] = lambda: True,
    ) -> None:
        """`is_shared`: whether this is a host of a fleet."""
        self._daemon = daemon
        self._runbooks = runbooks
        self._calendar = calendar
        self._find = find
        self._worktrees_dir = worktrees_dir
        self._environment = environment
        self._head = head
        self._is_shared = is_shared

    def submit(self, terms: JobTerms, job: str = "") -> dict[str, Any]:
        """Have the daemon take a job; returns its record. An id that is not given is made up."""
        steps, env, named = self._steps(terms)
        zone = terms.zone or self._calendar.local_zone()
        limits = {**{name: value for name, value in terms.usual.items() if name not in named}, **terms.limits}
        cwd = steps[0].cwd
        repo = self._find(cwd) if terms.worktree is not None and os.path.isdir(cwd) else None
        order = JobOrder(
            steps=tuple(steps),
            title=terms.title,
            policy=terms.policy,
            resume=terms.resume,
            retries=terms.retries,
            timeout=limits.get("turn_seconds", steps[0].limits.turn_seconds),
            max_cost=limits.get("cost", _only(steps).cost),
            max_age=limits.get("age_seconds", _only(steps).age_seconds),
            max_resumes=_whole(limits.get("resumes", _only(steps).resumes)),
            priority=int(limits.get("priority", _only(steps).priority)),
            not_before=self._calendar.moment(terms.at, zone, time.time()) if terms.at is not None else None,
            every=terms.every or "",
            zone=zone if terms.every is not None else "",
            worktree=terms.worktree,
            worktrees_dir=self._worktrees_dir(repo.root if repo is not None else None),
        )
        if terms.every is not None:  # a mistake is told before a daemon is started
            self._calendar.next_after(terms.every, zone, time.time())
        order = _bare(order, keeps_cost=order.max_cost is None)
        if terms.fleet:
            if not self._is_shared():
                raise not_in_fleet()
            if any(env.values()):
                raise UsageError("a runbook's environment does not travel to other hosts", "set it up on the hosts")
            shared = of_fleet(order, terms.needs, self._find, self._head)
            asked = JobRequest(job=job or fleet_job(secrets.token_hex(4)), order=shared, env={})
        else:
            job = job or f"j{secrets.token_hex(4)}"
            asked = JobRequest(job=job, order=order, env=dict(self._environment), step_env=env)
        found: dict[str, Any] = self._daemon.ask("job_submit", **msgspec.to_builtins(asked))["job"]
        return found

    def is_pipeline(self, name: str, content: bytes) -> bool:
        """Whether a runbook has steps, so that it can be run as a whole."""
        return bool(self._runbooks.check(content, name).steps)

    def listed(self, *, every: bool) -> list[dict[str, Any]]:
        """Jobs as the daemon shows them."""
        found: list[dict[str, Any]] = self._daemon.ask("job_list", every=every)["jobs"]
        return found

    def show(self, job: str) -> dict[str, Any]:
        """One job."""
        found: dict[str, Any] = self._daemon.ask("job_show", job=job)["job"]
        return found

    def retry(self, job: str, by: str, *, resume: bool | None, max_cost: float | None) -> dict[str, Any]:
        """Try a job again."""
        asked: dict[str, Any] = {"job": job, "by": by, "resume": resume, "max_cost": max_cost}
        found: dict[str, Any] = self._daemon.ask("job_retry", **asked)["job"]
        return found

    def cancel(self, job: str, by: str) -> dict[str, Any]:
        """End a job."""
        found: dict[str, Any] = self._daemon.ask("job_cancel", job=job, by=by)["job"]
        return found

    def wait(self, job: str, seconds: float) -> tuple[dict[str, Any], bool]:
        """A job, after at most this long, and whether it has ended or waits for a person."""
        told = self._daemon.ask("job_wait", job=job, seconds=seconds)
        return told["job"], bool(told["rested"])

    def _steps(self, terms: JobTerms) -> tuple[list[StepOrder], dict[str, dict[str, str]], set[str]]:
        """The steps, what each has in its environment besides, and which limits the runbook names."""
        if terms.runbook is None:
            agent = AgentRun(terms.agent, terms.agent, arguments=terms.arguments)
            own = self._runbooks.default()
            return [_step(terms, ONLY_STEP, terms.words[0], agent, own.reactions, "", "")], {}, set()
        name, content = terms.runbook
        source, mark = os.path.abspath(name), digest(content)
        own = self._runbooks.default()
        found = self._runbooks.check(content, name)
        if found.steps and not terms.words:
            made = [
                _step(terms, one.name, agent.told(one.prompt), agent, agent.reactions.over(own.reactions), source, mark)
                for one in found.steps
                for agent in [found.agents[one.agent]]
            ]
            needs = {one.name: one.needs for one in found.steps}
            env = {one.name: dict(found.agents[one.agent].env) for one in found.steps}
            named = {limit for one in found.steps for limit in found.agents[one.agent].limits}
            return [replace(one, needs=needs[one.name]) for one in made], env, named
        given = self._runbooks.given(content, name, list(terms.words))
        assert given.agent is not None
        step = _step(terms, ONLY_STEP, given.prompt, given.agent, given.reactions, source, mark)
        return [step], {ONLY_STEP: dict(given.agent.env)}, set(given.agent.limits)


def _step(
    terms: JobTerms, name: str, prompt: str, agent: AgentRun, reactions: Reactions, source: str, mark: str
) -> StepOrder:
    limits = replace(Limits(), **{**terms.usual, **agent.limits, **terms.limits})
    return StepOrder(
        name=name,
        prompt=prompt,
        agent=agent.kind,
        cwd=os.path.realpath(os.path.join(terms.cwd, agent.cwd) if agent.cwd else terms.cwd),
        model=terms.model or agent.model or None,
        permission=terms.permission or agent.permission,
        arguments=agent.arguments,
        program=agent.program if agent.program != agent.kind else "",
        limits=limits,
        rules=job_rules(terms.policy, reactions, limits),
        rules_source=source,
        rules_digest=mark,
    )


def _only(steps: list[StepOrder]) -> Limits:
    """The limits that a runbook gives to the job: those of its only step. Steps of a pipeline keep their own."""
    return steps[0].limits if len(steps) == 1 else Limits()


def _bare(order: JobOrder, *, keeps_cost: bool) -> JobOrder:
    """Without what the job sees to itself: its sessions are not to begin a new conversation on their own.

    `keeps_cost`: nothing limits the cost of the whole job, so what the runbook allows each step still holds.
    """
    steps = []
    for one in order.steps:
        cost = one.limits.cost if keeps_cost else None
        limits = replace(one.limits, age_seconds=None, resumes=None, cost=cost)
        rules = replace(one.rules, limits=limits) if one.rules is not None else None
        steps.append(replace(one, limits=limits, rules=rules))
    return replace(order, steps=tuple(steps))


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
