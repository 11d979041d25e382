"""Interruptions of interruptions: a second host dies, nobody is there, a host is emptied, the engine has forgotten.

What rekindle says is compared with the agent's own record of what it was given (`tests.fleet.given`).
"""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from tests.fleet.given import Line, agrees, is_doing, record_of
from tests.fleet.proving import begun, copied, proved
from tests.fleet.yard import Yard, until, yard_of

pytestmark = pytest.mark.timeout(300)
STEPS = """\
[agent.worker]
run = "scripted"
[[step]]
name = "build"
agent = "worker"
prompt = "say building"
[[step]]
name = "ship"
agent = "worker"
needs = ["build"]
prompt = "say shipping\\nsleep 3\\nsay shipped"
"""


def host_of(yard: Yard, session: str) -> str:
    return str(yard.rows("SELECT host FROM placements WHERE session = %s", session)[0][0])


def until_doing(yard: Yard, told: Any, directive: str) -> None:
    """Wait until the agent is in a step, by its own record, and a copy has that."""

    def is_there() -> bool:
        token = yard.stored(told["session"])["token"]
        return token is not None and is_doing(record_of(yard, host_of(yard, told["session"]), token), directive)

    until(is_there, lambda: f"{directive}: {yard.story(told['id'])}")
    copied(yard, told["session"])


def words(record: list[Line]) -> list[str]:
    """What the agent has said, but for what it does not repeat."""
    return [one["text"] for one in record if one["kind"] == "assistant" and "I do not repeat it" not in one["text"]]


def test_a_second_host_dies_while_it_takes_over_and_the_first_one_has_it_again_later() -> None:
    with yard_of("a", "b", "c") as yard:
        yard.start("a", "b")
        job = yard.submit("say one", "sleep 600", "say two", "sleep 700", "say three")
        told = yard.until_driven(job, "a", "b")
        session, first, second = told["session"], told["host"], {"a": "b", "b": "a"}[told["host"]]
        until_doing(yard, told, "sleep 600")
        yard.kill_host(first)
        until(lambda: host_of(yard, session) == second, "a takeover that has begun")
        yard.kill_host(second)
        yard.start("c")
        until_doing(yard, told, "sleep 700")
        assert words(agrees(yard, session, "c")) == ["one", "two"]
        yard.kill_host("c")
        yard.start(first)
        over = yard.until_over(job)
        assert (over["host"], over["receipt"]["kind"]) == (first, "same")
        assert f"it was on host c and is on {first} now" in over["receipt"]["reason"]
        assert words(agrees(yard, session, first)) == ["one", "two", "three"]


def test_what_is_said_while_no_host_is_there_is_done_once_by_the_next_one_or_refused_with_the_reason() -> None:
    with yard_of("a", "b") as yard:
        yard.start("a")
        job, told = begun(yard, "a")
        doomed = yard.submit("say x", "sleep 600")
        yard.until_driven(doomed, "a")
        asking = yard.submit("ask May I?", "say after")
        [question] = until(yard.desk.questions, "a question")
        copied(yard, question["session"])
        yard.kill_host("a")
        sent = yard.desk.json_of("send", told["session"], "say sent to nobody")
        assert (sent["delivered"], sent["mail"]["is_taken"]) == (False, False), sent
        with (
            yard.desk.start("answer", question["id"], "allow_once") as answer,
            yard.desk.start("job", "cancel", doomed) as cancel,
        ):
            yard.start("b")
            answered, cancelled = answer.communicate()[0], cancel.communicate()[0]
        assert answer.returncode != 0 and ("closed" in answered or "has not taken it yet" in answered), answered
        assert cancel.returncode == 0, cancelled
        assert yard.until_over(doomed, "cancelled")["host"] == "b"
        proved(yard, job, told, more=("say sent to nobody",))
        assert yard.until_over(asking)["receipt"]["kind"] == "same"
        assert words(agrees(yard, question["session"], "b"))[-1] == "after"
        assert yard.desk.questions() == []


