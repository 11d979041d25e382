"""With a pty: the agent has a controlling terminal, its words are spooled, nothing blocks."""

from rekindle.keeper.outcome import EndedBy
from rekindle.keeper.processes import is_running
from tests.keeper.keeper_bench import Bench, kill, python_agent, shell_agent, status, until


def test_the_agent_has_a_controlling_terminal_that_echoes(bench: Bench) -> None:
    session = bench.start(shell_agent("tty; stty size < /dev/tty; cat"), pty=True, rows=30, cols=100)
    until(lambda: b"30 100" in session.out())
    assert session.out().startswith(b"/dev/pts/")
    with session.client() as client:
        assert client.hello["pty"] is True
        assert client.send("p", b"hello\n").n == 1
        # Once from the terminal's echo, once from cat.
        until(lambda: session.out().count(b"hello\r\n") == 2)
        assert status(client)["input"]["delivered_n"] == 1


def test_the_last_words_before_an_exit_are_kept(bench: Bench) -> None:
    session = bench.start(shell_agent("head -c 200000 /dev/zero | tr '\\0' x; echo; echo the end; exit 4"), pty=True)
    record = session.ended()
    assert record.code == 4
    assert session.out().endswith(b"the end\r\n")
    assert session.out().count(b"x") == 200000
    assert record.out_size == len(session.out())


def test_an_agent_that_does_not_read_its_terminal_does_not_block_the_keeper(bench: Bench) -> None:
    code = "import sys, tty, time; tty.setraw(0); print('raw', flush=True); time.sleep(1000)"
    session = bench.start(python_agent(code), pty=True, grace_seconds=0.5)
    until(lambda: b"raw" in session.out())
    with session.client() as client:
        client.send("big", bytes(1 << 20))
        seen = status(client)["input"]
        assert (seen["started_n"], seen["delivered_n"]) == (1, 0)


def test_stop_ends_an_interactive_shell_and_its_jobs(bench: Bench) -> None:
    session = bench.start(("bash", "--norc", "-i"), pty=True, grace_seconds=3.0)
    with session.client() as client:
        client.send("job", b"sleep 1000 & echo $! > job\n")
        job = session.pid_word("job")
        client.stop("close the terminal")
        assert client.wait_closed(10)
    record = session.ended()
    assert record.ended_by is EndedBy.STOP
    assert not is_running(job)


def test_keeper_killed_the_terminals_tree_is_ended(bench: Bench) -> None:
    session = bench.start(shell_agent("setsid sleep 1000 & echo $! > moved; cat"), pty=True)
    moved = session.pid_word("moved")
    bench.watch(moved)
    kill(session.keeper)
    assert session.ended().ended_by is EndedBy.GUARD
    assert not is_running(moved)
