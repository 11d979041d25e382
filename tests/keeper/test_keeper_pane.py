"""A keeper in somebody's terminal: the agent is seen and used there, and ends with it."""

import fcntl
import os
import select
import struct
import subprocess
import termios
from collections.abc import Iterator

import pytest

from rekindle.keeper.launch import spawn
from rekindle.keeper.outcome import EndedBy
from rekindle.keeper.processes import is_running
from tests.keeper.keeper_bench import Bench, Session, kill, shell_agent, until


class Terminal:
    """A terminal emulator without a window."""

    def __init__(self) -> None:
        self.master = -1
        self.screen = b""
        self._process: subprocess.Popen[bytes] | None = None

    def open(self, line: tuple[str, ...]) -> None:
        self.master, slave = os.openpty()
        self.resize(33, 99)
        self._process = subprocess.Popen(["setsid", "--ctty", *line], stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)

    def resize(self, rows: int, cols: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def shows(self, text: bytes) -> bool:
        while select.select([self.master], [], [], 0)[0]:
            try:
                self.screen += os.read(self.master, 65536)
            except OSError:
                break
        return text in self.screen

    def close(self) -> None:
        if self.master >= 0:
            os.close(self.master)
            self.master = -1
        if self._process is not None:
            self._process.wait(10)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.close()


def start(bench: Bench, terminal: Terminal, script: str) -> Session:
    spec = bench.spec(shell_agent(script), pty=True)
    spawn(spec, open_terminal=terminal.open)
    return bench.adopt(spec)


def test_what_the_agent_says_is_shown_and_spooled_and_keys_reach_it(bench: Bench, terminal: Terminal) -> None:
    session = start(bench, terminal, "stty size < /dev/tty; cat")
    until(lambda: terminal.shows(b"33 99"))
    terminal.type(b"by hand\r")
    until(lambda: terminal.shows(b"by hand\r\nby hand\r\n"))
    with session.client() as client:
        client.send("p", b"by message\n")
    until(lambda: terminal.shows(b"by message\r\nby message\r\n"))
    assert session.out() == terminal.screen


def test_the_agents_window_follows_the_terminals(bench: Bench, terminal: Terminal) -> None:
    start(bench, terminal, "trap 'stty size < /dev/tty' WINCH; echo on; while :; do sleep 0.05; done")
    until(lambda: terminal.shows(b"on"))
    terminal.resize(47, 123)
    until(lambda: terminal.shows(b"47 123"))


def test_closing_the_terminal_ends_the_whole_tree_and_that_is_on_record(bench: Bench, terminal: Terminal) -> None:
    session = start(bench, terminal, "setsid sleep 1000 & echo $! > moved; cat")
    moved = session.pid_word("moved")
    bench.watch(moved)
    terminal.close()
    record = session.ended()
    assert record.ended_by is EndedBy.TERMINAL
    assert not is_running(moved)


def test_the_agents_end_closes_the_terminal(bench: Bench, terminal: Terminal) -> None:
    session = start(bench, terminal, "echo bye; exit 3")
    record = session.ended()
    assert (record.ended_by, record.code) == (EndedBy.AGENT, 3)
    until(lambda: not is_running(session.guard))
    assert terminal.shows(b"bye\r\n")


def test_keeper_killed_the_guard_ends_the_tree_in_the_terminal(bench: Bench, terminal: Terminal) -> None:
    session = start(bench, terminal, "setsid sleep 1000 & echo $! > moved; cat")
    moved = session.pid_word("moved")
    bench.watch(moved)
    kill(session.keeper)
    assert session.ended().ended_by is EndedBy.GUARD
    assert not is_running(moved)


def test_an_agent_waits_for_a_terminal_that_nobody_reads_and_loses_nothing(bench: Bench, terminal: Terminal) -> None:
    session = start(bench, terminal, "head -c 3000000 /dev/zero | tr '\\0' x; echo the end; cat")
    with session.client() as client:
        assert client.status()["state"] == "running"
    until(lambda: terminal.shows(b"the end"))
    assert session.out().count(b"x") == 3000000
