"""Agents as interactive programs, with real tmux: started, spoken to, looked at, joined, killed and brought back."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rekindle.adapters.keepers.tmux import Terminals, name
from rekindle.keeper.processes import ProcessId, id_of
from tests.e2e.daemon import BIN, Machine, is_running, until

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]

CHATTER = Path(__file__).with_name("chatter.py")


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A machine whose `claude` is the stand-in."""
    with tempfile.TemporaryDirectory(prefix="rk-", ignore_cleanup_errors=True) as folder:
        for inner in ("home", "work", "bin", "run"):
            Path(folder, inner).mkdir(mode=0o700)
        program = Path(folder, "bin", "claude")
        program.write_text(f"#!{sys.executable}\n{CHATTER.read_text()}")
        program.chmod(0o755)
        variables = {"PATH": str(program.parent), "XDG_RUNTIME_DIR": str(Path(folder, "run"))}
        made = Machine(Path(folder, "home"), Path(folder, "work"), "claude", variables)
        yield made
        made.clean_up()
        until(lambda: tmux(made, "list-sessions").returncode != 0, "the end of tmux")


def tmux(machine: Machine, *words: str) -> subprocess.CompletedProcess[str]:
    line = ["tmux", "-S", machine.places.terminals, *words]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def begin(machine: Machine, prompt: str = "hello there", *options: str) -> str:
    session = machine.begin(prompt, options=("--terminal", *options))
    until_shown(machine, session, f"you said <{prompt}>")
    machine.until_status(session, "waiting")
    return session


def until_shown(machine: Machine, session: str, text: str) -> None:
    until(lambda: text in machine.run("capture", session).stdout, f"{text!r} on the screen")


def remembered(machine: Machine, session: str) -> int:
    found = re.search(r"--resume, (\d+) prompts remembered", machine.ok("capture", session, "--history", "100"))
    assert found, "it was not resumed"
    return int(found[1])


def test_prompts_are_typed_the_screen_is_captured_and_the_turn_ends_with_silence(machine: Machine) -> None:
    session = begin(machine)
    assert "delivered" in machine.ok("send", session, "two\nlines\tand a tab \x1b")
    until_shown(machine, session, "you said <lines    and a tab>")
    shown = machine.show(session)
    assert shown["terminal"] is True
    assert shown["session"]["prompts"][0]["outcome"] == "silence"
    assert machine.json("capture", session)["screen"].count("you said <hello there>") == 1
    machine.until_status(session, "waiting")
    logs = [(one["kind"], one["text"]) for one in machine.json("logs", session)["entries"]]
    assert logs[:2] == [("prompt", "hello there"), ("said", "you said <hello there>")], "from the agent's own record"


def test_the_keeper_lives_in_a_pane_of_our_own_server(machine: Machine) -> None:
    session = begin(machine)
    socket = Path(machine.places.terminals)
    assert (socket.parent.stat().st_mode & 0o777, socket.parent) == (0o700, Path(machine.places.runtime))
    panes = tmux(machine, "list-panes", "-s", "-t", name(session), "-F", "#{pane_pid}").stdout.split()
    pids = machine.pids(session)
    assert panes == [str(pids["guard"])]
    terminals = Terminals(str(socket))
    assert terminals.is_open(session, id_of(pids["guard"]))
    assert not terminals.is_open(session, ProcessId(pids["guard"], 1))
    assert not terminals.is_open(session, id_of(pids["agent"]))
    assert not terminals.is_open("other", id_of(pids["guard"]))


@pytest.mark.parametrize("how", ["session", "server"])
def test_a_killed_terminal_comes_back_with_the_same_conversation(machine: Machine, how: str) -> None:
    session = begin(machine)
    agent = machine.pids(session)["agent"]
    if how == "session":
        tmux(machine, "kill-session", "-t", name(session))
    else:
        machine.kill(int(tmux(machine, "display-message", "-p", "#{pid}").stdout))
    machine.until_status(session, "dead")
    assert not is_running(agent)
    assert machine.show(session)["session"]["attempts"][0]["how_ended"] == "the terminal that it was used in was closed"
    assert f"rekindle resume {session}" in machine.run("capture", session).stderr
    machine.ok("resume", session)
    assert remembered(machine, session) == 1
    machine.ok("send", session, "still there?")
    until_shown(machine, session, "you said <still there?>")
    machine.until_status(session, "waiting")
    assert machine.show(session)["receipt"]["kind"] == "same"


def test_an_agent_killed_in_its_turn_is_told_to_go_on_in_the_same_conversation(machine: Machine) -> None:
    session = machine.begin("ponder this", options=("--terminal",))
    until_shown(machine, session, "......")
    assert machine.status(session) == "working"
    machine.kill(machine.pids(session)["agent"])
    machine.until_status(session, "interrupted")
    machine.ok("resume", session)
    assert remembered(machine, session) == 1
    machine.until_status(session, "waiting")
    prompts = machine.show(session)["session"]["prompts"]
    assert [one["text"] for one in prompts].count("ponder this") == 1
    assert prompts[-1]["by"] == "rekindle"


