"""A job that may not begin because of what all sessions have spent says so: it is not called running."""

from __future__ import annotations

import asyncio

from rekindle.core.governor import facts as g
from rekindle.core.governor.rules import GovernorRules
from rekindle.core.job import facts as jf
from rekindle.core.job.order import StepOrder
from rekindle.core.job.state import Job
from rekindle.core.session import facts as f
from rekindle.runtime.engine import Engine
from rekindle.runtime.jobs import Jobs
from rekindle.runtime.supervisor import Supervisor
from tests.crash.test_schedules import KINDS
from tests.fakes.calendar import HourlyCalendar
from tests.fakes.keepers import FakeKeepers, FakeWorld
from tests.fakes.records import FakeRecords
from tests.fakes.store import FakeStore, InlineAccess
from tests.fakes.workplace import FakeWorkplace
from tests.job_stage import order

NOW = 1_800_000_000.0
JOB = "j00000001"


def test_a_job_whose_step_may_not_begin_waits_says_why_and_names_the_question() -> None:
    async def story() -> None:
        access = InlineAccess(FakeStore())
        engine = Engine(access, lambda: NOW)
        supervisor = Supervisor(
            engine,
            FakeKeepers(FakeWorld()),
            FakeWorkplace(),
            KINDS,
            FakeRecords(),
            settle_seconds=0.0,
            pause_seconds=0.0,
            governor_rules=lambda: GovernorRules(cost_per_day=5.0),
        )

        async def begin(job: Job, wanted: StepOrder, session: str) -> None:
            await engine.create(
                f.Created(at=NOW, session=session, agent="fake", cwd="/", rules=wanted.rules, job=job.id)
            )
            await supervisor.record(session, f.PromptQueued(at=NOW, prompt="p0", text=wanted.prompt))

        jobs = Jobs(supervisor, access, begin, HourlyCalendar())
        paid = g.TurnPaid(at=NOW, session="other", turn="1 p1", cost=6.0)
        asked = (await supervisor.governing.tell(lambda _state: [paid])).questions
        await jobs.submit(jf.JobSubmitted(at=NOW, job=JOB, order=order()))
        await jobs.settled()
        found = await jobs.shown(jobs.all_jobs()[0])
        await jobs.close()
        await supervisor.close()
        assert (found.status, found.needs_you, found.next) == ("waiting", True, f"rekindle answer {asked[0].id}")
        assert "$6.00 today" in found.why
        assert [one.status for one in found.steps] == ["waiting"]
        assert found.next_at is not None and found.next_at > NOW

    asyncio.run(story())
