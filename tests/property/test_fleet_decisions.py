"""The pure decisions of a fleet: leases never outlive the engine's patience; a drive is never dropped in mid-turn."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rekindle.core.fleet import lease
from rekindle.core.fleet.drive import Abandon, CancelJob, DriveView, LetGo, Stay, is_tried_again, next_move
from rekindle.core.fleet.needs import (
    fleet_job,
    is_fleet_job,
    is_for,
    memory_label,
    queue_of,
    repository_labels,
    urgency,
    wanted,
)
from rekindle.core.fleet.spelling import is_label, is_need
from rekindle.core.job.order import JobOrder, StepOrder
from rekindle.core.job.state import Job, JobStep
from rekindle.core.session import facts as f
from rekindle.core.session.rules import Rules
from rekindle.core.session.state import OURS, Session
from rekindle.keeper import deadline
from tests.sessions import a_life, created, folded

seconds = st.floats(0, 1e9, allow_nan=False)
timeouts = st.floats(lease.SHORTEST, 3600)
labels = st.sets(st.from_regex(r"[a-z0-9][a-z0-9._-]{0,31}", fullmatch=True), max_size=4)


def test_a_lease_leaves_the_time_that_a_keeper_needs() -> None:
    assert lease.ENDS_WITHIN == deadline.ENDS_WITHIN


@given(seconds, timeouts, st.floats(0, 60), st.none() | st.floats(0, 1e9))
def test_an_agent_is_gone_before_a_successor_may_start(
    asked: float, timeout: float, travelled: float, closes: float | None
) -> None:
    """The engine counts from when it heard us, which is never before we asked."""
    successor = min(asked + travelled + timeout, closes if closes is not None else asked + travelled + timeout)
    assert lease.lasts_until(asked, timeout, closes) + deadline.ENDS_WITHIN < successor + 1e-6


@given(seconds, timeouts)
def test_a_healthy_agent_lives_through_some_lost_heartbeats(asked: float, timeout: float) -> None:
    left = lease.lasts_until(asked, timeout) - asked
    assert left > 3 * lease.pause(timeout)


@given(st.none() | seconds, seconds)
def test_nothing_is_started_without_a_lease_or_at_its_very_end(until: float | None, now: float) -> None:
    may = lease.may_start(until, now)
    assert may == (until is not None and until - now >= lease.TO_START)


@given(labels, labels, labels, labels)
def test_a_job_waits_in_a_queue_that_exactly_the_fitting_hosts_listen_to(
    agents: set[str], needs: set[str], has: set[str], labelled: set[str]
) -> None:
    queue = queue_of(agents, needs)
    assert queue == queue_of(sorted(agents), list(needs))
    assert is_for(queue, agents, needs)
    assert is_for(queue, has, labelled) == (agents <= has and needs <= labelled)
    assert all(is_label(one) for one in agents | needs)


@given(labels, labels, st.text(":+ab\n", max_size=8))
def test_a_host_listens_to_no_queue_that_no_job_has(agents: set[str], needs: set[str], more: str) -> None:
    """Each queue takes connections, and whoever can write to the store can name any number of them."""
    queue = queue_of(agents, needs) + more
    if is_for(queue, agents | {"a"}, needs | {"b"}):
        assert queue == queue_of(*wanted(queue))
    assert len(wanted(more)) == 2


@given(labels, labels, st.integers(1, 999), st.integers(0, 999 * 10**9), st.sampled_from(["work", "own"]))
def test_memory_is_enough_or_more_and_an_account_is_the_one_that_is_named(
    needs: set[str], labelled: set[str], least: int, memory: int, account: str
) -> None:
    asked = {*needs, f"memory:{least}g", "account:work"}
    queue = queue_of({"a"}, asked)
    assert queue.count(":") == 2, "earlier versions can read it"
    assert queue_of({"a"}, {*asked, "memory:1g"}) == queue
    assert set(wanted(queue)[1]) == asked and all(is_need(one) for one in asked)
    had = [*labelled, *memory_label(memory), f"account:{account}"]
    assert is_for(queue, {"a"}, had) == (needs <= labelled and memory >= least * 10**9 and account == "work")


@given(st.lists(st.text(max_size=8)), st.sampled_from(["shop", "Shop.2", "a_b"]))
def test_who_needs_a_clone_gets_a_host_that_has_it(odd: list[str], name: str) -> None:
    queue = queue_of({"a"}, [f"repository:{name}"])
    assert is_need(f"repository:{name}") and not is_label(f"repository:{name}"), "nobody says so by hand"
    assert is_for(queue, {"a"}, repository_labels([*odd, name]))
    assert is_for(queue, {"a"}, repository_labels(odd)) == (name in odd)
    assert all(is_for(queue_of({"a"}, [one]), {"a"}, [one]) for one in repository_labels(odd))


@given(st.integers(-100, 100))
def test_a_higher_priority_is_never_less_urgent(priority: int) -> None:
    assert 1 <= urgency(priority + 1) <= urgency(priority) <= 5
    assert urgency(0) == 3


def test_jobs_of_a_fleet_are_told_apart_by_their_id() -> None:
    assert is_fleet_job(fleet_job("0123abcd"))
    assert not is_fleet_job("j0123abcd") and not is_fleet_job("") and not is_fleet_job("f0123abc")


def order() -> JobOrder:
    return JobOrder(steps=(StepOrder("task", "say hello", "scripted"),))


def job(**changes: object) -> Job:
    begun = Job("f0123abcd", order(), 1.0, (JobStep(order().steps[0], "begun", "s1"),))
    return replace(begun, **changes)


LIVES = [folded(a_life()[:n]) for n in range(1, len(a_life()) + 1)]
views = st.builds(
    DriveView,
    st.sampled_from([job(), job(over="done"), job(over="failed"), job(cancel_asked="alice")]),
    st.sampled_from([None, *LIVES]),
    st.just(10.0),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.lists(st.sampled_from(LIVES), max_size=2).map(tuple),
)


@given(views, st.floats(0, 1e6))
def test_a_drive_never_ends_in_the_middle_of_a_turn_unless_it_was_lost(view: DriveView, now: float) -> None:
    move = next_move(view, now)
    in_turn = any(one is not None and one.is_up and one.turn is not None for one in (view.session, *view.others))
    assert isinstance(move, Abandon) == view.is_lost
    if in_turn:
        assert not isinstance(move, LetGo)


@given(views, st.floats(0, 1e6))
def test_a_job_that_is_over_ends_its_drive_and_nothing_else_says_that_it_is(view: DriveView, now: float) -> None:
    move = next_move(view, now)
    if isinstance(move, LetGo):
        assert (move.how == "over") == (view.job.over is not None)
    if isinstance(move, CancelJob):
        assert view.is_cancelled and view.job.over is None and not view.job.cancel_asked


@given(views, st.floats(0, 1e6))
def test_a_host_that_is_emptied_keeps_only_what_works(view: DriveView, now: float) -> None:
    if view.drains and isinstance(next_move(view, now), Stay):
        assert view.session is not None or view.others or view.job.cancel_asked or view.job.over is not None


def limited(until: float) -> Session:
    """A session whose agent has met a limit, and goes on at `until`."""
    text = "build it"
    session = folded(
        [
            created(),
            f.RulesSet(at=1, rules=Rules(policy="continue"), source="built-in"),
            f.PromptQueued(at=2, prompt="p1", text=text),
            f.LaunchIntended(at=3, attempt=1, generation=1, how="new"),
            f.Launched(at=4, attempt=1, folder="/k/1", pid=1),
            f.Opened(at=5, attempt=1, how="new", token="t"),
            f.PromptSent(at=6, attempt=1, prompt="p1", message=1, text=text),
            f.TurnBegan(at=7, attempt=1, prompt="p1"),
            f.TurnFinished(at=8, attempt=1, prompt="p1", stop_reason="end_turn"),
            f.PromptQueued(at=8, prompt="p1+1", text="go on", by=OURS, of="p1", after=until),
        ]
    )
    assert session.is_up and session.sendable
    return session


@given(st.floats(9, 1e6), st.booleans())
def test_a_long_wait_for_a_limit_is_the_engines_and_a_host_that_is_emptied_does_not_sit_it_out(
    wait: float, drains: bool
) -> None:
    now = 10.0
    view = DriveView(job(), limited(now + wait), 10.0, drains=drains)
    assert next_move(view, now) == (
        LetGo("moved") if drains else LetGo("waits", now + wait) if now + wait - now > 40.0 else Stay(now + wait)
    )
    due = next_move(replace(view, drains=True), now + wait + 1)
    assert due == Stay(), "a prompt that is about to be sent is not held back"


@given(st.floats(-7200, 7200), st.floats(1, 100))
def test_another_try_does_not_depend_on_the_clock_of_who_asks_and_happens_once(wrong: float, later: float) -> None:
    """The host of who asks may be hours off; and the engine may give the same wish to a host twice."""
    ended = job(over="failed", over_at=1_000_000.0)
    asked_at = 1_000_010.0 + wrong
    assert is_tried_again(ended, asked_at, 1_000_000.0)
    again = job(over="failed", over_at=1_000_000.0 + later)
    assert not is_tried_again(again, asked_at, 1_000_000.0), "that was another end"
    assert not is_tried_again(job(), asked_at, 1_000_000.0), "it is being tried"
