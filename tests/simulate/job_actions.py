"""What happens in a night of jobs: they are submitted in the evening, and the machine comes back by itself."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

from rekindle.app.requests import JobRequest
from rekindle.core.job.order import ONLY_STEP, JobOrder, StepOrder, session_of
from rekindle.core.job.rules import job_rules
from rekindle.core.runbook.limits import Limits
from rekindle.core.runbook.runbook import Reactions
from tests.simulate.actions import Action
from tests.simulate.house import AGENT, House, Request
from tests.simulate.machine_actions import MachineActions
from tests.simulate.stage import Client

_PIECES = ("say", "tool", "tool", "build", "build", "ask")
_ENDS = ("", "", "", "", "", "", "broken", "overflow", "hang")
#: How long the machine takes to start, and how long systemd waits before it starts a daemon again.
_BOOT, _AGAIN = 40.0, 2.0


def some_order(random: Random, number: int) -> JobOrder:
    """A job as somebody submits it in the evening."""
    policy = random.choice(("continue", "continue", "continue", "continue", "ask", "never"))
    limits = Limits(turn_seconds=random.choice((None, 300.0, 1800.0)), stall_seconds=240.0)
    names = (ONLY_STEP,) if random.random() < 0.8 else ("first", "second")
    steps = []
    for place, name in enumerate(names):
        words = [random.choice(_PIECES) for _ in range(random.randint(1, 4))]
        text = f"p{700 + 2 * number + place}: {' '.join([*words, random.choice(_ENDS)]).strip()}"
        rules = job_rules(policy, Reactions(), limits)
        permission = "all" if random.random() < 0.8 else "ask"
        steps.append(
            StepOrder(name, text, AGENT, names[:place], "/", permission=permission, rules=rules, limits=limits)
        )
    return JobOrder(
        tuple(steps),
        policy=policy,
        resume=random.random() < 0.85,
        retries=random.choice((0, 1, 3, 6)),
        timeout=limits.turn_seconds,
        max_resumes=random.choice((None, None, 1, 3)),
        priority=random.choice((-1, 0, 0, 1)),
    )


class JobActions(MachineActions):
    """`orders` are the jobs that were submitted, by id."""

    def do_jobs(self, action: Action) -> None:
        """Somebody submits jobs, and goes to bed."""
        self.world.has_jobs = True
        number, name = action.arg.split()
        random = Random(f"jobs {name}")
        for count in range(int(number)):
            job, order = f"j{len(self.orders) + 1:08x}", some_order(random, count)
            self.orders[job] = order
            self.permissions |= {session_of(job, one.name): one.permission for one in order.steps}
            asked = JobRequest(job=job, order=order, env={}, by="the user")
            self.ask(self.clients[action.client], "submit", job, Request("submit", _submitting(asked)))

    def do_limit(self, action: Action) -> None:
        """The service has a limit, which all sessions share."""
        self.world.limit_ends = self.time.now + float(action.arg)

    def do_power_cut(self, action: Action) -> None:
        """The machine goes down, and comes back with its daemon."""
        self.do_reboot(action)
        self.time.run(_BOOT)
        self.start_daemon()

    def do_crash_daemon(self, action: Action) -> None:
        """The daemon is killed, and systemd starts it again."""
        self.do_kill_daemon(action)
        self.time.run(_AGAIN)
        _ = self.house

    def do_job_cancel(self, action: Action) -> None:
        if (job := self._job(action)) is not None:
            self.wants_cancelled.add(job)
            client = self.clients[action.client]
            request = Request("job_cancel", lambda house: house.job_service.cancel(job, client.name))
            self.ask(client, "job_cancel", job, request)

    def do_job_retry(self, action: Action) -> None:
        if (job := self._job(action)) is not None:
            resume = {"resume": True, "fresh": False}.get(action.arg)
            self.retry_job(self.clients[action.client], job, resume=resume)

    def retry_job(self, client: Client, job: str, *, resume: bool | None = None) -> Request:
        """A client tries a job again."""
        request = Request("job_retry", lambda house: house.job_service.retry(job, client.name, resume))
        return self.ask(client, "job_retry", job, request)

    def _job(self, action: Action) -> str | None:
        jobs = list(self.orders)
        return jobs[action.who % len(jobs)] if jobs else None


def _submitting(asked: JobRequest) -> Callable[[House], Coroutine[Any, Any, Any]]:
    return lambda house: house.job_service.submit(asked)
