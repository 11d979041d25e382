"""kill -9 of every process and of pairs: at most one living tree, the right record, the lock true to life."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

import rekindle.keeper
from rekindle.keeper.launch import find_leftovers, is_alive, owner_pid, read_exit, read_identity
from rekindle.keeper.leftovers import read_seen
from rekindle.keeper.outcome import EndedBy
from rekindle.keeper.processes import ProcessId, all_pids, id_of, is_running, send_signal
from rekindle.keeper.spec import Spec
from tests.keeper.keeper_bench import Bench, Session, kill, shell_agent, until

# An agent with a plain child, one in a session of its own, and one that moreover has no environment at all.
FAMILY = """
sleep 1000 & echo $! > plain
setsid sleep 1001 & echo $! > moved
env -i setsid sh -c 'echo $$ > scrubbed; exec sleep 1002' &
cat
"""


def family(session: Session) -> list[ProcessId]:
    return [session.pid_word(name) for name in ("plain", "moved", "scrubbed")]


def test_keeper_killed_the_guard_ends_the_whole_tree_and_records_it(bench: Bench) -> None:
    session = bench.start(shell_agent(FAMILY))
    relatives = family(session)
    bench.watch(*relatives)
    kill(session.keeper)
    record = session.ended()
    assert (record.ended_by, record.written_by) == (EndedBy.GUARD, "guard")
    assert record.signal in ("SIGTERM", None), (
        "how the agent itself ended may be lost with its keeper, who was its parent"
    )
    assert not any(is_running(one) for one in (*relatives, session.agent))
    until(lambda: not is_running(session.guard), "an end of the guard, which gives the lock up before it ends")
    assert {one.pid for one in relatives} <= {one.pid for one in record.swept}
    assert {one.comm for one in record.swept if one.pid in [r.pid for r in relatives]} <= {"sleep", "sh", "setsid"}
    assert not Path(session.started.socket).exists()
    assert not is_alive(session.spec.lock)


def test_keeper_killed_the_lock_is_held_until_a_stubborn_tree_is_gone(bench: Bench) -> None:
    session = bench.start(shell_agent("trap '' TERM; echo > ready; while :; do sleep 1000; done"), grace_seconds=0.7)
    until(lambda: (Path(session.spec.cwd) / "ready").exists())
    kill(session.keeper)
    until(lambda: not is_alive(session.spec.lock))
    assert not is_running(session.agent)
    assert session.ended().signal == "SIGKILL"


def test_guard_killed_keeper_and_agent_go_on_with_the_lock_held(bench: Bench) -> None:
    session = bench.start(("cat",))
    kill(session.guard)
    assert is_alive(session.spec.lock) and is_alive(session.spec.folder)
    assert owner_pid(session.spec.lock) == session.keeper.pid
    with session.client() as client:
        client.send("p", b"still here\n")
        until(lambda: session.out() == b"still here\n")
        client.stop("enough")
    record = session.ended()
    assert (record.ended_by, record.written_by, record.code) == (EndedBy.STOP, "keeper", 0)


def test_agent_killed_is_recorded_with_its_signal_and_its_relatives_end(bench: Bench) -> None:
    session = bench.start(shell_agent(FAMILY))
    relatives = family(session)
    bench.watch(*relatives)
    send_signal(session.agent, signal.SIGKILL)
    record = session.ended()
    assert (record.ended_by, record.signal, record.code) == (EndedBy.AGENT, "SIGKILL", None)
    assert not any(is_running(one) for one in relatives)
    assert {one.pid for one in relatives} <= {one.pid for one in record.swept}


def test_guard_and_keeper_killed_the_next_start_ends_what_is_left_first(bench: Bench) -> None:
    first = bench.start(shell_agent("trap '' TERM\n" + FAMILY + "sleep 1003"))
    relatives = family(first)
    bench.watch(*relatives, first.agent)
    # The keeper's own list of its tree is what knows the scrubbed one afterwards.
    with first.client() as client:
        client.send("p", b"x\n")
    until(lambda: set(relatives) <= set(read_seen(first.spec.folder)), "tree seen")
    for target in (first.guard, first.keeper):
        send_signal(target, signal.SIGKILL)
    until(lambda: not is_alive(first.spec.lock))
    assert read_exit(first.spec.folder) is None
    assert first.agent in [one.id for one in find_leftovers(first.spec.stamp)], "it ignores SIGTERM"
    second = bench.start(("cat",))
    assert not any(is_running(one) for one in (*relatives, first.agent))
    assert [one.id for one in find_leftovers(second.spec.stamp)] == [second.agent]


def test_guard_and_keeper_killed_a_scrubbed_orphan_is_known_from_the_keepers_list(bench: Bench) -> None:
    first = bench.start(shell_agent(FAMILY))
    scrubbed = family(first)[2]
    bench.watch(scrubbed)
    until(lambda: scrubbed in read_seen(first.spec.folder), "tree seen")
    for target in (first.guard, first.keeper):
        send_signal(target, signal.SIGKILL)
    until(lambda: not is_running(first.agent))
    assert is_running(scrubbed)
    bench.start(("cat",))
    assert not is_running(scrubbed)


def test_guard_and_keeper_killed_the_parent_death_signal_reaches_the_agent(bench: Bench) -> None:
    session = bench.start(shell_agent("trap 'echo asked > asked; exit 0' TERM; while :; do sleep 0.1; done"))
    until(lambda: len(session.tree()) > 1)
    send_signal(session.guard, signal.SIGKILL)
    send_signal(session.keeper, signal.SIGKILL)
    assert session.word("asked") == "asked"
    until(lambda: not find_leftovers(session.spec.stamp))


def test_everything_killed_at_once_a_new_start_works(bench: Bench) -> None:
    for _ in range(3):
        session = bench.start(("cat",))
        for target in (session.guard, session.keeper, session.agent):
            send_signal(target, signal.SIGKILL)
        until(lambda lock=session.spec.lock: not is_alive(lock))  # type: ignore[misc]
    assert bench.start(("cat",)).agent


def test_keeper_killed_in_the_middle_of_a_stop_says_both(bench: Bench) -> None:
    session = bench.start(shell_agent("trap '' TERM; while :; do sleep 0.1; done"), grace_seconds=1.0)
    with session.client() as client:
        client.stop("the user asked", grace=60.0)
    kill(session.keeper)
    record = session.ended()
    assert record.ended_by is EndedBy.GUARD and "the user asked" in record.reason


def test_keeper_stuck_and_killed_after_the_agent_left_the_code_is_still_known(bench: Bench) -> None:
    session = bench.start(shell_agent("read line; exit 9"))
    send_signal(session.keeper, signal.SIGSTOP)
    send_signal(session.agent, signal.SIGKILL)
    send_signal(session.keeper, signal.SIGKILL)
    assert session.ended().signal == "SIGKILL"


DAEMON = """
import json, os, signal, sys
from rekindle.keeper.launch import spawn
from rekindle.keeper.spec import Spec
print("up", flush=True)
spawn(Spec(**json.loads(sys.argv[1])))
os.killpg(0, signal.SIGKILL)
"""


def daemon_that_starts(spec: Spec) -> subprocess.Popen[bytes]:
    """A process that spawns and then kills its own process group."""
    fields = {key: value for key, value in asdict(spec).items() if key != "background"}
    source = str(Path(rekindle.keeper.__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-c", DAEMON, json.dumps(fields)],
        env={**os.environ, "PYTHONPATH": source},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def test_killing_the_daemons_process_group_leaves_all_three_alive(bench: Bench) -> None:
    spec = bench.spec(("cat",))
    daemon = daemon_that_starts(spec)
    daemon.communicate(timeout=30)
    assert daemon.returncode == -signal.SIGKILL
    session = bench.adopt(spec)
    assert all(is_running(one) for one in (session.guard, session.keeper, session.agent))
    with session.client() as client:
        assert client.send("p", b"x\n").n == 1


def test_daemon_killed_while_it_starts_a_session_the_next_one_finds_it(bench: Bench) -> None:
    spec = bench.spec(("cat",))
    daemon = daemon_that_starts(spec)
    until(lambda: ours(spec), "guard executed")
    daemon.kill()
    daemon.communicate(timeout=30)
    until(lambda: read_identity(spec.folder), "identity")
    session = bench.adopt(spec)
    until(lambda: Path(session.started.socket).exists())
    assert is_alive(spec.folder) and is_running(session.agent)


def ours(spec: Spec) -> list[ProcessId]:
    """Guard and keeper (and the process that forks the guard), by their command line."""
    found = []
    for pid in all_pids():
        with contextlib.suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if spec.folder.encode() in line and any(word.endswith(b"program.py") for word in line):
                found.append(id_of(pid))
    return found


def all_killed(spec: Spec, daemon: subprocess.Popen[bytes]) -> bool:
    """Kill what is there; whether that was all.

    A look that finds nobody proves nothing while the start goes on: whoever was listed may have forked and ended before
    its command line was read. `spawn` knows: it comes back when the start succeeded, or at the end of the last of them.
    """
    is_over = daemon.poll() is not None
    victims = ours(spec)
    for victim in victims:
        send_signal(victim, signal.SIGKILL)
    return is_over and not victims


@pytest.mark.parametrize("milliseconds", [0, 15, 30, 45, 60, 90])
def test_guard_and_keeper_killed_while_starting_leave_the_way_free(bench: Bench, milliseconds: int) -> None:
    spec = bench.spec(("cat",))
    daemon = daemon_that_starts(spec)
    try:
        until(lambda: ours(spec), "guard executed")
        time.sleep(milliseconds / 1000)  # not to wait for something, but to hit another moment
        until(lambda: all_killed(spec, daemon), "an end of guard and keeper")
        until(lambda: not is_alive(spec.lock))
    finally:
        daemon.kill()
        daemon.communicate(timeout=30)
    session = bench.start(("cat",))
    assert [one.id for one in find_leftovers(spec.stamp)] == [session.agent]


@pytest.mark.parametrize("victim", ["guard", "keeper"])
def test_sigterm_to_ours_is_a_graceful_stop(bench: Bench, victim: str) -> None:
    session = bench.start(("cat",))
    send_signal(getattr(session, victim), signal.SIGTERM)
    record = session.ended()
    assert (record.ended_by, record.code) == (EndedBy.STOP, 0)
    assert "SIGTERM" in record.reason
