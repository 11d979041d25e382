"""The scripts that agents call: what they send, what they take for an answer, and that the client gets all the rest."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rekindle.adapters.machine.hook_script import PERL, SCRIPT
from rekindle.doors.socket.hook_door import VARIABLES
from rekindle.hooks.install import command_of
from tests.e2e.daemon import BIN
from tests.e2e.test_hook_door import script_for

#: A client that keeps what it was given, and says what it was told by the script.
CLIENT = f"""#!{sys.executable}
import os, sys
place = os.path.join(os.environ["HOME"], "client")
with open(place, "ab") as file:
    file.write(sys.stdin.buffer.read() if sys.stdin else b"(closed)")
name, locale = (os.environ.get(one, "-") for one in ("REKINDLE_HOOK_CALL", "LC_ALL"))
with open(place + ".told", "a") as file:
    file.write(f"{{name}} {{locale}}\\n")
"""
CALL = b'{"odd": "\xff\xfe \x00 \xc3"}\n\n\x00\n'
pytestmark = pytest.mark.skipif(not os.access(PERL, os.X_OK), reason="perl is not installed")


@dataclass
class Door:
    """A socket in the daemon's place. Keeps what it was sent, and then does what a test says."""

    path: Path
    after: Callable[[socket.socket], None]
    requests: list[bytes] = field(default_factory=list)
    sent: threading.Event = field(default_factory=threading.Event)

    @contextlib.contextmanager
    def opened(self) -> Iterator[Door]:
        self.path.parent.mkdir(parents=True)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.path))
            listener.listen(8)
            thread = threading.Thread(target=self._serve, args=(listener,))
            thread.start()
            try:
                yield self
            finally:
                with contextlib.suppress(OSError):
                    listener.shutdown(socket.SHUT_RDWR)
                thread.join()

    def _serve(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection, contextlib.suppress(ConnectionError):
                    self.requests.append(_request(connection))
                    self.sent.set()
                    self.after(connection)


def _request(connection: socket.socket) -> bytes:
    """All of one request: it says how long its call is."""
    had = b""
    while b"\n\n" not in had or len(had.partition(b"\n\n")[2]) < int(had.split(b"\n")[0].split()[3]):
        more = connection.recv(65536)
        if not more:
            break
        had += more
    return had


@dataclass(frozen=True)
class Caller:
    """An agent that calls the script, with a client of the test's own beside it."""

    home: Path
    program: Path

    def environment(self, **more: str) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": os.environ["PATH"], **more}

    def call(self, given: bytes = CALL, **more: str) -> subprocess.CompletedProcess[bytes]:
        environment = self.environment(**more)
        return subprocess.run(
            [str(self.program)],
            input=given,
            env=environment,
            cwd=self.home,
            capture_output=True,
            timeout=30,
            check=False,
        )

    @contextlib.contextmanager
    def started(self) -> Iterator[subprocess.Popen[bytes]]:
        pipe, environment = subprocess.PIPE, self.environment()
        with subprocess.Popen([str(self.program)], env=environment, stdin=pipe, stdout=pipe, stderr=pipe) as hook:
            try:
                yield hook
            finally:
                hook.kill()

    @property
    def door(self) -> Path:
        return self.home / ".local" / "state" / "rekindle" / "hook.sock"

    @property
    def handed_on(self) -> bytes | None:
        """What the client was given; None if it was not started."""
        place = self.home / "client"
        return place.read_bytes() if place.exists() else None

    @property
    def told(self) -> list[list[str]]:
        """The call's name and the locale, for each start of the client."""
        return [line.split() for line in (self.home / "client.told").read_text().splitlines()]


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a short name: a socket's address is short."""
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        (Path(folder) / "home").mkdir()
        yield Path(folder)


@pytest.fixture(params=["rekindle-hook", "rekindle-hook-direct"])
def caller(short: Path, request: pytest.FixtureRequest) -> Caller:
    return Caller(short / "home", script_for(short / "a b;c$(d)'", {}, CLIENT).with_name(request.param))


@pytest.fixture
def by_shell(short: Path) -> Caller:
    """One that begins with a shell, which can put right what an environment says."""
    return Caller(short / "home", script_for(short / "a b;c$(d)'", {}, CLIENT))


def says(*parts: bytes) -> Callable[[socket.socket], None]:
    def after(connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)

    return after


def keeps_silent(connection: socket.socket) -> None:
    while connection.recv(100):
        pass


def test_the_daemon_is_sent_the_very_bytes_and_the_agent_gets_what_it_answers(caller: Caller) -> None:
    with Door(caller.door, says(b"ok ", b"two\nlines \xc3\xa4 ", b"x" * 300_000, b"\n")).opened() as door:
        done = caller.call(TMUX_PANE="%7", REKINDLE_SID="", STY="a=b")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"two\nlines \xc3\xa4 " + b"x" * 300_000
    head, _, call = door.requests[0].partition(b"\n\n")
    first, *variables = head.decode().split("\n")
    assert call == CALL and caller.handed_on is None
    greeting, version, name, length = first.split()
    assert (greeting, version, len(name), length) == ("rekindle-hook", "1", 36, str(len(CALL)))
    pairs = dict(line.split("=", 1) for line in variables)
    assert tuple(pairs) == VARIABLES
    assert {key: value for key, value in pairs.items() if value} == {
        "PWD": str(caller.home),
        "HOME": str(caller.home),
        "TMUX_PANE": "%7",
        "STY": "a=b",
    }


@pytest.mark.parametrize(
    "answer",
    [(b"no\n",), (b"",), (b"o",), (b"ok",), (b"ok half of it",), (b"okay\n",), (b"\x00\xff" * 50_000,), (b"no\nok\n",)],
    ids=["no", "nothing", "half a word", "no end", "half a line", "another word", "garbage", "ok too late"],
)
def test_after_any_other_answer_the_client_gets_the_call_and_its_name(
    caller: Caller, answer: tuple[bytes, ...]
) -> None:
    with Door(caller.door, says(*answer)).opened() as door:
        done = caller.call()
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert caller.handed_on == CALL
    assert [name for name, _ in caller.told] == [door.requests[0].split()[2].decode()]


def test_a_daemon_that_keeps_silent_is_not_waited_for(caller: Caller) -> None:
    with Door(caller.door, keeps_silent).opened() as door:
        done = caller.call()
    assert (done.returncode, done.stdout, caller.handed_on) == (0, b"", CALL)
    assert len(door.requests) == 1


def test_an_answer_that_never_ends_is_not_waited_for(caller: Caller) -> None:
    over = threading.Event()

    def after(connection: socket.socket) -> None:
        while not over.wait(0.1):
            connection.sendall(b"x")

    with Door(caller.door, after).opened():
        try:
            done = caller.call()
        finally:
            over.set()
    assert (done.returncode, done.stdout, caller.handed_on) == (0, b"", CALL)


@pytest.mark.parametrize("by_name", [True, False], ids=["folder", "variable"])
def test_line_breaks_in_a_name_forge_no_call(caller: Caller, by_name: bool) -> None:
    """A repository may have a folder whose name looks like the rest of a request, and like another call."""
    forged = '{"hook_event_name":"Stop"}'
    some, others = ("".join(f"\n{name}=" for name in names) for names in (VARIABLES[1:8], VARIABLES[8:]))
    folder = caller.home / (f"a{some}/b{others}\n\n{forged}" if by_name else "a")
    folder.mkdir(parents=True)
    words = {} if by_name else {VARIABLES[-1]: f"x\n\n{forged}"}
    with Door(caller.door, says(b"ok\n")).opened() as door:
        done = subprocess.run(
            [str(caller.program)],
            input=CALL,
            env=caller.environment(**words),
            cwd=folder,
            capture_output=True,
            timeout=30,
            check=False,
        )
    assert (done.returncode, caller.handed_on) == (0, CALL)
    assert door.requests == [b""], "nothing of it was sent"


def test_a_daemon_that_reads_nothing_does_not_hold_a_call_up(caller: Caller) -> None:
    given = b"x" * 999_999
    caller.door.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(caller.door))
        listener.listen(1)
        done = caller.call(given)
    assert (done.returncode, done.stderr, caller.handed_on) == (0, b"", given)


