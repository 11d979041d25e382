"""The disk: room is reserved ahead, a full one is said and recovered from, a shortened output is noticed."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rekindle.keeper.errors import NoRoom, NoRoomForInput
from rekindle.keeper.launch import is_alive, read_exit
from rekindle.keeper.outcome import EndedBy
from rekindle.keeper.processes import is_running
from rekindle.keeper.room import give_back, may_run, reserved
from rekindle.keeper.spec import Background
from tests.keeper.keeper_bench import Bench, Session, bench_in, kill, python_agent, shell_agent, status, until

MIB = 1 << 20


@pytest.fixture
def small() -> Iterator[Bench]:
    """A bench on a file system of 8 MiB."""
    root = Path("/dev/shm") / f"rk-{os.getpid()}"
    root.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "rekindle-test", str(root)], capture_output=True, text=True
    )
    if mounted.returncode:
        root.rmdir()
        pytest.skip(f"NOT TESTED: a full disk needs a small tmpfs and mount failed: {mounted.stderr.strip()}")
    try:
        with bench_in(root) as bench:
            yield bench
    finally:
        subprocess.run(["umount", str(root)], check=True)
        root.rmdir()


def fill(bench: Bench) -> Path:
    ballast = bench.root / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(65536)) == 65536:
                pass
        except OSError:
            pass
    return ballast


def test_room_is_reserved_ahead_and_given_back_at_the_end(bench: Bench) -> None:
    session = bench.start(("cat",), reserve_bytes=4 * MIB)
    reserved = (session.folder / "out").stat()
    assert (reserved.st_size, reserved.st_blocks * 512 >= 4 * MIB) == (0, True)
    with session.client() as client:
        client.send("p", b"x\n")
        until(session.out)
        client.stop("done")
    session.ended()
    assert (session.folder / "out").stat().st_blocks * 512 < MIB


def _kill_both(session: Session) -> None:
    for one in (session.guard, session.keeper):
        kill(one)
    until(lambda: not is_running(session.agent), "an end of the agent, which is told when its keeper dies")


def test_room_reserved_by_a_guard_and_keeper_who_were_killed_is_given_back_by_the_next_start(bench: Bench) -> None:
    first = bench.start(("cat",), reserve_bytes=4 * MIB)
    with first.client() as client:
        client.send("p", b"said\n")
        until(first.out)
    _kill_both(first)
    before = {name: (first.folder / name).stat() for name in ("out", "err", "in")}
    assert sum(one.st_blocks for one in before.values()) * 512 > 5 * MIB, "nobody lived to give it back"
    bench.start(("cat",), reserve_bytes=MIB)
    after = {name: (first.folder / name).stat() for name in ("out", "err", "in")}
    assert sum(one.st_blocks for one in after.values()) * 512 < MIB // 8
    for name in before:
        kept = ("st_size", "st_mtime_ns", "st_mode")
        assert [getattr(after[name], one) for one in kept] == [getattr(before[name], one) for one in kept], name
    assert first.out() == b"said\n"


def test_the_guard_of_a_killed_keeper_gives_all_the_room_back(bench: Bench) -> None:
    session = bench.start(("cat",), reserve_bytes=16 * MIB)
    kill(session.keeper)
    session.ended()
    assert until(lambda: reserved(session.spec.folder) == 0, "no room is held by out, err or in")


def test_room_is_not_taken_from_under_a_process_that_may_still_write(bench: Bench) -> None:
    session = bench.start(
        shell_agent("setsid sh -c 'echo $$ > left; exec sleep 1000' & cat"), background=Background.KEEP
    )
    left = session.pid_word("left")
    bench.watch(left)
    with session.client() as client:
        client.stop("done")
    session.ended()
    assert may_run(session.spec.folder)
    assert (give_back(session.spec.folder), reserved(session.spec.folder) > 0) == (0, True)
    kill(left)
    assert not may_run(session.spec.folder)
    assert give_back(session.spec.folder) > 0 == reserved(session.spec.folder)


def test_the_reservation_is_topped_up_as_the_output_grows(bench: Bench) -> None:
    session = bench.start(shell_agent("head -c 3000000 /dev/zero; cat"), reserve_bytes=MIB)
    until(lambda: (session.folder / "out").stat().st_size == 3000000)
    until(lambda: (session.folder / "out").stat().st_blocks * 512 >= 3000000 + MIB // 2)


def test_no_room_for_the_spool_refuses_the_start_with_a_sentence(small: Bench) -> None:
    with pytest.raises(NoRoom, match="no room for the agent's output"):
        small.start(("cat",), reserve_bytes=16 * MIB)
    assert not is_alive(small.spec(("cat",)).lock)
    # Nothing is held back by the failure.
    with small.start(("cat",), reserve_bytes=MIB).client() as client:
        client.stop("done")
        assert client.wait_closed(5)
    fill(small)
    with pytest.raises(NoRoom):
        small.start(("cat",), session="another")


def test_a_full_disk_refuses_new_input_keeps_what_the_agent_says_and_recovers(small: Bench) -> None:
    code = """
