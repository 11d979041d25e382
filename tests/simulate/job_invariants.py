"""What must hold for jobs: each ends once, nothing of it goes on afterwards, and what it is called is true."""

from __future__ import annotations

from collections import Counter, defaultdict

from rekindle.core.job import facts as jf
from rekindle.core.job.machine import evolve
from rekindle.core.job.record import JobRecord, record
from rekindle.core.job.state import Job
from rekindle.core.session.history import request_of
from rekindle.core.session.state import Session
from tests.simulate.stage import Stage
from tests.simulate.violation import demand

#: So long an agent may live on after its job has ended: it is asked to end, and takes a moment.
_LATE = 30.0


class JobOracle:
    """Looks at the facts of jobs as they come, and at what truly happened in their sessions."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._world = stage.world
        self.jobs: dict[str, Job] = {}
        self._ends: Counter[str] = Counter()
        self.ends_in_all: Counter[str] = Counter()
        self._over_at: dict[str, float] = {}
        self._fresh: Counter[str] = Counter()
        self._retried: defaultdict[str, set[int]] = defaultdict(set)

    def fact(self, job: str, fact: jf.JobFact, when: float) -> None:
        """Something was recorded about a job."""
        before = self.jobs.get(job)
        after = self.jobs[job] = evolve(before, fact)
        match fact:
            case jf.JobOver() if before != after:
                self._ends[job] += 1
                self.ends_in_all[job] += 1
                demand(self._ends[job] == 1, f"{job} ended twice: it is {fact.how} ({fact.why})")
                self._over_at[job] = when
                self._is_true(after, fact)
            case jf.JobRetryAsked() | jf.JobTakenUp():
                self._ends[job] = 0
                self._over_at.pop(job, None)
            case jf.RetryWanted() if before != after:
                demand(fact.number not in self._retried[job], f"{job}: retry {fact.number} was decided twice")
                self._retried[job].add(fact.number)
                step = next(one for one in after.steps if one.order.name == fact.step)
                self._fresh[step.session or ""] += fact.how == "fresh"
            case jf.StepOver(how="done") if before != after:
                step = next(one for one in after.steps if one.order.name == fact.step)
                worked = self._world.turns_well[step.session or ""]
                demand(worked > 0, f"{job}: step {fact.step} is called done, and no turn of it ended well")
            case _:
                pass

    def _is_true(self, job: Job, fact: jf.JobOver) -> None:
        if fact.how == "done":
            left = [one.order.name for one in job.steps if one.status != "done"]
            demand(not left, f"{job.id} is done, and these steps are not: {', '.join(left)}")
        wanted = job.id in self._stage.wants_cancelled or any(
            one.session in self._stage.ended for one in job.steps if one.session
        )
        demand(fact.how != "cancelled" or wanted, f"{job.id} was cancelled, and nobody wanted that")
        demand(fact.how != "failed" or bool(fact.why), f"{job.id} has failed, and nobody is told why")

    def after_step(self) -> None:
        """Everything that must hold at any moment."""
        for what, job, request in self._stage.requests:
            if what == "submit" and request.state == "answered":
                demand(job in self.jobs, f"{job} was acknowledged, and is lost")
        self._prompts_once()
        self._ended_for_good()

    def _prompts_once(self) -> None:
        """A job's prompt is worked on once, and once more for each fresh start that was decided."""
        texts = {one.prompt for order in self._stage.orders.values() for one in order.steps}
        begun = Counter(
            (one.session, request_of(one.text)) for one in self._world.begun if one.is_shown and one.text in texts
        )
        for (session, text), times in begun.items():
            most = 1 + self._fresh[session]
            told = f"{session} was told {times} times: {text}; {self._fresh[session]} fresh starts were decided"
            demand(times <= most, told)

    def _ended_for_good(self) -> None:
        now = self._stage.time.now
        for job, since in self._over_at.items():
            for step in self.jobs[job].steps:
                lives = step.session is not None and self._world.is_taken(step.session)
                well = self._stage.served is not None and self._world.syncs == "fast" and not self._world.is_full
                told = f"{job} has ended, and the agent of its step {step.order.name} still lives"
                demand(not (lives and well) or now - since < _LATE, told)

    # what a person is told

    def shown(self, job: str, sessions: dict[str, Session]) -> JobRecord:
        """A job as lists show it."""
        found = self.jobs[job]
        own = {name: one for name, one in sessions.items() if one.job == job}
        return record(found, own, self._world.clock())

    def at_rest(self, sessions: dict[str, Session]) -> None:
        """After a long time in which nobody did anything: a job that cannot go on by itself says that it needs you."""
        for job in self.jobs:
            told = self.shown(job, sessions)
            if told.status != "waiting":
                continue
            knows = told.next_at is not None or (told.needs_you and bool(told.next))
            demand(knows, f"{job} waits ({told.why}), and says neither until when nor what to type")

    def at_end(self) -> None:
        """Every job has ended, once."""
        for job in self._stage.orders:
            found = self.jobs.get(job)
            if found is None:
                continue  # its request was lost with the daemon
            demand(found.over is not None, f"{job} has not ended in the morning")
