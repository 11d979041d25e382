"""A stopped daemon or keeper (SIGSTOP): no command hangs, each says who does not answer and what to do."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rekindle.adapters.machine.process_identity import is_stopped
from tests.e2e.daemon import Machine, is_running, until

pytestmark = pytest.mark.timeout(240)
#: A few seconds, and what a busy machine needs to start a command.
PATIENCE = 15.0


@pytest.fixture
def machine() -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        made = Machine(Path(folder, "home"), Path(folder, "work"))
        made.home.mkdir()
        made.work.mkdir()
        yield made
        made.clean_up()


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        until(lambda: is_stopped(pid), "the process to stop")
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def quickly(machine: Machine, *words: str) -> tuple[int, str]:
    begun = time.monotonic()
    done = machine.run(*words)
    assert time.monotonic() - begun < PATIENCE, words
    return done.returncode, done.stdout + done.stderr


def test_with_a_stopped_daemon_ps_reads_the_store_and_says_whom_it_could_not_ask(machine: Machine) -> None:
    session = machine.begin("say first", "sleep 600")
    machine.until_said(session, "sleep: 600")
    machine.until_status(session, "working")
    daemon = machine.daemon()
    with stopped(daemon):
        status, told = quickly(machine, "ps")
        assert (status, session in told, "working" in told) == (0, True, True)
        assert f"the daemon (pid {daemon}) is stopped and does not answer" in told
        assert f"kill -CONT {daemon}" in told
        shown = machine.json("ps")
        assert [row["status"] for row in shown["sessions"]] == ["working"]
        assert str(daemon) in shown["unasked"]
    assert "unasked" not in machine.json("ps")


def test_with_a_stopped_daemon_the_bare_command_and_doctor_say_so_too(machine: Machine) -> None:
    session = machine.begin("say first")
    machine.until_status(session, "waiting")
    daemon = machine.daemon()
    with stopped(daemon):
        for words, status in (((), 0), (("doctor",), 1)):
            found, told = quickly(machine, *words)
            assert found == status, told
            assert f"the daemon (pid {daemon}) is stopped and does not answer" in told
            assert f"kill -CONT {daemon}" in told
            assert "a daemon is running" not in told
    assert "stopped" not in machine.ok()
    assert "a daemon is running" in machine.ok("doctor")


@pytest.mark.parametrize("words", [("send", "say second"), ("show",), ("resume",), ("stop",), ("cancel",)])
def test_with_a_stopped_daemon_a_command_fails_at_once_and_nothing_is_asked(
    machine: Machine, words: tuple[str, ...]
) -> None:
    session = machine.begin("say first")
    machine.until_status(session, "waiting")
    daemon = machine.daemon()
    with stopped(daemon):
        status, told = quickly(machine, words[0], session, *words[1:])
        assert status == 1
        assert f"the daemon (pid {daemon}) is stopped and does not answer; no request was sent" in told
        assert f"kill -CONT {daemon}" in told
    assert machine.status(session) == "waiting"
    assert [prompt["text"] for prompt in machine.show(session)["session"]["prompts"]] == ["say first"]


def test_a_daemon_that_is_stopped_while_it_is_asked_is_not_waited_for(machine: Machine) -> None:
    session = machine.begin("say first", "sleep 600")
    machine.until_said(session, "sleep: 600")
    daemon = machine.daemon()
    waiting = machine.start("attach", session)
    try:
        assert waiting.stdout is not None and waiting.stdout.readline()  # it is connected, and asks again and again
        with stopped(daemon):
            out, _ = waiting.communicate(timeout=PATIENCE)
        assert waiting.returncode == 1
        assert f"the daemon (pid {daemon}) is stopped and does not answer" in out
        assert "may still be carried out when it continues" in out
    finally:
        waiting.kill()
        waiting.wait()


def test_a_prompt_to_a_session_whose_keeper_is_stopped_is_queued_and_delivered_once(machine: Machine) -> None:
    session = machine.begin("say first")
    machine.until_status(session, "waiting")
    keeper = machine.pids(session)["keeper"]
    with stopped(keeper):
        status, told = quickly(machine, "send", session, "say second")
        assert status == 1
        assert f"queued; its keeper (pid {keeper}) is stopped and does not answer" in told
        assert f"kill -CONT {keeper}" in told
        assert quickly(machine, "ps")[0] == 0
        machine.kill_daemon()  # it was queued durably
        assert session in quickly(machine, "ps")[1]
    machine.ok("show", session)
    machine.until_said(session, "second")
    machine.until_status(session, "waiting")
    prompts = [prompt["text"] for prompt in machine.show(session)["session"]["prompts"]]
    assert prompts == ["say first", "say second"]
    assert machine.said(session).count("\nsecond\n") == 1


def test_a_stop_of_a_session_whose_keeper_is_stopped_says_so_and_happens_later(machine: Machine) -> None:
    session = machine.begin("say first", "sleep 600")
    machine.until_said(session, "sleep: 600")
    pids = machine.pids(session)
    with stopped(pids["keeper"]):
        status, told = quickly(machine, "stop", session)
        assert status == 1
        assert f"its keeper (pid {pids['keeper']}) is stopped and does not answer" in told
    until(lambda: not is_running(pids["agent"]), "the end that was asked for")
    machine.until_status(session, "cancelled")