def test_a_door_that_nobody_answers_leads_to_the_client(caller: Caller) -> None:
    caller.door.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(caller.door))
    done = caller.call()
    assert (done.returncode, done.stderr, caller.handed_on) == (0, b"", CALL)


@pytest.mark.parametrize("length", [1_000_000, 1_000_001, 5_000_000])
def test_a_call_of_more_than_a_megabyte_is_handed_on_whole(caller: Caller, length: int) -> None:
    given = os.urandom(length)
    with Door(caller.door, says(b"ok\n")).opened() as door:
        assert caller.call(given).returncode == 0
    if length > 1_000_000:
        assert caller.handed_on == given
        assert door.requests == [b""], "nothing of it was sent"
    else:
        assert caller.handed_on is None
        assert door.requests[0].endswith(b"\n\n" + given)


@pytest.mark.parametrize("locale", ["", "de_DE.UTF-8"])
def test_the_client_has_the_locale_of_the_agent(by_shell: Caller, locale: str) -> None:
    with Door(by_shell.door, says(b"no\n")).opened():
        by_shell.call(CALL, **({"LC_ALL": locale} if locale else {}))
    assert [told for _, told in by_shell.told] == [locale or "-"]


def test_the_installed_command_finds_its_programs_wherever_they_are(by_shell: Caller) -> None:
    words = ("/bin/sh", "-c", command_of(str(by_shell.program)))
    environment = by_shell.environment(LANG="xx_YY.UTF-8", PERL5OPT="-Mno::such::module")

    def call() -> tuple[int, bytes, bytes]:
        done = subprocess.run(
            words, input=CALL, env=environment, cwd=by_shell.home, capture_output=True, timeout=30, check=False
        )
        return done.returncode, done.stdout, done.stderr

    assert (call(), by_shell.handed_on) == ((0, b"", b""), CALL)
    with Door(by_shell.door, says(b"ok told\n")).opened() as door:
        by_shell.program.unlink()
        assert call() == (0, b"told", b"")
    assert len(door.requests) == 1 and by_shell.handed_on == CALL, "the client was not called again"


