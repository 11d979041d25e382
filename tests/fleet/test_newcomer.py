"""The first hour with a fleet: every wrong turn is told at once, with the way on, and nothing waits in silence."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.daemon import Machine, until
from tests.fleet.hosts import Hosts, fleet_of
from tests.temporal import free_port, the_server

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A machine of its own, in no fleet."""
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        made = Machine(Path(folder, "home"), Path(folder, "work"))
        made.home.mkdir()
        made.work.mkdir()
        yield made
        made.clean_up()


@contextlib.contextmanager
def working(machine: Machine, *options: str) -> Iterator[subprocess.Popen[str]]:
    """This host as a worker, once it answers."""
    process = machine.start("worker", *options)
    try:
        until(lambda: process.poll() is not None or machine.run("worker", "status").returncode == 0, "the worker")
        assert process.poll() is None, process.communicate()[0]
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


def with_engine(hosts: Hosts, address: str) -> None:
    for one in hosts.members.values():
        one.ok("config", "set", "temporal_address", address)
        one.ok("config", "set", "fleet_heartbeat", "20s")


def test_a_machine_without_a_fleet_says_so(machine: Machine) -> None:
    for words in (("worker",), ("job", "submit", "--fleet", "--agent", "scripted", "say x"), ("fleet", "status")):
        told = machine.run(*words)
        assert told.returncode == 2, told
        assert "this machine is not a host of a fleet" in told.stderr
        assert "store_url" in told.stderr


def test_a_key_is_made_with_its_folder_and_never_replaced(machine: Machine) -> None:
    key = machine.home / ".config" / "rekindle" / "fleet.key"
    assert f"rekindle config set fleet_key_file {key}" in machine.ok("fleet", "key", str(key))
    assert key.stat().st_mode & 0o777 == 0o600
    before = key.read_text()
    again = machine.run("fleet", "key", str(key))
    assert (again.returncode, "exists already" in again.stderr, key.read_text()) == (2, True, before)
    other = machine.home / "other.key"
    assert machine.json("fleet", "key", str(other)) == {"fleet_key_file": str(other)} and other.exists()


def test_a_setting_that_cannot_be_right_is_refused_and_a_daemon_that_does_not_see_it_is_named() -> None:
    with fleet_of("a") as hosts:
        a = hosts["a"]
        told = a.run("config", "set", "store_url", "postgresql://me:hidden@db/rekindle")
        assert (told.returncode, "store_password_file" in told.stderr, "hidden" in told.stderr) == (2, True, False)
        assert "does not see" not in a.run("config", "set", "fleet_labels", "gpu").stderr, "no daemon runs"
        a.ok("ps")
        told = a.run("config", "set", "fleet_labels", "big")
        assert "does not see that yet: rekindle serve --stop" in told.stderr
        told = a.run("config", "set", "fleet_key_file", "relative.key")
        assert (told.returncode, "the full path of a file" in told.stderr) == (2, True)


def test_a_daemon_that_cannot_reach_its_store_says_why_and_what_to_check() -> None:
    with fleet_of("a") as hosts:
        a, gone = hosts["a"], free_port()
        a.ok("config", "set", "store_url", f"postgresql://me@127.0.0.1:{gone}/x")
        told = a.run("ps")
        assert told.returncode == 1
        assert (
            f"rekindle: the daemon did not start: postgresql://me@127.0.0.1:{gone}/x cannot be reached" in told.stderr
        )
        assert " — check that the server is running" in told.stderr and "; its log is " in told.stderr
        assert told.stderr.count(" — ") == 1


def test_a_host_does_not_call_itself_gone() -> None:
    with fleet_of("a") as hosts:
        a = hosts["a"]
        first = a.ok("fleet", "status").splitlines()[1]
        assert first.startswith("host a: ") and "gone" not in first, first


def test_a_job_that_the_engine_did_not_take_is_not_left_behind() -> None:
    with fleet_of("a") as hosts:
        a = hosts["a"]
        with_engine(hosts, f"127.0.0.1:{free_port()}")
        told = a.run("job", "submit", "--fleet", "--agent", "scripted", "say x")
        assert told.returncode == 1
        assert "the job was not submitted" in told.stderr and "Connection refused" in told.stderr
        assert a.json("job", "list")["jobs"] == []
        a.ok("serve", "--stop")
        with working(a):
            state = until(lambda: (one := a.json("worker", "status"))["trouble"] and one, "the trouble")
            assert (state["is_worker"], "cannot be reached" in state["trouble"]) == (True, True)
            assert "It cannot take jobs at the moment" in a.ok("worker", "status")


