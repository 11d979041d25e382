"""The terminal callbacks with real keepers: a command runs once and outlives whoever asked for it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from acp import schema

from rekindle.adapters.callbacks.serving import Callbacks
from rekindle.agents.base.dialect import CallbackRefused, CallbackResult
from rekindle.keeper import kernel
from rekindle.keeper.launch import end_leftovers, find_leftovers, read_identity
from rekindle.keeper.processes import descendants, send_signal
from rekindle.keeper.spec import STAMP_VARIABLE, Layout
from tests.keeper.keeper_bench import reap_all, until

SAYS_WHO = "import os, sys; print(os.getcwd(), os.environ.get('X'), sys.argv[1:], sys.stdin.read() == '')"


class Place:
    """A session's folder, and daemons that come and go."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root / "work"
        self.work.mkdir()
        self.session = root / "session"
        self.stamp = f"test-{os.getpid()}-{root.name}"

    def daemon(self, generation: int = 1) -> Callbacks:
        env = {"PATH": os.environ["PATH"], "X": "base"}
        run = str(self.root / "run")
        return Callbacks(str(self.session), str(self.work), self.stamp, generation, run, env)

    def create(self, command: str, *args: str, request_id: int = 1, generation: int = 1, **params: Any) -> str:
        answer = self.daemon(generation).serve(
            "terminal/create", {"sessionId": "s", "command": command, "args": list(args), **params}, request_id
        )
        assert isinstance(answer, dict), answer
        return schema.CreateTerminalResponse.model_validate(answer, strict=True).terminal_id

    def ask(self, what: str, terminal: str) -> CallbackResult | None:
        return self.daemon().serve(f"terminal/{what}", {"sessionId": "s", "terminalId": terminal}, 99)

    def output(self, terminal: str) -> dict[str, Any]:
        answer = self.ask("output", terminal)
        assert isinstance(answer, dict), answer
        schema.TerminalOutputResponse.model_validate(answer, strict=True)
        return answer

    def ended(self, terminal: str) -> dict[str, Any]:
        answer = until(lambda: self.ask("wait_for_exit", terminal), "the exit of the terminal")
        assert isinstance(answer, dict)
        schema.WaitForTerminalExitResponse.model_validate(answer, strict=True)
        return answer

    def folder(self, terminal: str, n: int = 1) -> Path:
        return self.session / "terminals" / terminal / f"keeper-{n}"


@pytest.fixture
def place() -> Iterator[Place]:
    kernel.become_subreaper()
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        made = Place(Path(folder))
        try:
            yield made
        finally:
            still = made.daemon(2**40).terminals.end_all("end of the test")
            names = [one.name for one in made.session.glob("terminals/*")]
            left = [one for name in names for one in find_leftovers(f"{made.stamp}/{name}")]
            for name in names:
                end_leftovers(f"{made.stamp}/{name}", grace=0.0)
            until(reap_all, "all children reaped")
            kernel.become_subreaper(False)
    assert not still
    assert not left


def test_a_command_runs_with_its_arguments_folder_and_environment(place: Place) -> None:
    (place.work / "sub").mkdir()
    env = [{"name": "X", "value": "given $HOME"}]
    cwd = str(place.work / "sub")
    terminal = place.create(sys.executable, "-c", SAYS_WHO, "a b", "$(x)", "*", cwd=cwd, env=env)
    assert place.ended(terminal) == {"exitCode": 0, "signal": None}
    told = place.output(terminal)
    assert told["output"] == f"{os.path.realpath(cwd)} given $HOME ['a b', '$(x)', '*'] True\n"
    assert told["truncated"] is False
    assert told["exitStatus"] == {"exitCode": 0, "signal": None}


def test_stderr_is_in_the_output_in_its_order(place: Place) -> None:
    terminal = place.create("/bin/sh", "-c", "echo one; echo two >&2; echo three; exit 3")
    assert place.ended(terminal)["exitCode"] == 3
    assert place.output(terminal)["output"] == "one\ntwo\nthree\n"


def test_waiting_is_polled(place: Place) -> None:
    os.mkfifo(place.work / "go")
    terminal = place.create("/bin/sh", "-c", "echo begun; read x <go; exit 7")
    until(lambda: place.output(terminal)["output"] == "begun\n")
    assert place.ask("wait_for_exit", terminal) is None
    assert "exitStatus" not in place.output(terminal)
    (place.work / "go").write_text("go\n")
    assert place.ended(terminal) == {"exitCode": 7, "signal": None}