def test_a_machine_that_has_only_the_program_notes_its_calls_all_the_same(by_shell: Caller) -> None:
    """Settings are shared, and a socket outlives the rekindle that announced it."""
    by_shell.program.with_name("rekindle-hook-direct").unlink()
    with Door(by_shell.door, says(b"ok\n")).opened() as door:
        done = subprocess.run(
            ("/bin/sh", "-c", command_of(str(by_shell.program))),
            input=CALL,
            env=by_shell.environment(),
            cwd=by_shell.home,
            capture_output=True,
            timeout=30,
            check=False,
        )
    assert (done.returncode, by_shell.handed_on, door.requests) == (0, CALL, [])


def test_a_word_for_another_agent_is_the_clients(caller: Caller) -> None:
    with Door(caller.door, says(b"ok\n")).opened() as door:
        done = subprocess.run(
            [str(caller.program), "codex"],
            input=CALL,
            env=caller.environment(),
            cwd=caller.home,
            capture_output=True,
            timeout=30,
            check=False,
        )
    assert (done.returncode, caller.handed_on, door.requests) == (0, CALL, [])


@pytest.mark.parametrize(
    "variables",
    [
        {"PERL5OPT": "-Mno::such::module"},
        {"PERL5OPT": "-d", "PERL5DB": "BEGIN { exit 0 }"},
        {"PERL5LIB": "/nowhere", "PERLLIB": "/nowhere", "PERLIO": ":crlf"},
        {"PERL_UNICODE": "SDA", "PERL_HASH_SEED": "0"},
    ],
    ids=["module", "debugger", "folders", "encoding"],
)
def test_what_the_agent_sets_for_perl_changes_nothing(caller: Caller, variables: dict[str, str]) -> None:
    with Door(caller.door, says(b"ok \xc3\xa4\n")).opened() as door:
        done = caller.call(CALL, **variables)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"\xc3\xa4", b"")
    assert door.requests[0].endswith(b"\n\n" + CALL) and caller.handed_on is None


@pytest.mark.parametrize(
    "variables",
    [{"PERL_HASH_SEED": "odd", "PERL_HASH_SEED_DEBUG": "1"}, {"LC_ALL": "xx_YY.UTF-8", "LANG": "xx_YY"}],
    ids=["hashes", "no such locale"],
)
def test_the_shell_keeps_from_perl_what_it_would_complain_about(by_shell: Caller, variables: dict[str, str]) -> None:
    with Door(by_shell.door, says(b"ok \xc3\xa4\n")).opened() as door:
        done = by_shell.call(CALL, **variables)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"\xc3\xa4", b"")
    assert door.requests[0].endswith(b"\n\n" + CALL) and by_shell.handed_on is None


