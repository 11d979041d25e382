"""The ways to a fleet's servers, through TLS as it is: what is said to them arrives, and what fails names its setting.

In front of a real Temporal stands a door that speaks TLS and asks for a certificate; PostgreSQL has its own.
"""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from rekindle.adapters.machine.fleet_settings import TemporalSettings
from rekindle.adapters.sql_store.open import open_store
from rekindle.adapters.sql_store.postgres import parsed
from rekindle.adapters.temporal.connecting import connected, namespace_id
from rekindle.adapters.temporal.engine import TemporalEngine
from rekindle.adapters.temporal.worker import TemporalWorker
from rekindle.ports.errors import UsageError
from rekindle.ports.fleet_engine import DriveEnd, DriveOrder, DriveTold, EngineError, FleetWork, Pulse
from rekindle.ports.store import StoreError
from tests.certificates import Authority
from tests.conformance.shared_fleet import NOW
from tests.patience import FACTOR
from tests.postgres import Cluster, new_cluster
from tests.sessions import commit, created, folded
from tests.temporal import end_the_server, the_server
from tests.tls_door import TlsDoor, tls_door

pytestmark = pytest.mark.timeout(180)
QUEUE = "rekindle:scripted:"
YESTERDAY = -datetime.timedelta(days=1)


@dataclass(frozen=True)
class Papers:
    """Who signs, and certificates for this machine's loopback address."""

    ours: Authority
    theirs: Authority
    server: tuple[str, str]
    host: tuple[str, str]
    old: tuple[str, str]
    foreign: tuple[str, str]


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    folder = tmp_path_factory.mktemp("papers")
    ours, theirs = Authority(folder, "ours"), Authority(folder, "theirs")
    old = ours.issue("old", YESTERDAY)
    return Papers(ours, theirs, ours.issue("server"), ours.issue("postgres"), old, theirs.issue("foreign"))


@pytest.fixture(scope="module")
def door(papers: Papers) -> Iterator[TlsDoor]:
    with tls_door(the_server().port, papers.server, papers.ours.path) as made:
        yield made
    end_the_server()


def settings(door: TlsDoor, ca: str | None, pair: tuple[str, str] | None) -> TemporalSettings:
    cert, key = pair or (None, None)
    return TemporalSettings(door.address, tls_ca=ca, tls_cert=cert, tls_key=key)


def refused(told: TemporalSettings) -> str:
    """What a user is told, from a client that looks at once, and from one that looks when it is needed: the same."""

    async def later() -> None:
        await namespace_id(await connected(told, "a", lazy=True), told)

    with pytest.raises((EngineError, UsageError)) as lazy:
        asyncio.run(later())
    with pytest.raises((EngineError, UsageError)) as eager:
        asyncio.run(connected(told, "a"))
    words = f"{eager.value.message} — {eager.value.hint}"
    assert f"{lazy.value.message} — {lazy.value.hint}" == words
    return words


def test_a_job_is_submitted_and_driven_through_an_encrypted_connection(papers: Papers, door: TlsDoor) -> None:
    told, job = settings(door, papers.ours.path, papers.host), f"f{time.time_ns() % 0x100000000:08x}"
    heard: list[Any] = []

    async def drive(order: DriveOrder, pulse: Pulse) -> DriveEnd:
        heard.append((order.job, await pulse.beat(DriveTold("a", order.job))))
        return DriveEnd("over", order.job, "a", None)

    async def story() -> None:
        client = await connected(told, "a")
        assert await namespace_id(client, told)
        engine, worker = TemporalEngine(client, told.address), TemporalWorker(client, 4, frozenset({QUEUE}))
        await engine.submit(FleetWork(job=job, queue=QUEUE, heartbeat=5.0))
        working = asyncio.ensure_future(worker.run(drive))
        deadline = time.monotonic() + 30 * FACTOR
        while (found := await engine.state(job)).state != "over":
            assert time.monotonic() < deadline, found
            await asyncio.sleep(0.05)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)

    asyncio.run(story())
    assert heard == [(job, "accepted")]
    assert set(door.names) == {"postgres"}, "every connection went through the door"


