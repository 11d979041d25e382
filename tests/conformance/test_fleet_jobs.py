"""One suite for the jobs of a fleet: the shared store and the fake."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime

import pytest

from rekindle.adapters.sql_store.open import open_store
from rekindle.adapters.sql_store.shared_jobs import SharedJobs
from rekindle.core.job import facts as jf
from rekindle.core.job.order import JobOrder, StepOrder
from rekindle.core.streams import JOB
from rekindle.ports.fleet_jobs import NOBODY, FleetJobs, PlacedJob
from rekindle.ports.placements import PlacedElsewhere
from rekindle.ports.store import StaleGeneration, StoreChange, commit_one
from tests.fakes.fleet_jobs import FakeFleetJobs
from tests.postgres import new_database

NOW = datetime(2026, 1, 2, tzinfo=UTC)
JOB_ID = "f0123abcd"


def submitted(job: str = JOB_ID, at: float = 1.0) -> jf.JobSubmitted:
    return jf.JobSubmitted(at=at, job=job, order=JobOrder(steps=(StepOrder("task", "say hello", "scripted"),)))


@pytest.fixture(params=["postgresql", "fake"])
def of(request: pytest.FixtureRequest) -> Iterator[Callable[[str], FleetJobs]]:
    with ExitStack() as parts:
        if request.param == "fake":
            jobs: dict[str, PlacedJob] = {}
            queues: set[str] = set()
            yield lambda host: FakeFleetJobs(jobs, queues, host)
            return
        url = new_database()

        def made(host: str) -> FleetJobs:
            open_store(url, now=NOW, host=host).store.close()
            found = SharedJobs(url, host)
            parts.callback(found.close)
            return found

        yield made


def test_a_job_is_submitted_once_and_every_host_reads_it(of: Callable[[str], FleetJobs]) -> None:
    a, b = of("a"), of("b")
    assert a.find(JOB_ID) is None
    made = a.submit(submitted(), "one")
    assert (made.job.id, made.host, made.has_begun) == (JOB_ID, NOBODY, False)
    assert b.submit(submitted(at=9.0), "two") == made, "again: it is the same job"
    assert b.find(JOB_ID) == made
    b.submit(submitted("f00000000", 0.5), "two")
    assert [one.job.id for one in a.everything()] == ["f00000000", JOB_ID]
    assert a.queues() == ["one", "two"]
    a.close()


def test_of_several_hosts_that_take_a_job_one_gets_it(of: Callable[[str], FleetJobs]) -> None:
    a, b = of("a"), of("b")
    a.submit(submitted(), "one")
    assert a.take(JOB_ID, before=NOBODY, at=2.0).host == "a"
    with pytest.raises(PlacedElsewhere):
        b.take(JOB_ID, before=NOBODY, at=2.0)
    assert b.take(JOB_ID, before="a", at=3.0).host == "b"
    found = a.find(JOB_ID)
    assert found is not None and (found.host, found.has_begun) == ("b", True)


def test_only_the_host_that_has_a_job_writes_about_it() -> None:
    url = new_database()
    stores = {host: open_store(url, now=NOW, host=host).store for host in "ab"}
    jobs = {host: SharedJobs(url, host) for host in "ab"}
    begun = StoreChange(JOB.kind, JOB_ID, [jf.StepBegun(at=3.0, step="task", session="s")])
    jobs["a"].submit(submitted(), "one")
    with pytest.raises(StaleGeneration):
        commit_one(stores["a"], begun)
    jobs["a"].take(JOB_ID, before=NOBODY, at=2.0)
    commit_one(stores["a"], begun)
    assert [one.subject for one in stores["a"].facts(JOB.kind)] == [JOB_ID, JOB_ID]
    assert stores["b"].facts(JOB.kind) == []
    jobs["b"].take(JOB_ID, before="a", at=4.0)
    with pytest.raises(StaleGeneration):
        commit_one(stores["a"], begun)
    found = jobs["a"].find(JOB_ID)
    assert found is not None and found.job.steps[0].session == "s"
    assert [one.subject for one in stores["b"].facts(JOB.kind, JOB_ID)] == [JOB_ID, JOB_ID]
    for host in "ab":
        stores[host].close()
        jobs[host].close()
