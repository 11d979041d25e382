"""Stopping: EOF, then SIGTERM, then patience for the whole tree, then SIGKILL; and nobody foreign."""

import signal
import subprocess
import time

import pytest

from rekindle.keeper.ending import Ending
from rekindle.keeper.launch import find_leftovers, is_alive
from rekindle.keeper.outcome import EndedBy
from rekindle.keeper.processes import Process, ProcessId, id_of, is_running, send_signal
from rekindle.keeper.spec import Background
from tests.keeper.keeper_bench import Bench, python_agent, shell_agent, status, until

AGENT = Process(ProcessId(10, 1), "agent", "S", 1, 10, 10)
NATIVE = Process(ProcessId(11, 2), "native", "S", 10, 10, 10)
SERVER = Process(ProcessId(12, 3), "server", "S", 10, 12, 12)
CLEANER = Process(ProcessId(13, 4), "cleaner", "S", 11, 10, 10)


def test_the_order_of_an_ending() -> None:
    ending = Ending(now=100.0, grace=10.0, eof_wait=2.0, agent=AGENT.id)
    tree = [AGENT, NATIVE, SERVER]
    assert ending.step(100.0, tree, agent_gone=False).signals == ()
    assert ending.step(101.9, tree, agent_gone=False).wake_at == 102.0
    # The group first; who moved out of it only when the agent is gone; who came later not before the end.
    asked = ending.step(102.0, tree, agent_gone=False)
    assert asked.signals == ((AGENT.id, signal.SIGTERM), (NATIVE.id, signal.SIGTERM))
    assert ending.step(103.0, [*tree, CLEANER], agent_gone=False).signals == ()
    assert ending.step(104.0, [NATIVE, SERVER, CLEANER], agent_gone=True).signals == ((SERVER.id, signal.SIGTERM),)
    assert ending.step(109.9, [NATIVE, SERVER, CLEANER], agent_gone=True).signals == ()
    killed = ending.step(110.0, [NATIVE, CLEANER], agent_gone=True).signals
    assert killed == ((NATIVE.id, signal.SIGKILL), (CLEANER.id, signal.SIGKILL))
    assert [(one.comm, one.signal) for one in ending.swept] == [
        ("native", "SIGKILL"),
        ("server", "SIGTERM"),
        ("cleaner", "SIGKILL"),
    ]


def test_a_second_request_only_makes_it_faster() -> None:
    ending = Ending(now=0.0, grace=10.0, eof_wait=2.0, agent=AGENT.id)
    ending.hurry(1.0, 60.0)
    assert ending.step(1.0, [AGENT], agent_gone=False).wake_at == 2.0
    ending.hurry(1.0, 0.0)
    assert ending.step(1.0, [AGENT], agent_gone=False).signals == ((AGENT.id, signal.SIGKILL),)


def test_an_agent_that_ends_on_eof_gets_no_signal(bench: Bench) -> None:
    session = bench.start(("cat",), grace_seconds=10.0)
    with session.client() as client:
        client.stop("done with it")
        assert client.wait_closed(10)
    record = session.ended()
    assert (record.ended_by, record.reason, record.code, record.swept) == (
        EndedBy.STOP,
        "done with it",
        0,
        (),
    )


def test_an_agent_that_ignores_eof_gets_sigterm_once(bench: Bench) -> None:
    code = """
import signal, sys, time
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
print("ready", flush=True)
while not asked:
    time.sleep(0.01)
time.sleep(0.3)
print(len(asked), flush=True)
sys.exit(3)
"""
    session = bench.start(python_agent(code), grace_seconds=4.0)
    until(lambda: session.out() == b"ready\n")
    with session.client() as client:
        client.stop("enough")
        until(lambda: b"1\n" in session.out())
    assert session.ended().code == 3
    assert session.out() == b"ready\n1\n"


def test_an_agent_that_ignores_sigterm_is_killed_when_the_grace_is_over(bench: Bench) -> None:
    session = bench.start(shell_agent("trap '' TERM; echo on; while :; do sleep 1000; done"))
    until(lambda: session.out() == b"on\n")
    with session.client() as client:
        began = time.monotonic()
        client.stop("now", grace=0.8)
        assert status(client)["ending"]["by"] == "stop"
        record = session.ended()
    assert 0.8 <= time.monotonic() - began < 5.0
    assert (record.ended_by, record.signal) == (EndedBy.STOP, "SIGKILL")
    assert "SIGKILL" in {one.signal for one in record.swept} or not record.swept