import sys
for line in sys.stdin:
    sys.stdout.write(line * 20000)
    sys.stdout.flush()
"""
    session = small.start(python_agent(code), reserve_bytes=2 * MIB)
    with session.client() as client:
        assert status(client)["room"] is True
        ballast = fill(small)
        # A turn of 1.1 MB fits into what was reserved, so nothing of it is lost on a full disk.
        line = b"x" * 54 + b"\n"
        client.send("turn", line)
        until(lambda: (session.folder / "out").stat().st_size == len(line) * 20000)
        until(lambda: status(client)["room"] is False)
        with pytest.raises(NoRoomForInput, match="Free some"):
            client.send("next", line)
        assert client.send("turn", line).duplicate, "what was accepted before is still answered"
        assert status(client)["input"]["spooled_n"] == 1
        ballast.unlink()
        until(lambda: status(client)["room"] is True)
        assert client.send("next", line).n == 2
        until(lambda: (session.folder / "out").stat().st_size == len(line) * 40000)
    assert session.out() == line * 40000


@pytest.mark.parametrize("victim", ["agent", "keeper"])
def test_the_exit_record_is_written_on_a_full_disk(small: Bench, victim: str) -> None:
    session = small.start(("cat",))
    with session.client() as client:
        client.send("p", b"x\n")
        until(session.out)
    fill(small)
    kill(getattr(session, victim))
    record = session.ended()
    assert record.out_size == 2 and record.delivered_n == 1
    assert record.ended_by is (EndedBy.GUARD if victim == "keeper" else EndedBy.AGENT)


def test_the_exit_file_is_there_from_the_start_and_half_of_it_is_no_record(bench: Bench) -> None:
    session = bench.start(("cat",))
    path = session.folder / "exit"
    blank = path.read_bytes()
    assert path.stat().st_blocks * 512 >= len(blank) > 16384
    assert read_exit(session.spec.folder) is None
    with session.client() as client:
        client.stop("done")
    session.ended()
    whole = path.read_bytes()
    assert len(whole) == len(blank)
    used = len(whole.rstrip(b"\0"))
    for cut in range(4096, used):
        path.write_bytes(whole[:cut] + blank[cut:])
        assert read_exit(session.spec.folder) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can open a file of mode 0400 for writing")
def test_a_tool_that_truncates_stdout_is_noticed_and_recorded(bench: Bench) -> None:
    script = "echo 0123456789; read line; echo x > /dev/stdout; read line; echo more; cat"
    session = bench.start(shell_agent(script))
    with session.client() as client:
        until(lambda: status(client)["out"]["size"] == 11)
        client.send("a", b"go\n")
        lost = until(lambda: status(client)["out"]["truncated"])
        assert lost["lost"] + lost["at"] == 11 and lost["times"] == 1
        client.send("b", b"go\n")
        until(lambda: b"more" in session.out())
        assert status(client)["room"] is True
        # Shortening gave the reserved blocks away: they have to be there again.
        assert (session.folder / "out").stat().st_blocks * 512 >= session.spec.reserve_bytes // 2
        client.stop("done")
    record = session.ended()
    assert record.truncated_out and record.truncated_out.lost == lost["lost"]
    assert record.truncated_err is None


def test_a_tool_of_an_ordinary_user_cannot_truncate_stdout(bench: Bench) -> None:
    if os.geteuid() != 0:
        pytest.skip("covered by the mode alone when not root")
    session = bench.start(("cat",))
    assert (session.folder / "out").stat().st_mode & 0o777 == 0o400


def test_punched_bytes_are_given_back_and_offsets_stay(bench: Bench) -> None:
    session = bench.start(shell_agent("head -c 1000000 /dev/urandom; cat"))
    until(lambda: (session.folder / "out").stat().st_size == 1000000)
    before = session.out()
    with session.client() as client:
        upto = client.punch(900000)
        assert 900000 - 4096 < upto <= 900000
        assert client.punch(10**9) <= 1000000
        client.punch(upto)
        client.send("p", b"tail\n")
    until(lambda: session.out().endswith(b"tail\n"))
    after = session.out()
    assert len(after) == 1000005
    assert not any(after[:upto]) and after[999424 + 4096 : 1000000] == before[999424 + 4096 : 1000000]
    with (session.folder / "out").open("rb") as file:
        assert os.lseek(file.fileno(), 0, os.SEEK_DATA) >= upto
