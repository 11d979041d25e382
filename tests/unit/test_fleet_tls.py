"""The ways to a fleet's servers: encrypted if the settings say so, and proved; refused, or said, if they are not."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest

from rekindle.adapters.machine.fleet_settings import TemporalSettings
from rekindle.adapters.sql_store import postgres
from rekindle.adapters.temporal.connecting import connected
from rekindle.core.fleet.exposure import StoreWay, exposed, is_local
from rekindle.ports.errors import UsageError
from rekindle.ports.fleet_engine import EngineError
from tests.certificates import Authority


def greeted(settings: dict[str, Any], server: tuple[str, str], clients: str) -> list[str]:
    """The names of the clients that a server has let in, which lets in only those that are signed by `clients`."""
    names: list[str] = []

    async def story() -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*server)
        context.load_verify_locations(clients)
        context.verify_mode = ssl.CERT_REQUIRED
        context.set_alpn_protocols(["h2"])

        async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            subject = dict(one[0] for one in writer.get_extra_info("peercert")["subject"])
            names.append(subject["commonName"])
            writer.close()

        listening = await asyncio.start_server(greet, "127.0.0.1", 0, ssl=context)
        port = listening.sockets[0].getsockname()[1]
        async with listening:
            with pytest.raises(EngineError):  # it is no Temporal server, whoever is let in
                await connected(TemporalSettings(f"127.0.0.1:{port}", **settings), "a")

    asyncio.run(story())
    return names


def test_a_host_shows_its_certificate_and_talks_to_nobody_whom_its_authority_has_not_signed(tmp_path: Path) -> None:
    ours, theirs = Authority(tmp_path, "ours"), Authority(tmp_path, "theirs")
    server, (certificate, key) = ours.issue("server"), ours.issue("host-a")
    own = {"tls_cert": certificate, "tls_key": key}
    assert set(greeted({**own, "tls_ca": ours.path}, server, ours.path)) == {"host-a"}
    assert greeted({**own, "tls_ca": theirs.path}, server, ours.path) == [], "the server is not proved"
    assert greeted({}, server, ours.path) == [], "it speaks no TLS, and is not let in"


def test_a_private_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    ours = Authority(tmp_path, "ours")
    certificate, key = ours.issue("host-a")
    Path(key).chmod(0o640)
    settings = TemporalSettings("127.0.0.1:1", tls_ca=ours.path, tls_cert=certificate, tls_key=key)
    with pytest.raises(UsageError, match="can be read by others"):
        asyncio.run(connected(settings, "a"))


FAR, TUNNEL = "t.example.org:7233", "rekindle config set fleet_plain_connections on"


@pytest.mark.parametrize(
    ("store", "mode", "engine", "tls", "told"),
    [
        ("db.example.org", "verify-full", FAR, True, []),
        ("localhost", "", "127.0.0.1:7233", False, []),
        ("/run/postgresql", "", "[::1]:7233", False, []),
        ("@rekindle", "disable", "", False, []),
        ("", "", "", False, []),
        ("db.example.org", "", "", False, ["on db.example.org may be unencrypted"]),
        ("db.example.org", "prefer", "", False, ["may be unencrypted"]),
        ("10.0.0.7", "disable", "10.0.0.8:7233", False, ["on 10.0.0.7 may be", "Temporal on 10.0.0.8 is unencrypted"]),
        ("db.example.org", "verify-full", FAR, False, ["Temporal on t.example.org is unencrypted"]),
    ],
)
def test_a_way_that_others_could_read_is_refused_unless_the_user_says_that_something_else_protects_it(
    store: str, mode: str, engine: str, tls: bool, told: list[str]
) -> None:
    way = StoreWay([store] if store else [], mode)
    for is_allowed in (False, True):
        found = exposed(way, engine, engine_tls=tls, is_plain_allowed=is_allowed)
        assert len(found) == len(told) and all(words in one.what for words, one in zip(told, found, strict=True))
        for one in found:
            assert one.is_refused is not is_allowed
            assert (TUNNEL in one.remedy) is one.is_refused
            assert ("fleet_plain_connections allows that" in one.what) is is_allowed


@pytest.mark.parametrize(
    ("mode", "binding", "count"), [("require", "", 1), ("verify-ca", "", 1), ("require", "require", 0)]
)
def test_an_encrypted_way_that_does_not_prove_who_answers_is_used_and_said(mode: str, binding: str, count: int) -> None:
    found = exposed(StoreWay(["db.example.org"], mode, binding), "", engine_tls=False, is_plain_allowed=False)
    assert [one.is_refused for one in found] == [False] * count
    assert all("does not prove that it is the store" in one.what for one in found)
    assert all(f"use sslmode=verify-full in store_url, not {mode}" in one.remedy for one in found)


def test_one_far_host_of_several_is_enough() -> None:
    [one] = exposed(StoreWay(["localhost", "db2"]), "", engine_tls=False, is_plain_allowed=False)
    assert "on db2 may" in one.what


NEAR = ("127.0.0.1", "127.8.8.8", "::1", "[::1]", "LOCALHOST", "a.localhost", "::ffff:127.0.0.1")
AWAY = ("10.0.0.1", "0.0.0.0", "localhost.example.org", "127.0.0.1.example.org", "::2")


@pytest.mark.parametrize(("host", "local"), [*((one, True) for one in NEAR), *((one, False) for one in AWAY)])
def test_only_what_never_leaves_the_machine_is_local(host: str, local: bool) -> None:
    assert is_local(host) is local


@pytest.mark.parametrize(
    ("url", "environment", "hosts", "mode"),
    [
        ("postgresql://u@db/x?sslmode=require", {}, ("db",), "require"),
        ("postgresql://u@db/x", {"PGSSLMODE": "verify-full"}, ("db",), "verify-full"),
        ("postgresql://u@/x", {"PGHOST": "far"}, ("far",), "prefer"),
        ("postgresql://u@/x", {}, (), "prefer"),
        ("postgresql://u@localhost/x?hostaddr=10.0.0.1", {}, ("10.0.0.1",), "prefer"),
        ("postgresql://u@/x?host=a:5432&host=b:5433", {}, ("a", "b"), "prefer"),
        ("postgresql://u@/x?service=far", {"PGSSLMODE": "require"}, ("far",), ""),
        ("postgresql://u@/x?host=/run/postgresql", {}, ("/run/postgresql",), "prefer"),
    ],
)
def test_the_way_to_the_store_is_what_libpq_makes_of_the_address_and_the_environment(
    url: str, environment: dict[str, str], hosts: tuple[str, ...], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGHOST", "PGHOSTADDR", "PGSSLMODE", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = postgres.way_to(postgres.parsed(url))
    assert (found["hosts"], found["sslmode"]) == (hosts, mode)
