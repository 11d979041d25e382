"""Starting: what the agent gets and does not get, and every way in which a start is refused."""

import errno
import json
import os
import stat
from pathlib import Path

import pytest

from rekindle.keeper.errors import ExecFailed, FolderInUse, LockHeld, SpecError
from rekindle.keeper.launch import (
    find_leftovers,
    is_alive,
    owner_pid,
    read_exit,
    read_identity,
    read_progress,
    spawn,
)
from rekindle.keeper.outcome import EndedBy
from rekindle.keeper.processes import is_running, look
from tests.keeper.keeper_bench import Bench, python_agent, shell_agent, status, until

TELL = """
import json, os, sys
told = {"env": dict(os.environ), "cwd": os.getcwd(),
        "sid": os.getsid(0), "pid": os.getpid(), "ppid": os.getppid(),
        "fds": sorted(int(n) for n in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + n))}
sys.stderr.write("a word on stderr\\n")
print(json.dumps(told), flush=True)
sys.stdin.read()
"""


def test_the_agent_gets_exactly_its_environment_and_nothing_of_ours(bench: Bench) -> None:
    session = bench.start(python_agent(TELL), env={"PATH": os.environ["PATH"], "ODD": "a=b\nc ü"})
    until(lambda: session.out().endswith(b"\n"))
    told = json.loads(session.out())
    told["env"].pop("LC_CTYPE", None)  # python's own doing
    assert told["env"] == {
        "PATH": os.environ["PATH"],
        "ODD": "a=b\nc ü",
        "REKINDLE_STAMP": session.spec.stamp,
    }
    assert told["cwd"] == session.spec.cwd
    assert told["pid"] == told["sid"] == session.agent.pid
    assert told["ppid"] == session.keeper.pid
    assert told["fds"][:3] == [0, 1, 2] and len(told["fds"]) <= 3
    assert until(lambda: (session.folder / "err").read_bytes()) == b"a word on stderr\n"


def test_guard_and_keeper_are_detached_and_only_they_hold_the_lock(bench: Bench) -> None:
    session = bench.start(("cat",))
    guard, keeper = look(session.guard.pid), look(session.keeper.pid)
    assert guard and keeper
    assert (guard.session, keeper.session) == (guard.id.pid, keeper.id.pid)
    assert os.readlink(f"/proc/{guard.id.pid}/fd/0") == os.readlink(f"/proc/{keeper.id.pid}/fd/0") == "/dev/null"

    def holds(pid: int) -> bool:
        names = os.listdir(f"/proc/{pid}/fd")
        return session.spec.lock in [os.readlink(f"/proc/{pid}/fd/{name}") for name in names]

    assert [holds(one.pid) for one in (session.guard, session.keeper, session.agent)] == [True, True, False]
    assert not [one for one in find_leftovers(session.spec.stamp) if one.id in (session.guard, session.keeper)]


def test_files_are_private_and_the_output_cannot_be_opened_for_writing(bench: Bench) -> None:
    session = bench.start(("cat",))
    assert stat.S_IMODE(session.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(Path(session.spec.socket_dir).stat().st_mode) == 0o700
    assert stat.S_IMODE(Path(session.started.socket).stat().st_mode) == 0o600
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in session.folder.iterdir()}
    assert modes.pop("out") == modes.pop("err") == 0o400
    assert set(modes.values()) == {0o600}
    assert {"spec.json", "in", "exit", "identity", "progress", "seen", "log"} == set(modes)


def test_identity_names_the_processes_and_where_their_pids_mean_something(bench: Bench) -> None:
    session = bench.start(("cat",))
    identity = read_identity(session.spec.folder)
    assert identity == session.started.identity
    assert all(is_running(one) for one in (identity.guard, identity.keeper, identity.agent))
    assert identity.place.boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert identity.place.pid_namespace == os.readlink("/proc/self/ns/pid")
    assert is_alive(session.spec.lock) and is_alive(session.spec.folder)


def test_an_agent_that_ends_at_once_still_counts_as_started(bench: Bench) -> None:
    session = bench.start(shell_agent("echo bye; exit 7"))
    record = session.ended()
    assert (record.ended_by, record.code, record.signal, record.out_size) == (EndedBy.AGENT, 7, None, 4)
    assert not is_alive(session.spec.folder)


def test_a_second_start_is_refused_with_the_pid_of_the_owner(bench: Bench) -> None:
    session = bench.start(("cat",))
    with pytest.raises(LockHeld, match=str(session.guard.pid)) as refused:
        bench.start(("cat",))
    assert refused.value.pid == session.guard.pid == owner_pid(session.spec.lock)
    with session.client() as client:
        assert status(client)["state"] == "running"


@pytest.mark.parametrize(
    ("changes", "number", "words"),
    [
        ({"argv": ("no-such-program-here",)}, errno.ENOENT, "no-such-program-here cannot be executed"),
        ({"argv": ("/etc/passwd",)}, errno.EACCES, "cannot be executed: Permission denied"),
        ({"cwd": "/no/such/folder"}, errno.ENOENT, "working folder /no/such/folder"),
    ],
)
def test_what_cannot_be_executed_is_said_in_a_sentence(
    bench: Bench, changes: dict[str, object], number: int, words: str
) -> None:
    spec = bench.spec(**{"argv": ("cat",), **changes})  # type: ignore[arg-type]
    with pytest.raises(ExecFailed, match=words) as failed:
        spawn(spec)
    assert failed.value.errno == number
    record = read_exit(spec.folder)
    assert record and record.ended_by is EndedBy.START_FAILED and words in record.reason
    # The lock is free as soon as the failure is known.
    assert not is_alive(spec.lock)
    assert bench.start(("cat",)).agent


def test_a_folder_serves_one_incarnation_only(bench: Bench) -> None:
    session = bench.start(("true",))
    session.ended()
    with pytest.raises(FolderInUse):
        spawn(session.spec)


@pytest.mark.parametrize(
    "changes",
    [
        {"argv": ()},
        {"cwd": "relative"},
        {"env": {"A=B": "c"}},
        {"stamp": ""},
        {"rows": 0},
        {"socket_dir": "/tmp/" + "x" * 90},
    ],
)
def test_an_impossible_spec_is_refused_before_anything_is_touched(bench: Bench, changes: dict[str, object]) -> None:
    spec = bench.spec(**{"argv": ("cat",), **changes})  # type: ignore[arg-type]
    with pytest.raises(SpecError):
        spawn(spec)
    assert not Path(spec.folder).exists()


def test_a_socket_folder_open_to_others_is_refused(bench: Bench) -> None:
    folder = bench.root / "open"
    folder.mkdir(mode=0o755)
    with pytest.raises(SpecError, match="0700"):
        bench.start(("cat",), socket_dir=str(folder))


def test_reading_what_never_was_gives_none(tmp_path: Path) -> None:
    readers = (read_exit, read_identity, read_progress)
    assert [reader(str(tmp_path)) for reader in readers] == [None, None, None]
    assert not is_alive(str(tmp_path)) and not is_alive(str(tmp_path / "lock"))