def test_another_perl_in_the_path_is_not_used(caller: Caller) -> None:
    other = caller.home / "bin"
    other.mkdir()
    (other / "perl").write_text("#!/bin/sh\nexit 1\n")
    (other / "perl").chmod(0o755)
    with Door(caller.door, says(b"ok\n")).opened() as door:
        done = caller.call(PATH=f"{other}:{os.environ['PATH']}")
    assert (done.returncode, caller.handed_on, len(door.requests)) == (0, None, 1)


@pytest.mark.parametrize("perl", [None, "", "#!/nowhere/at/all\n"], ids=["none", "no program", "cannot start"])
def test_without_a_perl_that_starts_the_client_gets_the_call(short: Path, perl: str | None) -> None:
    there = short / "perl"
    if perl is not None:
        there.write_text(perl)
        there.chmod(0o755 if perl else 0o644)
    program = script_for(short / "bin", {f"perl={PERL}\n": f"perl={there}\n"}, CLIENT)
    caller = Caller(short / "home", program)
    with Door(caller.door, says(b"ok\n")).opened() as door:
        done = caller.call()
    assert (done.returncode, caller.handed_on, door.requests) == (0, CALL, [])
    assert not done.stderr or perl, "that it is not there is no news"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_another_users_door_is_not_knocked_at(caller: Caller) -> None:
    with Door(caller.door, says(b"ok\n")).opened() as door:
        os.chown(caller.door, 65534, 65534)
        done = caller.call()
    assert (done.returncode, caller.handed_on, door.requests) == (0, CALL, [])


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("answer", [b"ok told\n", b"no\n"], ids=["confirmed", "refused"])
def test_closed_streams_break_nothing(caller: Caller, closed: str, answer: bytes) -> None:
    words = ["sh", "-c", f'exec "$0" {closed}', str(caller.program)]
    with Door(caller.door, says(answer)).opened() as door:
        done = subprocess.run(
            words, input=CALL, env=caller.environment(), cwd=caller.home, capture_output=True, timeout=30, check=False
        )
    given = b"" if "<" in closed else CALL
    assert (done.returncode, done.stderr) == (0, b"")
    assert door.requests[0].endswith(b"\n\n" + given)
    assert caller.handed_on == (None if answer.startswith(b"ok") else given)
    assert done.stdout == (b"told" if answer.startswith(b"ok") and ">&-" not in closed.replace("2>&-", "") else b"")


def test_an_agent_can_end_a_hook_that_has_not_got_its_whole_call(caller: Caller) -> None:
    with Door(caller.door, keeps_silent).opened(), caller.started() as hook:
        assert hook.stdin is not None
        hook.stdin.write(b"x" * 500_000)  # more than a pipe takes: it is reading
        hook.stdin.flush()
        hook.send_signal(signal.SIGHUP)
        hook.send_signal(signal.SIGINT)
        hook.send_signal(signal.SIGTERM)
        assert hook.wait(30) == -signal.SIGTERM
    assert caller.handed_on is None


@pytest.mark.parametrize("answer", [b"ok told\n", b"no\n"], ids=["confirmed", "refused"])
def test_a_hook_that_has_its_call_finishes_whatever_it_is_sent(caller: Caller, answer: bytes) -> None:
    go = threading.Event()

    def after(connection: socket.socket) -> None:
        go.wait(30)
        connection.sendall(answer)

    with Door(caller.door, after).opened() as door, caller.started() as hook:
        assert hook.stdin is not None
        hook.stdin.write(CALL)
        hook.stdin.close()
        assert door.sent.wait(30)
        for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            hook.send_signal(one)
        go.set()
        assert hook.wait(30) == 0
        assert hook.stdout is not None
        told = hook.stdout.read()
    assert (told, caller.handed_on) == ((b"told", None) if answer.startswith(b"ok") else (b"", CALL))


def test_the_package_has_the_scripts_that_are_installed() -> None:
    shell = SCRIPT.with_name("rekindle-hook")
    for script in (shell, SCRIPT):
        assert (BIN / script.name).read_bytes() == script.read_bytes() and os.access(script, os.X_OK)
    assert shell.read_text().startswith("#!/bin/sh\n") and f"\nperl={PERL}\n" in shell.read_text()
    assert SCRIPT.read_text().startswith(f"#!{PERL} -t\n"), "as it is tried"