def test_each_fault_of_a_certificate_names_its_setting(papers: Papers, door: TlsDoor) -> None:
    ours, theirs = papers.ours.path, papers.theirs.path
    assert f"nobody in {theirs} has signed its certificate — see temporal_tls_ca" in refused(
        settings(door, theirs, papers.host)
    )
    assert "signed its certificate — set temporal_tls_ca" in refused(settings(door, None, papers.host))
    assert "it asks for a certificate of this host — set temporal_tls_cert" in refused(settings(door, ours, None))
    assert "expired on" in (words := refused(settings(door, ours, papers.old))) and "temporal_tls_cert" in words
    assert "it does not accept the certificate" in (words := refused(settings(door, ours, papers.foreign)))
    assert "temporal_tls_cert" in words
    assert "takes encrypted connections only — set temporal_tls_ca" in refused(TemporalSettings(door.address))
    assert "are not a certificate and its key" in refused(settings(door, ours, (papers.host[0], papers.foreign[1])))
    assert "holds no certificates (PEM) — see temporal_tls_ca" in refused(settings(door, papers.host[1], papers.host))
    there = TemporalSettings(the_server().address, tls_ca=ours)
    assert "it does not speak TLS — see temporal_address" in refused(there)


def test_a_server_whose_certificate_has_expired_or_is_for_another_is_not_believed(papers: Papers) -> None:
    port, ours = the_server().port, papers.ours.path
    with tls_door(port, papers.old, ours) as old:
        assert "its certificate has expired — renew the certificate of the server" in refused(
            settings(old, ours, papers.host)
        )
    other = papers.ours.issue("other", address="127.0.0.9")
    with tls_door(port, other, ours) as door:
        assert "not for 127.0.0.1 — set temporal_address" in refused(settings(door, ours, papers.host))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = new_cluster(quick=True)
    yield made
    made.stop()


def reached(cluster: Cluster, password: str | None = None, **query: str) -> None:
    """Open the store in a new database, over TCP, write to it and read it again."""
    words = "&".join(f"{name}={value}" for name, value in query.items())
    store = open_store(parsed(f"{cluster.tcp_url(cluster.database())}?{words}", password), now=NOW, host="a").store
    try:
        commit(store, folded([created("one")]), [created("one")])
        assert store.named("") == ["one"]
    finally:
        store.close()


def kept_out(cluster: Cluster, password: str | None = None, **query: str) -> str:
    with pytest.raises(StoreError) as caught:
        reached(cluster, password, **query)
    words = f"{caught.value.message} — {caught.value.hint}"
    assert cluster.password not in words
    return words


def test_the_store_is_reached_by_password_over_tls_that_is_proved_and_in_no_other_way(
    papers: Papers, cluster: Cluster
) -> None:
    cluster.use_tls(papers.server, papers.ours.path, "hostssl all all all scram-sha-256")
    secret, ours = cluster.password, papers.ours.path
    reached(cluster, secret, sslmode="verify-full", sslrootcert=ours)
    reached(cluster, secret, sslmode="require", channel_binding="require")
    words = kept_out(cluster, secret, sslmode="verify-full", sslrootcert=papers.theirs.path)
    assert "certificate verify failed" in words and "See sslrootcert in store_url" in words
    words = kept_out(cluster, secret, sslmode="verify-full", sslrootcert="/nowhere.pem")
    assert "Set sslrootcert in store_url" in words
    words = kept_out(cluster, secret, sslmode="disable")
    assert "add sslmode=verify-full to store_url" in words
    assert "store_password_file" in kept_out(cluster, "wrong", sslmode="verify-full", sslrootcert=ours)


def test_the_store_is_reached_by_certificate_and_each_fault_of_one_names_its_setting(
    papers: Papers, cluster: Cluster
) -> None:
    cluster.use_tls(papers.server, papers.ours.path, "hostssl all all all cert")
    proved = {"sslmode": "verify-full", "sslrootcert": papers.ours.path}
    if cluster.user == "postgres":  # the name in the certificate
        reached(cluster, **proved, sslcert=papers.host[0], sslkey=papers.host[1])
    ours = "sslcert and sslkey in store_url"
    assert f"asks for a certificate of this host: set {ours}" in kept_out(cluster, **proved)
    words = kept_out(cluster, **proved, sslcert=papers.old[0], sslkey=papers.old[1])
    assert f"has expired: renew it ({ours})" in words
    words = kept_out(cluster, **proved, sslcert=papers.foreign[0], sslkey=papers.foreign[1])
    assert "does not know who signed the certificate of this host" in words
    words = kept_out(cluster, **proved, sslcert=papers.server[0], sslkey=papers.server[1])
    assert f"is for another user: see {ours}" in words
    words = kept_out(cluster, **proved, sslcert=papers.host[0], sslkey=papers.server[1])
    assert "the key has to be the certificate's" in words


def test_a_store_that_is_not_the_one_of_that_name_gets_nothing(papers: Papers, cluster: Cluster) -> None:
    other = papers.ours.issue("elsewhere", address="127.0.0.9")
    cluster.use_tls(other, papers.ours.path, "hostssl all all all scram-sha-256")
    words = kept_out(cluster, cluster.password, sslmode="verify-full", sslrootcert=papers.ours.path)
    assert "use that one as the host in store_url" in words