def test_a_job_that_nobody_can_do_says_why_until_somebody_can() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        with_engine(hosts, the_server().address)
        told = b.run("job", "submit", "--fleet", "--agent", "scripted", "say x")
        assert (told.returncode, "no worker is running; it waits" in told.stderr) == (0, True)
        first = told.stdout.strip()
        with working(a):
            until(lambda: b.json("job", "show", first)["job"]["status"] == "done", "the first job")
            assert f"{first}  done" in b.ok("job", "list", "--all")
            assert b.ok("job", "list", "--all").rstrip().endswith("on a")
            told = b.run("job", "submit", "--fleet", "--needs", "tpu", "--agent", "scripted", "say y")
            assert "no worker has the label tpu; it waits" in told.stderr
            job = told.stdout.strip()
            shown = b.json("job", "show", job)["job"]
            assert (shown["status"], shown["why"]) == ("queued", "no worker has the label tpu")
            assert "(no worker has the label tpu)" in b.ok("job", "list")
            lines = b.ok("fleet", "status").splitlines()
            assert lines[1].startswith("host a: ready, seen ") and lines[2].startswith("host b: not a worker, seen ")
            assert any(one.startswith("memory:") for one in a.json("worker", "status")["labels"])
            big = b.run("job", "submit", "--fleet", "--needs", "memory:999999g", "--agent", "scripted", "say y")
            assert "no worker has the label memory:999999g; it waits" in big.stderr
            b.ok("job", "cancel", big.stdout.strip())
            small = b.ok("job", "submit", "--fleet", "--needs", "memory:1g", "--agent", "scripted", "say y").strip()
            until(lambda: b.json("job", "show", small)["job"]["status"] == "done", "the job that needs memory")
            wrong = b.run("job", "submit", "--fleet", "--needs", "memory:lots", "--agent", "scripted", "say y")
            assert (wrong.returncode, "memory:16g" in wrong.stderr) == (2, True)
            a.ok("worker", "drain")
            assert "a is draining" in b.run("job", "submit", "--fleet", "--agent", "scripted", "say z").stderr
            a.ok("worker", "uncordon")
        with working(a, "--label", "tpu"):
            until(lambda: b.json("job", "show", job)["job"]["status"] == "done", "the second job")


def test_a_host_that_was_cordoned_before_it_became_a_worker_takes_no_job() -> None:
    with fleet_of("a") as hosts:
        a = hosts["a"]
        with_engine(hosts, the_server().address)
        job = a.ok("job", "submit", "--fleet", "--agent", "scripted", "say x").strip()
        a.ok("worker", "cordon")
        a.ok("serve", "--stop")
        with working(a):
            until(lambda: "cordoned" in a.ok("fleet", "status"), "the host tells its state")
            until(lambda: a.json("worker", "status")["state"] == "cordoned", "the worker knows its state")
            assert a.json("job", "show", job)["job"]["status"] == "queued"
            assert a.json("job", "show", job)["job"]["why"].endswith("a is cordoned")
            a.ok("worker", "uncordon")
            until(lambda: a.json("job", "show", job)["job"]["status"] == "done", "the job")


def test_what_a_host_that_is_no_worker_is_told_about_draining_is_true() -> None:
    with fleet_of("a") as hosts:
        a = hosts["a"]
        a.ok("ps")
        assert "is not a worker" in a.ok("worker", "status")
        assert "If it becomes one, it starts draining: `rekindle worker uncordon`" in a.ok("worker", "drain")


def test_the_doctor_says_what_keeps_a_host_from_its_fleet() -> None:
    with fleet_of("a") as hosts:
        a = hosts["a"]
        assert "ok    host a of a fleet: its key can be read" in a.ok("doctor")
        assert "the fleet has no engine" in a.ok("doctor")
        with_engine(hosts, f"127.0.0.1:{free_port()}")
        told = a.run("doctor")
        assert "BAD   the fleet's engine" in told.stdout and "Connection refused" in told.stdout, told
        with_engine(hosts, the_server().address)
        assert f"Temporal at {the_server().address} answers" in a.ok("doctor")
        key = hosts.folder / "key"
        key.chmod(0o644)
        told = a.run("doctor")
        assert f"chmod 600 {key}" in told.stdout, told
        key.chmod(0o600)
