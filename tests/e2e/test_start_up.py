"""Everything was killed, and the daemon comes back: few agents at once, the most urgent first, and all work is done.

What runs is counted from the processes of the machine, not from what rekindle says.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.daemon import Machine, is_running, until
from tests.soaking import only_in_soak

pytestmark = pytest.mark.timeout(3000)
MOST = 3
PRIORITIES = ("low", "normal", "high")
#: What one agent with its guard and its keeper, and the daemon, may take of the machine's memory at most.
_MB_PER_AGENT, _MB_DAEMON = 150, 400


class Sampler:
    """Looks at the machine's processes all the time: how many agents live at once, and how much memory all take."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.most_agents, self.most_megabytes, self.looks = 0, 0.0, 0

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.05):
            agents, keepers = self._processes()
            self.most_agents = max(self.most_agents, len(agents))
            if self.looks % 10 == 0:  # to ask for the memory of a process holds it up
                daemon = Path(self._machine.places.daemon_lock)
                server = [int(daemon.read_text())] if daemon.exists() and daemon.read_text() else []
                self.most_megabytes = max(self.most_megabytes, sum(map(_megabytes, [*agents, *keepers, *server])))
            self.looks += 1

    def _processes(self) -> tuple[list[int], list[int]]:
        """The agents of this machine, and their guards and keepers, in one look at all processes."""
        home, sessions = f"HOME={self._machine.home}\0".encode(), self._machine.places.sessions.encode()
        words = {int(name): _read(int(name), "cmdline") for name in os.listdir("/proc") if name.isdigit()}
        agents = [pid for pid, told in words.items() if b"rekindle.scripted" in told and home in _read(pid, "environ")]
        return agents, [pid for pid, told in words.items() if sessions in told]


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def _megabytes(pid: int) -> float:
    """What a process takes, each shared page divided by those that share it."""
    lines = _read(pid, "smaps_rollup").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(b"Pss:")) / 1024


def interrupted(machine: Machine, count: int) -> list[str]:
    """Sessions whose agents were all killed in the middle of their work; nothing runs any more.

    One session has the only place all the while, so that none of those that were killed comes back before its time.
    """
    machine.ok("config", "set", "max_agents", "1")
    hog = machine.begin("sleep 6000")
    machine.until_said(hog, "sleep: 6000")
    made: list[str] = []
    while len(made) < count:
        more = [_begun(machine, len(made) + number) for number in range(min(20, count - len(made)))]
        for session in more:
            machine.until_said(session, "sleep: 600")
        for session in more:
            _kill(machine, session)
        until(partial(_are, machine, more, "interrupted"), "the end of their agents")
        made += more
    machine.kill_daemon()
    _kill(machine, hog)
    machine.ok("config", "set", "max_agents", str(MOST))
    assert machine.stamped() == []
    return made


def _begun(machine: Machine, number: int) -> str:
    options = ("--policy", "continue", "--priority", PRIORITIES[number % 3])
    return machine.begin("say begin", "once a sleep 600", "stream 20 0.05 word", "say the end", options=options)


def _kill(machine: Machine, session: str) -> None:
    for pid in machine.pids(session).values():
        if is_running(pid):
            os.kill(pid, 9)
    until(lambda: not any(is_running(pid) for pid in machine.pids(session).values()), "their end")


def _are(machine: Machine, sessions: Sequence[str], status: str) -> bool:
    return all(one["status"] == status for one in machine.sessions() if one["id"] in sessions)


def _done(machine: Machine, sessions: Sequence[str]) -> bool:
    with sqlite3.connect(machine.places.store) as store:
        rows = store.execute("SELECT DISTINCT subject FROM facts WHERE stream = 'session' AND kind = 'turn_finished'")
        return {str(row[0]) for row in rows} >= set(sessions)


def _restarted(machine: Machine) -> list[str]:
    """The sessions that were started again, in the order in which they were."""
    wanted = "stream = 'session' AND kind = 'launch_intended' AND json_extract(body, '$.attempt') > 1"
    with sqlite3.connect(machine.places.store) as store:
        rows = store.execute(f"SELECT subject FROM facts WHERE {wanted} ORDER BY seq")
        return [str(row[0]) for row in rows]


@pytest.mark.parametrize("count", [12, *only_in_soak(200)])
def test_few_agents_at_once_the_most_urgent_first_in_bounded_memory_and_all_work_is_done(
    machine: Machine, count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    sessions = interrupted(machine, count)
    urgency = {name: PRIORITIES.index(PRIORITIES[number % 3]) for number, name in enumerate(sessions)}
    with Sampler(machine) as sampler:
        began = time.monotonic()
        told = machine.ok("governor")
        answered = time.monotonic() - began
        assert f"at most {MOST}: the setting max_agents" in told
        said = f"it waits for its turn: {MOST} of {MOST} agents are working"
        until(lambda: [one for one in machine.sessions() if said in one["why"]], "a line, and all places taken")
        until(lambda: _done(machine, sessions), "the end of all work", 20.0 + 5.0 * count)
        took = time.monotonic() - began
    with capsys.disabled():
        print(
            f"\n{count} interrupted sessions: at most {sampler.most_agents} agents at once,"
            f" {sampler.most_megabytes:.0f} MB for all of them with the daemon, {sampler.looks} looks;"
            f" the first answer after {answered:.1f} s, all done after {took:.0f} s"
        )
    assert 1 <= sampler.most_agents <= MOST
    assert sampler.most_megabytes <= _MB_DAEMON + MOST * _MB_PER_AGENT
    started = _restarted(machine)
    assert sorted(started) == sorted(sessions), "each was brought back once"
    order = [urgency[name] for name in started]
    assert order == sorted(order, reverse=True), "the most urgent first"
    for name in sessions:
        assert machine.said(name).splitlines().count("the end") == 1
