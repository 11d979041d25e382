"""Starts that fail for a while, with real processes: the session stays in every list, and comes back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rekindle.adapters.daemon_socket.client import is_served
from tests.e2e.daemon import Machine, until
from tests.e2e.emulator import Emulated


@pytest.fixture
def machine() -> Iterator[Machine]:
    """An agent that is found by its name in a folder of its own: it can be taken away."""
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        programs = Path(folder, "bin")
        made = Machine(Path(folder, "home"), Path(folder, "work"), "qwen", {"PATH": str(programs)})
        for one in (made.home, made.work, programs):
            one.mkdir()
        install(programs)
        yield made
        made.clean_up()
        assert made.stamped() == []


def install(programs: Path) -> Path:
    program = programs / "qwen"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -m rekindle.scripted\n")
    program.chmod(0o700)
    return program


def program_of(machine: Machine) -> Path:
    return Path(machine.variables["PATH"], "qwen")


def killed_in_its_turn(machine: Machine, *options: str) -> str:
    session = machine.begin("say begin", "sleep 600", "say end", options=options)
    machine.until_said(session, "sleep: 600")
    machine.kill(machine.pids(session)["agent"])
    return session


def listed(machine: Machine, session: str, *options: str) -> dict[str, object]:
    return next(row for row in machine.json("ps", *options)["sessions"] if row["id"] == session)


def test_a_program_that_is_missing_for_a_moment_hides_no_session(machine: Machine) -> None:
    session = killed_in_its_turn(machine)
    machine.until_status(session, "interrupted")
    program_of(machine).unlink()
    refused = machine.run("resume", session)
    assert refused.returncode == 1
    assert "install it with" in refused.stdout + refused.stderr
    row = listed(machine, session)
    assert (row["status"], row["needs_you"], row["needs_resume"]) == ("interrupted", True, True)
    assert "qwen" in str(row["why"])
    assert session in machine.ok("ps")
    assert session in machine.ok()
    every = machine.run("resume", "--all")
    assert every.returncode == 1, "something should have come back and did not"
    assert session in every.stdout + every.stderr
    assert "install it with" in every.stdout + every.stderr
    install(program_of(machine).parent)
    told = machine.ok("resume", "--all")
    assert session in told
    machine.until_said(session, "\nend\n")


def test_one_that_goes_on_by_itself_does_so_when_its_program_is_there_again(machine: Machine) -> None:
    session = machine.begin("say begin", "sleep 600", "say end", options=("--policy", "continue"))
    machine.until_said(session, "sleep: 600")
    program_of(machine).unlink()
    machine.kill(machine.pids(session)["agent"])
    until(lambda: listed(machine, session)["attempt"] == 2 and machine.status(session) == "interrupted", "the failure")
    row = listed(machine, session)
    assert row["needs_you"] is True
    assert "qwen" in str(row["why"])
    tries = row["attempt"]
    until(lambda: "tried again" in machine.ok("ps"), "the promise")
    install(program_of(machine).parent)
    machine.until_said(session, "\nend\n")
    assert listed(machine, session)["attempt"] == int(str(tries)) + 1, "looking for a program spends no attempt"


def test_a_prompt_to_a_session_that_cannot_start_is_delivered_once_it_can(machine: Machine) -> None:
    session = machine.begin("say first")
    machine.until_status(session, "waiting")
    machine.ok("stop", session, "--sleep")
    program_of(machine).unlink()
    sent = machine.run("send", session, "say second", "--follow")
    assert sent.returncode == 1
    assert "stays in the queue" in sent.stdout
    assert "install it with" in sent.stdout
    assert listed(machine, session)["queued"] == 1
    install(program_of(machine).parent)
    machine.until_said(session, "\nsecond\n")
    machine.until_status(session, "waiting")
    assert machine.said(session).count("\nsecond\n") == 1


def test_a_run_whose_agent_is_not_there_says_so_and_its_prompt_is_kept(machine: Machine) -> None:
    program_of(machine).unlink()
    done = machine.run("run", "--agent", "qwen", "say hello")
    assert done.returncode == 1
    assert "install it with" in done.stderr
    assert "there is no program qwen on the PATH" in done.stderr
    (row,) = machine.json("ps")["sessions"]
    assert (row["status"], row["queued"], row["attempt"]) == ("interrupted", 1, 1), "nobody waits for useless tries"
    assert row["waits_until"] is None, "a missing program does not come at a certain time"
    install(program_of(machine).parent)
    machine.until_said(str(row["id"]), "\nhello\n")


def test_a_resume_goes_on_when_whoever_asked_for_it_is_killed(machine: Machine) -> None:
    session = killed_in_its_turn(machine)
    machine.until_status(session, "interrupted")
    gate = machine.work / "gate"
    program_of(machine).write_text(
        f"#!/bin/sh\nwhile [ ! -e {gate} ]; do sleep 0.05; done\nexec {sys.executable} -m rekindle.scripted\n"
    )
    with machine.start("resume", session) as asking:
        until(lambda: listed(machine, session)["attempt"] == 2, "the second attempt")
        asking.kill()
    assert listed(machine, session)["status"] == "starting", "nobody waits for it, and its agent is not ready"
    gate.touch()
    machine.until_said(session, "\nend\n")
    assert machine.receipt(session)["kind"] == "same"
    assert listed(machine, session)["attempt"] == 2


def test_an_error_on_a_terminal_breaks_between_words_and_has_its_next_step_on_a_line_of_its_own(
    machine: Machine,
) -> None:
    program_of(machine).unlink()
    with Emulated(machine, "run", "--agent", "qwen", "say hello", columns=60) as person:
        assert person.leave() == 1
        (row,) = machine.json("ps")["sessions"]
        *told, last = person.lines
    assert last == f"  next: rekindle resume {row['id']}"
    begin = next(number for number, line in enumerate(told) if line.startswith("rekindle: "))
    assert len(told[begin:]) > 1, "too long for one line"
    assert " ".join(line.strip() for line in told[begin:]) == f"rekindle: {row['id']} is interrupted: {row['why']}"
    with Emulated(machine, "run", "--agent", "nobody", "x", columns=60) as person:
        assert person.leave() == 2
        *told, last = person.lines
    assert last == "  See `rekindle run --help`"
    assert "'claude', 'codex'" in " ".join(told)


@contextmanager
def killing_guards(folder: Path) -> Iterator[list[int]]:
    """Kill every guard of a session's folder as soon as it is there: while it starts.

    The nursery is killed too: what it forks is there too soon to be hunted.
    """
    killed: list[int] = []
    over = threading.Event()

    def hunt() -> None:
        sought, nursery = os.fsencode(folder) + b"/", b"--nursery\0"
        while not over.is_set():
            for name in os.listdir("/proc"):
                if not name.isdigit():
                    continue
                try:
                    line = Path("/proc", name, "cmdline").read_bytes()
                    if b"keeper/program.py" not in line:
                        continue
                    if sought in line:
                        os.kill(int(name), signal.SIGKILL)
                        killed.append(int(name))
                    elif nursery in line and os.fsencode(folder.parent) in line:
                        os.kill(int(name), signal.SIGKILL)
                except OSError:
                    continue

    hunter = threading.Thread(target=hunt)
    hunter.start()
    try:
        yield killed
    finally:
        over.set()
        hunter.join()


def test_a_guard_killed_while_it_starts_leaves_the_session_interrupted_and_in_every_list(machine: Machine) -> None:
    session = killed_in_its_turn(machine)
    machine.until_status(session, "interrupted")
    with killing_guards(Path(machine.places.sessions, session)) as killed:
        refused = machine.run("resume", "--all")
    assert killed
    assert refused.returncode == 1
    assert listed(machine, session)["status"] == "interrupted"
    assert session in machine.ok()
    machine.ok("resume", "--all")
    machine.until_said(session, "\nend\n")


def test_a_prompt_whose_guard_is_killed_while_it_starts_is_delivered_by_itself(machine: Machine) -> None:
    session = machine.begin("say first")
    machine.until_status(session, "waiting")
    machine.ok("stop", session, "--sleep")
    with killing_guards(Path(machine.places.sessions, session)) as killed:
        command = [str(Path(sys.executable).parent / "rekindle"), "send", session, "say second"]
        sending = subprocess.Popen(command, cwd=machine.work, env=machine.environment(), stdout=subprocess.PIPE)
        until(lambda: killed, "a guard")
        until(lambda: machine.show(session)["attempt"] > 1 and not machine.show(session)["pid"], "the failed start")
    sending.communicate(timeout=120)
    machine.until_said(session, "\nsecond\n")
    machine.until_status(session, "waiting")
    assert machine.said(session).count("\nsecond\n") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small tmpfs")
def test_little_room_hides_no_session_and_what_waits_goes_on_when_there_is_some(machine: Machine) -> None:
    sessions = Path(machine.places.sessions)
    sessions.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "tmpfs", str(sessions)], check=True)
    ballast = sessions / "ballast"
    try:
        session = killed_in_its_turn(machine)
        machine.until_status(session, "interrupted")
        free = os.statvfs(sessions)
        with ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize - (12 << 20))
        refused = machine.run("resume", "--all")
        assert (refused.returncode, "room" in refused.stdout + refused.stderr) == (1, True)
        row = listed(machine, session)
        assert (row["status"], "room" in str(row["why"])) == ("interrupted", True)
        assert machine.run("send", session, "say second").returncode == 1
        ballast.unlink()
        machine.until_said(session, "\nsecond\n")
    finally:
        ballast.unlink(missing_ok=True)
        machine.clean_up()
        subprocess.run(["umount", "-l", str(sessions)], check=True)


def test_without_a_daemon_it_is_said_that_one_goes_on_when_there_is_one_and_explaining_changes_nothing(
    machine: Machine,
) -> None:
    session = machine.begin("say begin", "sleep 600", "say end", options=("--policy", "continue"))
    machine.until_said(session, "sleep: 600")
    machine.kill_daemon()
    for victim in ("guard", "keeper", "agent"):
        machine.kill(machine.pids(session)[victim])
    row = listed(machine, session)
    assert (row["status"], row["needs_you"]) == ("interrupted", True)
    assert "policy continue: it continues when the daemon runs" in str(row["why"])
    assert f"next: rekindle resume {session}" in machine.ok("ps")
    assert "continues when the daemon runs" in machine.ok()
    before = Path(machine.places.store).read_bytes()
    told = machine.json("resume", "--explain")
    assert (told["id"], "start attempt 2" in told["decision"]) == (session, True)
    assert machine.json("resume", session[:6], "--explain")["decision"] == told["decision"]
    assert session in str(machine.json("resume", "--all", "--explain"))
    assert not is_served(machine.places), "looking starts no daemon"
    assert Path(machine.places.store).read_bytes() == before
    assert listed(machine, session)["status"] == "interrupted"
    machine.ok("resume", session)  # whether it or the daemon was first, it is back
    machine.until_said(session, "\nend\n")
    assert machine.show(session)["attempt"] == 2


def test_a_resume_of_one_that_has_come_back_by_itself_says_so_and_is_no_failure(machine: Machine) -> None:
    session = killed_in_its_turn(machine, "--policy", "continue")
    until(lambda: listed(machine, session)["attempt"] == 2 and machine.status(session) != "interrupted", "attempt 2")
    back = machine.run("resume", session)
    assert (back.returncode, "come back by itself" in back.stdout) == (0, True), back.stderr
    assert machine.show(session)["attempt"] == 2


def test_explaining_asks_a_daemon_that_runs_and_changes_nothing(machine: Machine) -> None:
    session = killed_in_its_turn(machine)
    machine.until_status(session, "interrupted")
    before = machine.show(session)
    assert "start attempt 2" in machine.ok("resume", session, "--explain")
    assert machine.show(session) == before
