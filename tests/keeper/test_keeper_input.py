"""Input: acknowledged means on the disk, the same id means once, a lower generation means no."""

import io
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from rekindle.keeper.client import Sent
from rekindle.keeper.errors import Refused, ReplacedGeneration
from rekindle.keeper.input_records import InputReader, InputRecord
from rekindle.keeper.launch import read_progress
from tests.keeper.keeper_bench import Bench, kill, python_agent, shell_agent, status, until

NEVER_READS = ("sleep", "1000")


def spooled(folder: Path) -> list[InputRecord]:
    reader = InputReader(io.BytesIO((folder / "in").read_bytes()))
    found = list(reader)
    assert reader.torn is None
    return found


def test_messages_arrive_in_order_and_are_spooled_with_id_and_generation(bench: Bench) -> None:
    session = bench.start(("cat",), generation=4)
    with session.client() as client:
        assert [client.send(f"p{n}", b"%d\n" % n).n for n in range(1, 21)] == list(range(1, 21))
        expected = b"".join(b"%d\n" % n for n in range(1, 21))
        until(lambda: session.out() == expected)
    assert spooled(session.folder) == [InputRecord(n, 4, f"p{n}", b"%d\n" % n) for n in range(1, 21)]


def test_the_same_id_is_executed_once_even_over_new_connections(bench: Bench) -> None:
    session = bench.start(("cat",))
    for attempt in range(5):
        with session.client() as client:
            assert client.send("once", b"hello\n") == Sent(1, attempt > 0)
    with session.client() as client, pytest.raises(Refused) as reused:
        client.send("once", b"something else\n")
    assert reused.value.code == "id_reused"
    with session.client() as client:
        client.send("two", b"end\n")
    until(lambda: session.out().endswith(b"end\n"))
    assert session.out() == b"hello\nend\n"


def test_a_stale_generation_is_refused_and_a_higher_one_adopted_for_good(bench: Bench) -> None:
    session = bench.start(("cat",), generation=3)
    with session.client(3) as old, session.client(5) as new:
        progress = read_progress(session.spec.folder)
        assert progress and progress.generation == 5
        for act in (
            lambda: old.send("a", b"a\n"),
            lambda: old.stop("no"),
            lambda: old.signal("SIGKILL"),
            lambda: old.punch(1),
        ):
            with pytest.raises(ReplacedGeneration) as refused:
                act()
            assert refused.value.current == 5
        assert new.send("b", b"b\n").n == 1
        assert new.send("c", b"c\n", generation=6).n == 2
        with pytest.raises(ReplacedGeneration):
            new.signal("SIGKILL")
        with pytest.raises(ReplacedGeneration):
            session.client(4)
    until(lambda: session.out() == b"b\nc\n")
    assert spooled(session.folder)[1].generation == 6
    kill(session.keeper)
    assert session.ended().generation == 6


def test_an_agent_that_never_reads_does_not_block_the_keeper(bench: Bench) -> None:
    session = bench.start(NEVER_READS)
    payload = os.urandom(1 << 20)
    with session.client() as client, session.client() as other:
        assert client.send("big", payload).n == 1
        assert client.send("next", b"x").n == 2
        before = time.monotonic()
        seen = status(other)["input"]
        assert time.monotonic() - before < 1.0
        assert (seen["spooled_n"], seen["started_n"], seen["delivered_n"]) == (2, 1, 0)
        assert seen["waiting_bytes"] == (1 << 20) + 1
        assert 0 < seen["unread_bytes"] < 1 << 20
    assert spooled(session.folder)[0].payload == payload


def test_what_was_not_delivered_can_be_told_after_the_keepers_death(bench: Bench) -> None:
    session = bench.start(shell_agent("read line; echo got $line; exec sleep 1000"))
    with session.client() as client:
        client.send("small", b"one\n")
        until(lambda: b"got one" in session.out())
        client.send("large", bytes(1 << 20))
        begun = read_progress(session.spec.folder)
        assert begun and (begun.delivered_n, begun.started_n) == (1, 2)
        client.send("after", b"three\n")
    kill(session.keeper)
    record = session.ended()
    progress = read_progress(session.spec.folder)
    assert progress
    # 1 is delivered, 2 in doubt (begun, not finished), 3 certainly not delivered.
    assert (progress.delivered_n, progress.started_n, progress.spooled_n) == (1, 2, 3)
    assert (record.delivered_n, record.started_n, record.spooled_n) == (1, 2, 3)
    assert [one.prompt for one in spooled(session.folder)] == ["small", "large", "after"]


def test_a_large_message_arrives_whole_at_a_slow_reader(bench: Bench) -> None:
    code = """
import hashlib, os, sys, time
while not os.path.exists("may-read"):
    time.sleep(0.01)
left, total = 3 << 20, hashlib.sha256()
while left:
    data = sys.stdin.buffer.raw.read(min(left, 4099))
    left -= len(data)
    total.update(data)
print(total.hexdigest(), flush=True)
"""
    import hashlib

    session = bench.start(python_agent(code))
    payload = os.urandom(3 << 20)
    with session.client() as client:
        client.send("big", payload)
    (Path(session.spec.cwd) / "may-read").touch()
    assert session.ended().code == 0
    assert session.out().decode().strip() == hashlib.sha256(payload).hexdigest()


def test_clients_are_served_after_stdin_was_closed(bench: Bench) -> None:
    # The number of the closed descriptor goes to the next client: it must not be taken for stdin.
    session = bench.start(shell_agent("exec 0<&-; echo closed; exec sleep 1000"))
    until(lambda: session.out() == b"closed\n")
    with session.client() as client:
        client.send("p", b"x")
        until(lambda: not status(client)["input"]["open"])
        with pytest.raises(Refused) as closed:
            client.send("late", b"x")
        assert closed.value.code == "stdin_closed"
        others = [session.client() for _ in range(4)]
        assert [status(other)["input"]["open"] for other in others] == [False] * 4
        for other in others:
            other.close()


def test_an_observer_may_only_look(bench: Bench) -> None:
    from rekindle.keeper.client import Client

    session = bench.start(("cat",))
    with Client.for_folder(session.spec.folder) as observer:
        assert status(observer)["state"] == "running"
        for act in (lambda: observer.stop("no"), lambda: observer.send("a", b"", generation=9)):
            with pytest.raises(Refused) as refused:
                act()
            assert refused.value.code == "observer"


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_a_message_is_synced_before_it_is_acknowledged_or_delivered(bench: Bench) -> None:
    session = bench.start(("cat",))
    trace = bench.root / "trace"
    strace = subprocess.Popen(
        ["strace", "-p", str(session.keeper.pid), "-s", "200", "-o", str(trace)],
        stderr=subprocess.PIPE,
    )
    assert strace.stderr and strace.stderr.readline()
    with session.client() as client:
        client.send("p", b"payload-of-p\n")
        until(lambda: session.out())
    strace.terminate()
    strace.communicate(timeout=10)
    lines = trace.read_text().splitlines()
    written = next(n for n, line in enumerate(lines) if "pwrite64" in line and "RKI1" in line)
    synced = next(n for n, line in enumerate(lines) if n > written and line.startswith("fdatasync"))
    delivered = next(n for n, line in enumerate(lines) if line.startswith("write") and "payload-of-p" in line)
    answered = next(n for n, line in enumerate(lines) if line.startswith("sendto") and "duplicate" in line)
    assert written < synced < min(delivered, answered)