def test_a_stop_can_be_hurried(bench: Bench) -> None:
    session = bench.start(shell_agent("trap '' TERM; echo on; while :; do sleep 1000; done"))
    until(lambda: session.out() == b"on\n")
    with session.client() as client:
        client.stop("please", grace=600.0)
        client.stop("at once", grace=0.0)
        assert client.wait_closed(5)
    assert session.ended().reason == "please"


def test_a_launcher_that_exits_first_does_not_cost_its_child_the_grace(bench: Bench) -> None:
    # The launcher dies of SIGTERM at once; the real agent needs a moment to write its last words.
    child = "trap 'sleep 0.3; echo last words; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    session = bench.start(shell_agent(f'sh -c "{child}" & wait'), grace_seconds=6.0)
    until(lambda: session.out() == b"up\n")
    with session.client() as client:
        began = time.monotonic()
        client.stop("over")
    record = session.ended()
    assert session.out() == b"up\nlast words\n"
    assert record.out_size == len(session.out())
    assert time.monotonic() - began < 5.0, "it need not wait for the whole grace"


def test_an_agent_that_exits_by_itself_takes_the_rest_with_it_and_says_so(bench: Bench) -> None:
    session = bench.start(shell_agent("setsid sleep 1000 & echo $! > moved; exit 5"), grace_seconds=1.0)
    moved = session.pid_word("moved")
    record = session.ended()
    assert (record.ended_by, record.code) == (EndedBy.AGENT, 5)
    assert [(one.pid, one.comm, one.signal) for one in record.swept] == [(moved.pid, "sleep", "SIGTERM")]
    assert not is_running(moved)


def test_background_servers_may_stay_by_policy_and_are_named(bench: Bench) -> None:
    script = "setsid sleep 1000 & echo $! > moved; sleep 1001 & echo $! > plain; cat"
    first = bench.start(shell_agent(script), background=Background.KEEP, grace_seconds=1.0)
    moved, plain = first.pid_word("moved"), first.pid_word("plain")
    bench.watch(moved, plain)
    with first.client() as client:
        client.stop("keep the server")
    record = first.ended()
    assert [one.pid for one in record.left] == [moved.pid]
    assert is_running(moved) and not is_running(plain)
    # Another attempt with the same policy spares it, and still names it; one without ends it.
    second = bench.start(("cat",), background=Background.KEEP)
    assert is_running(moved)
    with second.client() as client:
        client.stop("again")
    assert [one.pid for one in second.ended().left] == [moved.pid]
    third = bench.start(("cat",))
    assert not is_running(moved) and is_running(third.agent)


def test_nobody_foreign_is_touched(bench: Bench) -> None:
    bystander = subprocess.Popen(["sleep", "1000"])
    try:
        neighbour = bench.start(("cat",), session="neighbour")
        session = bench.start(shell_agent("setsid sleep 1000 & cat"), session="ours")
        until(lambda: len(session.tree()) >= 2)
        with session.client() as client:
            client.stop("only this", grace=0.0)
        session.ended()
        bench.start(("cat",), session="ours")
        assert is_running(id_of(bystander.pid)) and is_running(neighbour.agent)
        assert is_alive(neighbour.spec.lock)
    finally:
        bystander.kill()
        bystander.wait()


def test_a_reused_pid_is_never_signalled() -> None:
    with subprocess.Popen(["sleep", "1000"]) as process:
        real = id_of(process.pid)
        assert not send_signal(ProcessId(real.pid, real.start - 1), signal.SIGKILL)
        assert is_running(real)
        assert send_signal(real, signal.SIGKILL)


def test_a_fork_storm_is_ended(bench: Bench) -> None:
    script = "trap '' TERM; while :; do setsid sh -c 'sleep 0.2' & sleep 0.005; done"
    session = bench.start(shell_agent(script))
    until(lambda: len(session.tree()) > 5)
    with session.client() as client:
        client.stop("storm", grace=0.0)
    session.ended()
    assert not find_leftovers(session.spec.stamp)


def test_signals_reach_the_agents_group(bench: Bench) -> None:
    session = bench.start(shell_agent("trap 'echo int' INT; echo on; while :; do sleep 0.05; done"))
    until(lambda: session.out() == b"on\n")
    with session.client() as client:
        client.signal("SIGINT")
        until(lambda: session.out() == b"on\nint\n")
        with pytest.raises(Exception, match="signal such as SIGINT"):
            client.signal("SIGNONSENSE")