def test_the_agent_stays_and_its_turn_ends_when_the_daemon_is_killed_in_between(machine: Machine) -> None:
    session = machine.begin("ponder that", options=("--terminal",))
    until_shown(machine, session, "......")
    before = machine.pids(session)
    machine.kill_daemon()
    machine.work.joinpath("enough").touch()
    until_shown(machine, session, "you said <ponder that>")
    machine.show(session)  # asks for a daemon, which listing does not
    machine.until_status(session, "waiting")
    assert machine.pids(session) == before
    assert [one["state"] for one in machine.show(session)["session"]["prompts"]] == ["done"]


def test_attach_joins_the_terminal_and_leaving_it_leaves_the_agent(machine: Machine) -> None:
    session = begin(machine)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(machine.work)
        words = [str(BIN / "rekindle"), "attach", session]
        os.execve(words[0], words, machine.environment(TERM="xterm"))
    seen = bytearray()

    def shows(text: bytes) -> bool:
        while select.select([terminal], [], [], 0)[0]:
            try:
                seen.extend(os.read(terminal, 65536))
            except OSError:
                break
        return text in seen

    try:
        until(lambda: shows(b"you said <hello there>"), "the screen")
        os.write(terminal, b"by hand\r")
        until(lambda: shows(b"you said <by hand>"), "the answer")
        until_shown(machine, session, "window 23 x 80")
        os.write(terminal, b"\x02d")
        until(lambda: shows(b"detached"), "the way out")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
    assert machine.status(session) == "waiting"


def test_stop_ends_the_agent_and_closes_its_terminal(machine: Machine) -> None:
    session = begin(machine)
    pids = machine.pids(session)
    machine.ok("stop", session)
    until(lambda: not any(is_running(pid) for pid in pids.values()), "the end of the tree")
    until(lambda: tmux(machine, "has-session", "-t", name(session)).returncode != 0, "the end of the terminal")


def test_without_tmux_the_remedy_is_named(machine: Machine) -> None:
    empty = machine.work / "bin"
    empty.mkdir()
    for program in ("git", "env"):
        (empty / program).symlink_to(str(shutil.which(program)))
    done = machine.run("run", "--terminal", "--agent", "claude", "hello", PATH=str(empty))
    assert done.returncode != 0
    assert "install it" in done.stderr


def test_what_has_no_terminal_says_so(machine: Machine) -> None:
    refused = machine.run("run", "--terminal", "--agent", "codex", "say x")
    assert refused.returncode != 0 and "cannot be used in a terminal" in refused.stderr
    plain = machine.ok("run", "--detach", "--agent", "scripted", "say x").strip()
    assert f"rekindle logs {plain}" in machine.run("capture", plain).stderr


@pytest.fixture
def practice(machine: Machine) -> Machine:
    """The same machine, for the agent that needs no account."""
    return replace(machine, agent="scripted")


def test_the_scripted_agent_can_be_tried_in_a_terminal(practice: Machine) -> None:
    session = practice.begin("say one", "write notes.txt of several lines", options=("--terminal",))
    until_shown(practice, session, "wrote 16 bytes")
    practice.until_status(session, "waiting")
    assert practice.work.joinpath("notes.txt").read_text() == "of several lines"
    assert "needs no account" in practice.ok("capture", session)
    practice.ok("send", session, "say two")
    until_shown(practice, session, "> say two\ntwo")
    practice.until_status(session, "waiting")
    logs = [(one["kind"], one["text"]) for one in practice.json("logs", session)["entries"]]
    assert ("said", "two") in logs, "from the agent's own record"


def test_a_question_of_the_scripted_agent_is_answered_on_its_screen(practice: Machine) -> None:
    session = practice.begin("ask May I?", "say I may", options=("--terminal",))
    until_shown(practice, session, "2  Allow always")
    assert practice.status(session) == "working"
    for keys in ("x", "1"):
        tmux(practice, "send-keys", "-t", name(session), keys, "Enter")
    until_shown(practice, session, "I may")
    practice.until_status(session, "waiting")


def test_the_scripted_agent_killed_in_its_terminal_comes_back_in_the_same_conversation(practice: Machine) -> None:
    session = practice.begin("say before", "run sleep 600", "say after", options=("--terminal",))
    until_shown(practice, session, "* run: sleep 600")
    practice.kill(practice.pids(session)["agent"])
    practice.until_status(session, "interrupted")
    practice.ok("resume", session)
    until_shown(practice, session, "after")
    practice.until_status(session, "waiting")
    screen = practice.ok("capture", session, "--history", "100")
    assert "Resumed conversation" in screen
    assert "step 2 (run sleep 600) was started, its outcome is unknown; I do not repeat it." in screen
    assert practice.receipt(session)["kind"] == "same"
