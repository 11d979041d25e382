"""The engine of a fleet: jobs from any host, driven by a worker that fits, moved, delayed, cancelled, tried again."""

from __future__ import annotations

import time

import pytest

from tests.fleet.yard import until, yard_of

pytestmark = pytest.mark.timeout(300)


def test_jobs_go_to_hosts_that_fit_and_can_be_delayed_cancelled_and_tried_again_from_anywhere() -> None:
    with yard_of("a", "b") as yard:
        job = yard.submit("say hello from the fleet", "write new.txt precious")
        assert yard.job(job)["status"] == "queued"
        never = yard.submit("say never", options=("--needs", "moon"))
        gpu = yard.submit("say on the gpu", options=("--needs", "gpu"))
        warm = yard.submit("say where it was cloned", options=("--needs", "repository:work"))
        began = time.time()
        later = yard.submit("say later", options=("--at", "10s"))
        yard.start("a")
        assert yard.until_over(job)["host"] == yard.until_over(warm)["host"] == "a", (
            "it has a clone since the first job"
        )
        assert yard.job(gpu)["host"] == "", "no host has what it needs"
        yard.start("b", options=("--label", "gpu", "--capacity", "2"))
        assert yard.until_over(gpu)["host"] == "b"
        yard.until_over(later)
        assert yard.job(later)["over_at"] >= began + 10
        told = yard.desk.json("job", "cancel", never)["job"]
        assert (told["status"], told["host"]) == ("cancelled", "desk"), "nobody had it"

        long = yard.submit("say one", "sleep 600")
        host = yard.until_driven(long, "a", "b")["host"]
        cancelled = yard.desk.json("job", "cancel", long)["job"]
        assert (cancelled["status"], cancelled["host"]) == ("cancelled", host)
        until(lambda: not yard.watch.live(), "the end of its agent")
        assert [one["id"] for one in yard["a"].json("job", "list", "--all")["jobs"]] == [
            job,
            never,
            gpu,
            warm,
            later,
            long,
        ]

        failing = yard.submit("fail out_of_credits", options=("--retries", "0"))
        yard.until_over(failing, "failed")
        yard.desk.ok("job", "retry", failing)
        until(lambda: yard.job(failing)["resume_count"] > 0 or yard.job(failing)["retries_left"] == 0, "another try")
        refused = yard.desk.run("job", "submit", "--needs", "gpu", "say x")
        assert refused.returncode == 2 and "--fleet" in refused.stderr


def test_a_host_that_is_drained_gives_its_job_away_when_its_turn_is_over_and_nothing_is_cut_off() -> None:
    with yard_of("a", "b") as yard:
        yard.start("a")
        job = yard.submit("say one", "sleep 6", "say two")
        told = yard.until_driven(job, "a")
        yard["a"].ok("worker", "cordon")
        yard["a"].ok("worker", "drain")
        second = yard.submit("say elsewhere")
        yard.start("b")
        assert yard.until_over(second)["host"] == "b", "a takes no more"
        over = yard.until_over(job)
        attempts = yard.stored(told["session"])["attempts"]
        assert all(not one.get("cut") for one in attempts), "no turn was cut off"
        assert over["host"] in ("a", "b")
        until(lambda: yard["a"].json("worker", "status")["jobs"] == [], "a is empty")
        yard["a"].ok("worker", "uncordon")
        assert yard["a"].json("worker", "status")["state"] == "ready"


def test_a_job_that_waits_for_a_person_is_driven_again_when_the_desk_says_something() -> None:
    with yard_of("a") as yard:
        yard.start("a")
        job = yard.submit("say one", "sleep 600")
        session = yard.until_driven(job, "a")["session"]
        until(
            lambda: "one" in yard["a"].said(session), "its turn: before that a prompt waits, which would wake it again"
        )
        yard.desk.ok("stop", session, "--sleep")
        until(lambda: yard["a"].json("worker", "status")["jobs"] == [], "nobody drives a job that waits for a person")
        assert yard.job(job)["status"] == "waiting"
        yard.desk.ok("send", session, "say two, from the desk")
        yard.until_over(job)
        prompts = [one for one in yard.stored(session)["prompts"] if one.get("by", "user") == "user"]
        assert [one["text"] for one in prompts] == ["say one\nsleep 600", "say two, from the desk"]


def test_a_prompt_on_the_host_itself_has_a_job_driven_that_waits_although_nobody_told_the_engine() -> None:
    with yard_of("a") as yard:
        yard.start("a")
        job = yard.submit("say one", "sleep 600")
        session = yard.until_driven(job, "a")["session"]
        until(lambda: "one" in yard["a"].said(session), "its turn")
        yard["a"].ok("stop", session, "--sleep")
        until(lambda: yard["a"].json("worker", "status")["jobs"] == [], "nobody drives a job that waits for a person")
        yard["a"].ok("send", session, "say two, on its own host")
        yard.until_over(job)
        prompts = [one for one in yard.stored(session)["prompts"] if one.get("by", "user") == "user"]
        assert [one["text"] for one in prompts] == ["say one\nsleep 600", "say two, on its own host"]
