"""Who is inside an agent: by real processes, and by any line of ancestors."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.adapters.machine import ancestry
from rekindle.adapters.machine.ancestry import line, standing_of
from rekindle.core.inside import Ancestor, harmless, may_ask, standing

#: Its first thread ends, so that it looks like a zombie; another one starts a child and stays.
HEADLESS = """
import ctypes, subprocess, sys, threading, time
def stay():
    time.sleep(0.3)
    child = subprocess.Popen(["sleep", "60"])
    print(child.pid, flush=True)
    child.wait()
threading.Thread(target=stay).start()
ctypes.CDLL(None).pthread_exit(None)
"""

#: Takes in orphans, as a keeper does, and runs what it is given, with an empty environment.
KEEPER = """
import ctypes, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
subprocess.run([sys.executable, "-c", *sys.argv[1:]], env={})
subprocess.run(["sleep", "60"])
"""
#: So many processes as it is told, each the child of the one before; all take in orphans, and who ends is gone at once.
NESTED = """
import ctypes, os, signal, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(int(sys.argv[1])):
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    if os.fork():
        time.sleep(60)
        os._exit(0)
print(os.getpid(), flush=True)
time.sleep(60)
"""


@pytest.fixture
def nested() -> Iterator[Callable[[int], int]]:
    """Starts so many processes, one in the other, below one with the mark; the pid of the innermost."""
    begun: list[subprocess.Popen[bytes]] = []

    def start(count: int) -> int:
        words = [sys.executable, "-c", KEEPER, NESTED, str(count)]
        env = {"REKINDLE_STAMP": "x", "PATH": os.environ["PATH"]}
        begun.append(subprocess.Popen(words, env=env, stdout=subprocess.PIPE, start_new_session=True))
        return _child(begun[-1])

    yield start
    for process in begun:
        os.killpg(process.pid, 9)
        process.communicate()


@pytest.fixture
def marked() -> Iterator[subprocess.Popen[bytes]]:
    """A process with the mark, whose child has an empty environment."""
    words = ["sh", "-c", "env -i sleep 60 & echo $!; wait"]
    with subprocess.Popen(words, env={"REKINDLE_STAMP": "x", "PATH": os.environ["PATH"]}, stdout=subprocess.PIPE) as it:
        yield it
        it.kill()


def _child(process: subprocess.Popen[bytes]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


def test_a_child_without_the_mark_is_found_by_its_parent(marked: subprocess.Popen[bytes]) -> None:
    child = _child(marked)
    try:
        assert standing_of(child) == "inside"
    finally:
        os.kill(child, 9)


def test_a_parent_that_goes_on_without_its_first_thread_is_still_a_parent() -> None:
    env = {"REKINDLE_STAMP": "x", "PATH": os.environ["PATH"]}
    outer = ["sh", "-c", f'{sys.executable} -c "$0"; true', HEADLESS]
    with subprocess.Popen(outer, env=env, stdout=subprocess.PIPE) as process:
        child = _child(process)
        try:
            assert standing_of(child) == "inside"
        finally:
            os.kill(child, 9)
            process.wait()


def test_parents_that_end_while_they_are_looked_at_hide_nobody_above_them(
    nested: Callable[[int], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an agent could arrange it: whenever the walk comes to a parent, that one has just ended."""
    child = nested(3)
    look = ancestry._look
    found = line(child)
    assert found is not None
    mortal = [one.pid for one in found[1:3]]

    def ending(pid: int) -> object:
        if pid in mortal:
            mortal.remove(pid)
            os.kill(pid, 9)
            while os.path.exists(f"/proc/{pid}"):
                time.sleep(0.001)
        return look(pid)

    monkeypatch.setattr(ancestry, "_look", ending)
    assert standing_of(child) == "inside"
    assert mortal == []


def test_a_long_line_of_ancestors_hides_nobody_at_its_end(nested: Callable[[int], int]) -> None:
    assert standing_of(nested(100)) == "inside"
    assert standing_of(nested(600)) != "outside"


def test_this_test_is_outside_and_knows_the_daemon_among_its_ancestors() -> None:
    assert standing_of(os.getpid()) == "outside"
    assert standing_of(os.getpid(), daemon=os.getppid()) == "inside"


def test_a_process_that_is_gone_or_another_one_is_not_vouched_for() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert standing_of(process.pid) == "unknown"
    found = line(os.getpid())
    assert found is not None
    assert standing_of(os.getpid(), found[0].started) == "outside"
    assert standing_of(os.getpid(), found[0].started + 1) == "unknown"


def test_a_line_that_keeps_changing_comes_to_an_end() -> None:
    began = time.monotonic()
    assert standing_of(1 << 22) == "unknown"
    assert time.monotonic() - began < 5


ANCESTORS = st.lists(
    st.builds(
        Ancestor,
        st.integers(1, 99),
        st.integers(0, 9),
        st.sampled_from(["sh", "claude", "rekindle-keeper", "rekindle-guard"]),
        st.booleans(),
    ),
    max_size=6,
)


@given(ANCESTORS, st.integers(1, 99))
def test_whoever_has_an_agent_above_is_inside_and_nobody_is_outside_without_a_line(
    found: list[Ancestor], daemon: int
) -> None:
    agent = any(one.marked or one.name.startswith("rekindle-") or one.pid == daemon for one in found)
    assert standing(found, daemon) == ("unknown" if not found else "inside" if agent else "outside")


@pytest.mark.parametrize(
    "operation", ["answer", "send", "run", "fork", "resume", "stop", "show", "feed", "follow_feed"]
)
def test_what_only_a_person_may_do(operation: str) -> None:
    assert not may_ask(operation)
    assert may_ask("journal_append", "task.started")
    assert not may_ask("journal_append", "resume.decided")


def test_a_session_keeps_its_fields_and_tells_nothing() -> None:
    told = harmless({"id": "a", "title": "secret", "asks": {"title": "secret"}, "notices": ["secret"], "pid": 7})
    assert told == {"id": "a", "title": "", "asks": None, "notices": [], "pid": None}


def test_where_nobody_can_tell_it_counts_as_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not ancestry.is_inside()
    monkeypatch.setattr(ancestry, "line", lambda *_: None)
    assert ancestry.is_inside()


def test_nobody_is_vouched_for_when_no_file_can_be_opened(marked: subprocess.Popen[bytes]) -> None:
    child = _child(marked)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    found = set()
    most = 16 + max(map(int, os.listdir("/proc/self/fd")))
    try:
        for spare in range(most):
            resource.setrlimit(resource.RLIMIT_NOFILE, (spare, hard))
            found.add(standing_of(child))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        os.kill(child, 9)
    assert found == {"inside", "unknown"}