def test_a_terminal_outlives_the_daemon_and_is_found_again(place: Place) -> None:
    """The daemon is killed after the terminal was made and before anybody was told."""
    os.mkfifo(place.work / "go")
    code = (
        "import os, signal, sys\n"
        "from rekindle.adapters.callbacks.serving import Callbacks\n"
        "session, work, stamp, run, path = sys.argv[1:]\n"
        "callbacks = Callbacks(session, work, stamp, 1, run, {'PATH': path})\n"
        "order = {'command': '/bin/sh', 'args': ['-c', 'echo x >>count; echo begun; read x <go; echo done']}\n"
        "callbacks.serve('terminal/create', order, 5)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    arguments = [str(place.session), str(place.work), place.stamp, str(place.root / "run"), os.environ["PATH"]]
    died = subprocess.run([sys.executable, "-c", code, *arguments], check=False)
    assert died.returncode == -signal.SIGKILL

    terminal = place.create("/bin/false", request_id=5)  # the request stands in the spool; its order is known
    until(lambda: place.output(terminal)["output"] == "begun\n")
    (place.work / "go").write_text("go\n")
    assert place.ended(terminal)["exitCode"] == 0
    assert place.output(terminal)["output"] == "begun\ndone\n"
    assert place.create("/bin/false", request_id=5) == terminal
    assert (place.work / "count").read_text() == "x\n"


def test_each_request_and_each_attempt_has_a_terminal_of_its_own(place: Place) -> None:
    made = {
        place.create("true", request_id=1),
        place.create("true", request_id=2),
        place.create("true", request_id=1, generation=2),
    }
    assert len(made) == 3


def test_a_start_that_was_cut_is_made_again(place: Place) -> None:
    """The daemon died after it had written the spec and before the guard came to life."""
    terminal = place.create("/bin/sh", "-c", "echo x >>count", request_id=3)
    place.ended(terminal)
    folder = place.folder(terminal)
    for file in folder.iterdir():
        if file.name != "spec.json":
            file.unlink()
    assert place.create("true", request_id=3) == terminal
    assert place.ended(terminal)["exitCode"] == 0
    assert read_identity(str(folder)) is None
    assert read_identity(str(place.folder(terminal, 2))) is not None
    assert place.create("true", request_id=3) == terminal
    assert not place.folder(terminal, 3).exists()


def test_the_agent_and_other_terminals_are_no_leftovers(place: Place) -> None:
    """A keeper ends what carries its stamp when it starts: that must never be the agent or a neighbour."""
    agent = subprocess.Popen(
        ["sleep", "600"], env={STAMP_VARIABLE: place.stamp, "PATH": os.environ["PATH"]}, start_new_session=True
    )
    try:
        first = place.create("sleep", "600", request_id=1)
        place.create("true", request_id=2)
        assert agent.poll() is None
        assert place.ask("wait_for_exit", first) is None
    finally:
        agent.kill()
        agent.wait()


def test_kill_ends_the_whole_tree_and_keeps_the_output(place: Place) -> None:
    terminal = place.create("/bin/sh", "-c", "echo begun; setsid sleep 600 & sleep 600")
    until(lambda: place.output(terminal)["output"] == "begun\n")
    identity = read_identity(str(place.folder(terminal)))
    assert identity
    assert place.ask("kill", terminal) == {}
    assert place.ended(terminal) == {"exitCode": None, "signal": "SIGTERM"}
    until(lambda: not descendants(identity.guard.pid))
    assert place.output(terminal)["output"] == "begun\n"
    assert place.ask("kill", terminal) == {}


def test_release_ends_it_and_gives_it_up(place: Place) -> None:
    terminal = place.create("sleep", "600")
    assert place.ask("release", terminal) == {}
    assert place.ask("release", terminal) == {}
    for what in ("output", "wait_for_exit", "kill"):
        answer = place.ask(what, terminal)
        assert isinstance(answer, CallbackRefused)
        assert "was released" in answer.message
    until(lambda: not place.daemon().terminals.alive())


def test_end_all_leaves_nothing_running(place: Place) -> None:
    made = {place.create("sleep", "600", request_id=n) for n in range(3)}
    assert set(place.daemon().terminals.alive()) == made
    assert place.daemon().terminals.end_all("the session ends") == []
    assert place.daemon().terminals.alive() == []


def test_a_stale_daemon_is_refused(place: Place) -> None:
    terminal = place.create("sleep", "600", generation=5)
    answer = place.daemon(4).serve("terminal/kill", {"terminalId": terminal}, 1)
    assert isinstance(answer, CallbackRefused)
    assert "could not be ended" in answer.message


def test_a_terminal_whose_keepers_were_killed_has_ended_somehow(place: Place) -> None:
    terminal = place.create("sleep", "600")
    identity = read_identity(str(place.folder(terminal)))
    assert identity
    for one in (identity.guard, identity.keeper, identity.agent):
        with contextlib.suppress(ProcessLookupError):
            send_signal(one, signal.SIGKILL)
    assert place.ended(terminal) == {"exitCode": None, "signal": None}
    assert place.ask("kill", terminal) == {}
    # who is killed runs once more, to end: on a busy machine that takes a moment
    until(lambda: not find_leftovers(f"{place.stamp}/{terminal}"), "the end of the command that was killed")


@pytest.mark.parametrize(
    ("limit", "output", "truncated"),
    [
        (None, "aüü🙂", False),
        (9, "aüü🙂", False),
        (8, "üü🙂", True),
        (7, "ü🙂", True),
        (4, "🙂", True),
        (3, "", True),
        (0, "", True),
    ],
)
def test_the_output_is_cut_between_characters(place: Place, limit: int | None, output: str, truncated: bool) -> None:
    terminal = place.create("printf", "aüü🙂", outputByteLimit=limit)
    place.ended(terminal)
    told = place.output(terminal)
    assert (told["output"], told["truncated"]) == (output, truncated)


def test_bytes_that_are_no_text_stay_within_the_limit(place: Place) -> None:
    terminal = place.create("printf", r"\377\377\377\377", outputByteLimit=7)
    place.ended(terminal)
    assert place.output(terminal)["output"] == "\ufffd\ufffd"
    assert place.output(terminal)["truncated"] is True


def test_half_a_character_waits_for_the_rest(place: Place) -> None:
    os.mkfifo(place.work / "go")
    terminal = place.create("/bin/sh", "-c", r"printf 'a\303'; read x <go; printf '\274'")
    out = Path(Layout(str(place.folder(terminal))).out)
    until(lambda: out.read_bytes() == b"a\303")
    assert place.output(terminal)["output"] == "a"
    (place.work / "go").write_text("go\n")
    place.ended(terminal)
    assert place.output(terminal)["output"] == "aü"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"cwd": "/"}, "out of the working folder"),
        ({"cwd": "{work}/.."}, "out of the working folder"),
        ({"cwd": "{work}/link"}, "out of the working folder"),
        ({"cwd": "{work}/none"}, "is no folder"),
        ({"cwd": "relative"}, "no absolute path"),
        ({"args": "text"}, "args must be"),
        ({"env": [{"name": "X"}]}, "env must be"),
        ({"env": [{"name": "A=B", "value": "x"}]}, "env"),
        ({"args": ["\0"]}, "NUL"),
        ({"command": ""}, "command must be"),
        ({"outputByteLimit": -1}, "outputByteLimit must be"),
    ],
)
def test_an_order_that_cannot_be_carried_out_is_refused(place: Place, params: dict[str, Any], words: str) -> None:
    (place.work / "link").symlink_to("/")
    filled = {key: one.format(work=place.work) if key == "cwd" else one for key, one in params.items()}
    answer = place.daemon().serve("terminal/create", {"command": "true", **filled}, 1)
    assert isinstance(answer, CallbackRefused)
    assert answer.reason == "bad_request"
    assert words in answer.message
    assert place.daemon().terminals.alive() == []


def test_a_command_that_does_not_exist_says_so_in_its_output(place: Place) -> None:
    terminal = place.create("no-such-program")
    assert place.ended(terminal)["exitCode"] == 127
    assert "not found" in place.output(terminal)["output"]


@pytest.mark.parametrize("terminal", ["term-" + "0" * 24, "../session", "term-x", "/etc"])
def test_an_unknown_terminal_is_refused(place: Place, terminal: str) -> None:
    for what in ("output", "wait_for_exit", "kill", "release"):
        answer = place.ask(what, terminal)
        assert isinstance(answer, CallbackRefused)
        assert answer.reason == "not_found"