def test_a_host_that_is_emptied_keeps_a_question_until_it_is_answered_and_sits_out_no_limit() -> None:
    with yard_of("a", "b") as yard:
        yard.start("a")
        asking = yard.submit("ask May I?", "say after")
        [question] = until(yard.desk.questions, "a question")
        limited = yard.submit("say one", "fail rate_limited 25", "say two")
        session = yard.until_driven(limited, "a")["session"]
        until(lambda: yard.job(limited)["status"] == "waiting", lambda: f"a limit: {yard.story(limited)}")
        for _ in range(2):
            yard["a"].ok("worker", "drain")
        until(lambda: yard["a"].json("worker", "status")["jobs"] == [asking], lambda: yard.story(limited))
        assert [one for one, _ in yard.watch.live()[question["session"]]] == ["a"], "a question is a turn"
        assert yard.job(limited)["status"] == "waiting", (
            "the last worker is drained: it waits for its time, and for a host"
        )
        yard.start("b")
        yard.desk.ok("answer", question["id"], "allow_once")
        yard.until_over(asking)
        over = yard.until_over(limited)
        assert (over["host"], over["receipt"]["kind"]) == ("b", "same")
        assert words(agrees(yard, session, "b")) == ["one", "two"]
        assert words(agrees(yard, question["session"], yard.job(asking)["host"])) == ["after"]
        assert len(yard.stored(question["session"])["prompts"]) == 1, "its turn was not cut off"
        until(lambda: yard["a"].json("worker", "status")["jobs"] == [], "a is empty")


def test_a_host_dies_between_two_steps_and_a_worker_with_other_labels_takes_nothing_that_it_must_not() -> None:
    with yard_of("a", "b") as yard:
        yard.start("a", options=("--label", "gpu"))
        runbook = yard.folder / "steps.toml"
        runbook.write_text(STEPS)
        job = yard.desk.ok("job", "submit", "--fleet", "--runbook", str(runbook)).strip()
        needy = yard.submit("say on the gpu", "sleep 600", "say done", options=("--needs", "gpu"))
        told = yard.until_driven(needy, "a")
        until_doing(yard, told, "sleep")
        until(lambda: yard.job(job)["steps"][0]["status"] == "done", lambda: yard.story(job))
        yard.kill_host("a")
        yard.start("b", options=("--capacity", "1"))
        over = yard.until_over(job)
        build, ship = over["steps"]
        assert (over["host"], build["status"], ship["status"]) == ("b", "done", "done")
        for step in (build, ship):
            prompts = [one for one in yard.stored(step["session"])["prompts"] if one.get("by", "user") == "user"]
            assert len(prompts) == 1, f"{step['name']} was asked for once"
        assert (host_of(yard, told["session"]), yard.job(needy)["status"]) != ("b", "done"), "b has no gpu"
        yard.start("a", options=("--label", "gpu", "--label", "new"))
        again = yard.until_over(needy)
        assert (again["host"], again["receipt"]["kind"]) == ("a", "same")
        assert words(agrees(yard, told["session"], "a")) == ["on the gpu", "done"]


def test_an_engine_whose_database_came_from_an_older_copy_is_told_again() -> None:
    with yard_of("a", "b") as yard:
        yard.start("a")
        older = yard.folder / "older"
        yard.temporal.stop()
        shutil.copytree(yard.temporal.folder, older)
        yard.temporal.start()
        job, told = begun(yard, "a")
        waiting = yard.submit("say one", "fail rate_limited 60", "say two")
        until(lambda: yard.job(waiting)["status"] == "waiting", lambda: yard.story(waiting))
        until(lambda: yard["a"].json("worker", "status")["jobs"] == [job], lambda: yard.story(waiting))
        never = yard.submit("say never", options=("--needs", "moon"))
        yard.temporal.stop()
        for one in yard.temporal.folder.glob("temporal.db*"):
            one.unlink()
        shutil.copytree(older, yard.temporal.folder, dirs_exist_ok=True)
        until(lambda: told["session"] not in yard.watch.live(), "the end of the agent without an engine")
        yard.temporal.start()
        proved(yard, job, told)
        yard.start("b", options=("--label", "moon"))
        yard.until_over(never)
        yard.until_over(waiting)
