"""Whatever dies: the same conversation goes on, no prompt is given twice, and there are never two agents.

Every test looks at all agents of all hosts many times a second (`tests.fleet.yard.Watch`), and compares what rekindle
says with the agent's own record of what it was given (`tests.fleet.given`).
"""

from __future__ import annotations

import signal
import time
from typing import Any

import pytest

from tests.fleet.proving import begun, proved, proved_untouched, spoken
from tests.fleet.yard import HEARTBEAT, until, yard_of

pytestmark = pytest.mark.timeout(300)
THREE = ("a", "b", "c")


def left(told: Any) -> tuple[str, ...]:
    """The hosts that do not have the job."""
    return tuple(one for one in THREE if one != told["host"])


def test_a_worker_that_dies_with_its_whole_tree_in_mid_turn_is_followed_by_another() -> None:
    with yard_of(*THREE) as yard:
        yard.start(*THREE)
        job, told = begun(yard, *THREE)
        lost, others = told["host"], left(told)
        yard.kill_host(lost)
        again = yard.until_driven(job, *others)
        assert again["session"] == told["session"]
        over = proved(yard, job, told)
        assert over["host"] == again["host"]
        assert f"it was on host {lost} and is on {again['host']} now" in over["receipt"]["reason"]


def test_a_worker_process_that_dies_alone_leaves_an_agent_that_its_keeper_ends_in_time() -> None:
    with yard_of(*THREE) as yard:
        yard.start(*THREE)
        job, told = begun(yard, *THREE)
        lost, others = told["host"], left(told)
        yard.signal(lost)
        killed = time.monotonic()
        assert [one for one, _ in yard.watch.live()[told["session"]]] == [lost], "the agent does not notice"
        until(lambda: told["session"] not in yard.watch.live(), "the end of the agent without a worker")
        assert time.monotonic() - killed < HEARTBEAT, "before a successor may start"
        yard.until_driven(job, *others)
        proved(yard, job, told)


def test_all_workers_die_and_the_job_goes_on_when_one_is_back() -> None:
    with yard_of(*THREE) as yard:
        yard.start(*THREE)
        job, told = begun(yard, *THREE)
        for name in THREE:
            yard.kill_host(name)
        yard.start(told["host"])
        proved(yard, job, told)


def test_a_worker_that_sleeps_longer_than_the_heartbeat_finds_itself_replaced() -> None:
    with yard_of(*THREE) as yard:
        yard.start(*THREE)
        job, told = begun(yard, *THREE)
        slept, others = told["host"], left(told)
        yard.signal(slept, signal.SIGSTOP)
        yard.until_driven(job, *others)
        yard.signal(slept, signal.SIGCONT)
        proved(yard, job, told)
        until(lambda: yard[slept].json("worker", "status")["jobs"] == [], "the sleeper has let go")


def test_a_host_whose_link_goes_down_and_up_again_finds_itself_replaced() -> None:
    with yard_of(*THREE) as yard:
        yard.start(*THREE)
        job, told = begun(yard, *THREE)
        cut, others = told["host"], left(told)
        yard.net.link(cut, "down")
        yard.until_driven(job, *others)
        yard.net.link(cut, "up")
        proved(yard, job, told)
        until(lambda: yard[cut].json("worker", "status")["jobs"] == [], "the host that was cut off has let go")


def test_a_short_outage_of_the_engine_disturbs_no_healthy_agent() -> None:
    """The heartbeat is longer here: the server needs some seconds to start, which are part of its outage."""
    with yard_of(*THREE, heartbeat=30.0) as yard:
        yard.start(*THREE)
        job, told = begun(yard, *THREE, seconds=20)
        agent = yard.watch.live()[told["session"]]
        began = time.monotonic()
        yard.temporal.stop()
        time.sleep(3.0)  # the length of the outage, with the start
        yard.temporal.start()
        assert time.monotonic() - began < 20, "an outage shorter than the heartbeat"
        proved_untouched(yard, job, told)
        assert agent == [(told["host"], 1)]


def test_an_engine_that_is_away_for_long_loses_nothing() -> None:
    with yard_of(*THREE) as yard:
        yard.start(*THREE)
        job, told = begun(yard, *THREE, seconds=20)
        yard.temporal.stop()
        until(lambda: told["session"] not in yard.watch.live(), "the end of the agent without an engine")
        yard.temporal.start()
        proved(yard, job, told)


def test_a_store_that_goes_down_and_up_again_loses_nothing() -> None:
    with yard_of(*THREE) as yard:
        yard.start(*THREE)
        job, told = begun(yard, *THREE, seconds=10)
        yard.cluster.stop()
        time.sleep(HEARTBEAT)  # the length of the outage
        assert [one for one, _ in yard.watch.live()[told["session"]]] == [told["host"]], "its agent works on"
        yard.cluster.start()
        proved_untouched(yard, job, told)


@pytest.mark.parametrize("blobs", ["folder", "postgresql"])
def test_copies_that_cannot_be_made_hold_up_nobody(blobs: str) -> None:
    with yard_of(*THREE, blobs=blobs) as yard:
        yard.start(*THREE)
        job, told = begun(yard, *THREE, seconds=10)
        with yard.copies_away(blobs):
            until(lambda: "the end" in spoken(yard, told), "the agent works on")
            assert yard.job(job)["host"] == told["host"]
        proved_untouched(yard, job, told)
