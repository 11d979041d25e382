"""An agent of a fleet lives only as long as its worker renews its deadline, whoever is killed or stopped."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rekindle.keeper.client import Client
from rekindle.keeper.deadline import ENDS_WITHIN, clock
from rekindle.keeper.errors import Refused, SpecError, StartCrashed
from rekindle.keeper.launch import is_alive, read_exit, spawn
from rekindle.keeper.outcome import EndedBy, ExitRecord
from rekindle.keeper.processes import ProcessId, id_of, is_running, is_stopped, send_signal
from rekindle.keeper.spec import Background, check_spec
from tests.keeper.keeper_bench import Bench, Session, kill, shell_agent, status, until

#: Nobody in it goes when asked to: a plain child, one in a session of its own, one without any environment.
STUBBORN = """
trap '' TERM HUP
sleep 1000 & echo $! > plain
setsid sleep 1001 & echo $! > moved
env -i setsid sh -c 'trap "" TERM; echo $$ > scrubbed; while :; do sleep 1002; done' &
while :; do sleep 1003; done
"""
NAMES = ("plain", "moved", "scrubbed")
SHORT = 1.0


def begin(bench: Bench, seconds: float = SHORT, **changes: Any) -> tuple[Session, list[ProcessId], float]:
    """A stubborn family with a deadline; who belongs to it, and when the deadline is."""
    until_ = clock() + seconds
    session = bench.start(shell_agent(STUBBORN), deadline_until=until_, **changes)
    relatives = [session.pid_word(name) for name in NAMES]
    bench.watch(*relatives, session.agent)
    return session, [*relatives, session.agent], until_


def ended_in_time(session: Session, family: list[ProcessId], deadline: float) -> ExitRecord:
    """Nobody is left when the time that is promised for it is over; how that was recorded."""
    until(lambda: not any(is_running(one) for one in family), "the whole family ended", seconds=30)
    late = clock() - deadline
    print(f"the family was gone {late:.3f} s after the deadline")
    assert late < ENDS_WITHIN
    assert late > 0, "it ended before its time"
    return until(lambda: read_exit(session.spec.folder), "an exit record")


@contextmanager
def stopped(target: ProcessId) -> Iterator[None]:
    assert send_signal(target, signal.SIGSTOP)
    until(lambda: is_stopped(target.pid), "stopped")
    try:
        yield
    finally:
        send_signal(target, signal.SIGCONT)


def test_if_nobody_renews_it_the_keeper_ends_the_whole_tree_in_time(bench: Bench) -> None:
    session, family, deadline = begin(bench)
    record = ended_in_time(session, family, deadline)
    assert (record.ended_by, record.reason, record.written_by) == (EndedBy.DEADLINE, "deadline passed", "keeper")
    assert record.signal == "SIGKILL"
    until(lambda: not is_alive(session.spec.lock))


def test_an_agent_that_goes_when_asked_gets_a_moment_to_do_so(bench: Bench) -> None:
    session = bench.start(shell_agent("trap 'echo saved; exit 3' TERM; while :; do sleep 0.05; done"),
                          deadline_until=clock() + 0.5)  # fmt: skip
    record = session.ended()
    assert (record.ended_by, record.code, session.out()) == (EndedBy.DEADLINE, 3, b"saved\n")


def test_it_lives_as_long_as_its_worker_renews_it_and_no_longer(bench: Bench) -> None:
    session, family, first = begin(bench, 1.5)
    with session.client(session.spec.generation) as client:
        assert 0 < client.renew(first + 1.5) <= 3.0
        assert client.renew(first) > 1.0, "an answer that was long on its way undid a newer one"
        assert status(client)["deadline"] > 1.0
    until(lambda: clock() > first + 0.3, "a time after the first deadline")
    assert all(is_running(one) for one in family)
    ended_in_time(session, family, first + 1.5)


def test_a_stopped_keeper_is_covered_by_its_guard(bench: Bench) -> None:
    session, family, deadline = begin(bench, 1.5)
    with stopped(session.keeper):
        record = ended_in_time(session, family, deadline)
        assert (record.ended_by, record.written_by) == (EndedBy.DEADLINE, "guard")
        assert record.reason.startswith("deadline passed")
        until(lambda: not is_alive(session.spec.lock))


def test_a_keeper_that_is_stopped_while_it_ends_the_tree_is_covered_too(bench: Bench) -> None:
    session, family, deadline = begin(bench, 1.0)
    until(lambda: clock() > deadline + 0.1, "the keeper has begun to end it")
    assert send_signal(session.keeper, signal.SIGSTOP)
    assert ended_in_time(session, family, deadline).written_by == "guard"


def test_a_stopped_guard_changes_nothing(bench: Bench) -> None:
    session, family, deadline = begin(bench, 1.5)
    with stopped(session.guard):
        record = ended_in_time(session, family, deadline)
        assert (record.ended_by, record.written_by) == (EndedBy.DEADLINE, "keeper")
    until(lambda: not is_alive(session.spec.lock))


@pytest.mark.parametrize("who", ["guard", "keeper"])
def test_if_one_of_the_two_is_killed_the_other_keeps_the_deadline(bench: Bench, who: str) -> None:
    session, family, deadline = begin(bench, 1.5, grace_seconds=20.0)
    kill(getattr(session, who))
    record = ended_in_time(session, family, deadline)
    assert record.written_by == ("keeper" if who == "guard" else "guard")


def test_a_stop_with_a_long_grace_does_not_outlast_the_deadline(bench: Bench) -> None:
    session, family, deadline = begin(bench, 1.5, grace_seconds=60.0)
    with session.client(session.spec.generation) as client:
        client.stop("enough")
        with pytest.raises(Refused, match="too late"):
            client.renew(clock() + 5)
    record = ended_in_time(session, family, deadline)
    assert (record.ended_by, record.reason) == (EndedBy.STOP, "enough")


def test_only_the_owner_may_renew_it_with_a_time_of_this_clock(bench: Bench) -> None:
    session, family, deadline = begin(bench, 3.0, generation=5)
    with Client(session.started.socket) as observer, session.client(5) as owner:
        with pytest.raises(Refused, match="only look"):
            observer.renew(deadline + 60)
        for wrong in (time.time(), -1.0):
            with pytest.raises(Refused, match="until"):
                owner.renew(wrong)
        with session.client(6) as newer:
            newer.renew(deadline + 0.5)
        with pytest.raises(Refused, match="replaced"):
            owner.renew(deadline + 60)
    ended_in_time(session, family, deadline + 0.5)


def test_an_agent_whose_time_passed_before_its_start_is_not_started(bench: Bench) -> None:
    """Its worker may have slept between two steps: another host may have an agent by now."""
    spec = bench.spec(shell_agent("touch ran; sleep 1000"), deadline_until=clock() - 0.5)
    with pytest.raises(StartCrashed, match="had passed before it was started"):
        spawn(spec)
    assert not (Path(spec.cwd) / "ran").exists()
    record = read_exit(spec.folder)
    assert record is not None and (record.ended_by, record.reason) == (EndedBy.DEADLINE, "deadline passed")
    until(lambda: not is_alive(spec.lock))


def test_without_a_deadline_there_is_nothing_to_renew(bench: Bench) -> None:
    session = bench.start(("cat",))
    with session.client(session.spec.generation) as client:
        assert status(client)["deadline"] is None
        with pytest.raises(Refused, match="without a deadline"):
            client.renew(clock() + 5)
        client.stop("enough")
    assert session.ended().ended_by is EndedBy.STOP


def test_a_deadline_that_cannot_be_kept_is_refused_before_anything_starts(bench: Bench) -> None:
    with pytest.raises(SpecError, match="background"):
        check_spec(bench.spec(("cat",), deadline_until=clock() + 5, background=Background.KEEP))
    with pytest.raises(SpecError, match="BOOTTIME"):
        check_spec(bench.spec(("cat",), deadline_until=time.time()))
    assert not list(Path(bench.spec(("cat",)).folder).glob("*"))
    assert is_running(id_of(1)), "the test itself can see processes"
