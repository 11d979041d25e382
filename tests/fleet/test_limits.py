"""Waits for a limit: the engine keeps the time, whoever dies meanwhile; a person can end them from any host."""

from __future__ import annotations

import pytest

from tests.fleet.given import agrees
from tests.fleet.proving import copied
from tests.fleet.yard import Yard, until, yard_of

pytestmark = pytest.mark.timeout(300)


def waiting(yard: Yard, seconds: int) -> tuple[str, str]:
    """A job whose agent has met a limit for so long; nobody drives it meanwhile."""
    job = yard.submit("say one", f"fail rate_limited {seconds}", "say two")
    told = until(
        lambda: (one := yard.job(job))["status"] == "waiting" and one["session"] and one,
        lambda: f"a limit: {yard.story(job)}",
    )
    return job, told["session"]


def test_a_wait_for_a_limit_outlives_its_host_and_ends_by_the_clock_by_hand_or_by_a_prompt() -> None:
    with yard_of("a", "b") as yard:
        yard.start("a")
        timed, of_timed = waiting(yard, 50)
        hurried, of_hurried = waiting(yard, 3000)
        told, of_told = waiting(yard, 3000)
        until(lambda: yard["a"].json("worker", "status")["jobs"] == [], lambda: f"nobody drives: {yard.story(timed)}")
        assert yard.watch.live() == {}, "their agents sleep"
        for session in (of_timed, of_hurried, of_told):
            copied(yard, session)
        due = yard.job(timed)["next_at"]
        yard.kill_host("a")
        yard.start("b")
        # It may take longer than 10 s until b has it; then nothing was done, and that was said.
        until(lambda: yard.desk.run("hurry", of_hurried).returncode == 0, lambda: f"no wait: {yard.story(hurried)}")
        assert yard.until_over(hurried)["host"] == "b"
        yard.desk.ok("send", of_told, "say three, from the desk")
        assert yard.until_over(told)["host"] == "b"
        over = yard.until_over(timed)
        assert over["host"] == "b" and over["over_at"] >= due
        for job, session in ((timed, of_timed), (hurried, of_hurried), (told, of_told)):
            assert yard.job(job)["receipt"]["kind"] == "same"
            record = agrees(yard, session, "b")
            assert [one["text"] for one in record if one["kind"] == "assistant"].count("two") == 1
