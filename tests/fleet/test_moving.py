"""A worker that is drained gives a job away between two steps; a schedule of the fleet starts its job."""

from __future__ import annotations

import pytest

from tests.fleet.yard import until, yard_of

pytestmark = pytest.mark.timeout(300)
STEPS = """\
[agent.worker]
run = "scripted"
[[step]]
name = "build"
agent = "worker"
prompt = "say building\\nsleep 8\\nwrite built.txt yes"
[[step]]
name = "ship"
agent = "worker"
needs = ["build"]
prompt = "say shipping\\nwrite shipped.txt yes"
"""


def test_a_drained_worker_ends_its_turn_and_another_one_does_the_next_step() -> None:
    with yard_of("a", "b") as yard:
        yard.start("a")
        runbook = yard.folder / "steps.toml"
        runbook.write_text(STEPS)
        job = yard.desk.ok("job", "submit", "--fleet", "--runbook", str(runbook)).strip()
        first = yard.until_driven(job, "a")["session"]
        yard["a"].ok("worker", "drain")
        assert [host for host, _ in yard.watch.live()[first]] == ["a"], "its turn goes on"
        yard.start("b")
        over = yard.until_over(job)
        assert over["host"] == "b", "it moved"
        assert yard.workers["a"].poll() is None, "nobody died"
        build, ship = over["steps"]
        assert (build["session"], build["status"], ship["status"]) == (first, "done", "done")
        for step in (build, ship):
            stored = yard.stored(step["session"])
            assert len([one for one in stored["prompts"] if one.get("by", "user") == "user"]) == 1
            assert all(not one.get("cut") for one in stored["attempts"]), "no turn was cut off"
        attempts = yard.stored(ship["session"])["attempts"]
        assert len([one for one in attempts if one["opened"]]) == 1, "one conversation"
        assert yard.rows("SELECT host FROM placements WHERE session = %s", ship["session"]) == [("b",)]
        until(lambda: yard["a"].json("worker", "status")["jobs"] == [], "a is empty")


def test_a_schedule_of_the_fleet_starts_a_job_at_its_time() -> None:
    with yard_of("a") as yard:
        yard.start("a")
        schedule = yard.submit("say on time", options=("--every", "* * * * *"))

        def done() -> list[str]:
            told = yard.desk.json("job", "list", "--all")["jobs"]
            return [one["id"] for one in told if one["of"] == schedule and one["status"] == "done"]

        [started] = until(done, f"a job of {schedule}: {yard.logs()}", seconds=100)
        job = yard.job(started)
        assert job["host"] == "a" and job["due"] % 60 == 0
        yard.desk.ok("job", "cancel", schedule)
        assert yard.job(schedule)["status"] == "cancelled"
