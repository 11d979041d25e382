"""A fleet's connections that others could read are refused before the first byte, by whatever needs them."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import Machine
from tests.fleet.hosts import fleet_of
from tests.postgres import new_cluster
from tests.temporal import free_port, the_server

pytestmark = pytest.mark.timeout(300)
#: Another way to write 127.0.0.1, which does not say so: it stands for another machine.
FAR = "127.1"
TUNNEL = "rekindle config set fleet_plain_connections on"


def refused(machine: Machine, *words: str) -> str:
    told = machine.run(*words)
    assert told.returncode in (1, 2), told
    assert TUNNEL in told.stderr and "Traceback" not in told.stderr
    return told.stderr


def test_a_store_on_another_machine_is_reached_encrypted_or_not_at_all_unless_the_user_says_so() -> None:
    cluster = new_cluster(quick=True)
    url = cluster.tcp_url(cluster.database()).replace("127.0.0.1", FAR)
    with fleet_of("a", url=url) as hosts:
        a = hosts["a"]
        password = hosts.folder / "password"
        password.touch(0o600)
        password.write_text(cluster.password)
        a.ok("config", "set", "store_password_file", str(password))
        a.ok("config", "set", "temporal_address", f"localhost:{free_port()}")
        said = f"the connection to the store on {FAR} may be unencrypted, so rekindle does not use it"
        for words in (("ps",), ("fleet", "status"), ("serve",), ("worker",)):
            assert said in refused(a, *words), words
        told = a.run("doctor")
        assert f"BAD   {said}" in told.stdout and TUNNEL in told.stdout
        assert a.run("config", "list").returncode == 0
        a.ok("config", "set", "fleet_plain_connections", "on")
        a.ok("ps")
        assert "host a: " in a.ok("fleet", "status")
        told = a.run("doctor")
        note = f"note  the connection to the store on {FAR} may be unencrypted; fleet_plain_connections allows that"
        assert note in told.stdout and "and unset fleet_plain_connections" in told.stdout
        log = (hosts.folder / "a/home/.local/state/rekindle/daemon.log").read_text()
        assert "may be unencrypted; fleet_plain_connections allows that" in log
        a.ok("config", "unset", "fleet_plain_connections")
        a.ok("serve", "--stop")
        assert said in refused(a, "ps")
    cluster.stop()


def test_an_engine_on_another_machine_is_reached_encrypted_or_not_at_all_unless_the_user_says_so() -> None:
    port = the_server().port
    with fleet_of("a") as hosts:
        a = hosts["a"]
        a.ok("config", "set", "temporal_address", f"{FAR}:{port}")
        said = f"the connection to Temporal on {FAR} is unencrypted, so rekindle does not use it"
        for words in (("job", "submit", "--fleet", "--agent", "scripted", "say x"), ("worker",)):
            assert said in refused(a, *words), words
        assert f"BAD   {said}" in a.run("doctor").stdout
        a.ok("config", "set", "fleet_plain_connections", "on")
        assert "note  the connection to Temporal on" in (told := a.ok("doctor"))
        assert f"Temporal at {FAR}:{port} answers" in told
        job = a.run("job", "submit", "--fleet", "--agent", "scripted", "say x")
        assert "no worker is running; it waits" in job.stderr, job
