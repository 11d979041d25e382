"""The ways to a fleet's servers: encrypted if the settings say so, and proved; said if they are not."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from rekindle.adapters.machine.fleet_settings import TemporalSettings
from rekindle.adapters.temporal.connecting import connected
from rekindle.core.fleet.exposure import exposed
from rekindle.ports.errors import UsageError
from rekindle.ports.fleet_engine import EngineError


class Authority:
    """Signs certificates for 127.0.0.1."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._certificate = self._signed(name, self._key, is_authority=True)
        self.path = self._written(f"{name}.pem", self._certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str) -> tuple[str, str]:
        """A certificate and its key, as files."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._signed(name, key, is_authority=False)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        public = certificate.public_bytes(serialization.Encoding.PEM)
        return self._written(f"{name}-cert.pem", public), self._written(f"{name}-key.pem", private)

    def _signed(self, name: str, key: Any, *, is_authority: bool) -> x509.Certificate:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self._name)])
        now = datetime.datetime.now(datetime.UTC)
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        made = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
        made = made.serial_number(x509.random_serial_number()).add_extension(names, critical=False)
        made = made.not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
        made = made.add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        return made.sign(self._key, hashes.SHA256())

    def _written(self, name: str, content: bytes) -> str:
        path = self._folder / name
        path.touch(0o600)
        path.write_bytes(content)
        return str(path)


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


@pytest.mark.parametrize(
    ("store", "mode", "engine", "tls", "told"),
    [
        ("db.example.org", "verify-full", "t.example.org:7233", True, []),
        ("localhost", "", "127.0.0.1:7233", False, []),
        ("/run/postgresql", "", "[::1]:7233", False, []),
        ("", "", "", False, []),
        ("db.example.org", "", "", False, ["may be unencrypted"]),
        ("db.example.org", "prefer", "", False, ["may be unencrypted"]),
        ("db.example.org", "require", "", False, ["is not proved"]),
        ("db.example.org", "verify-full", "t.example.org:7233", False, ["Temporal on t.example.org is unencrypted"]),
    ],
)
def test_a_way_that_others_could_read_is_said(store: str, mode: str, engine: str, tls: bool, told: list[str]) -> None:
    found = exposed(store, mode, engine, engine_tls=tls)
    assert len(found) == len(told) and all(words in one for words, one in zip(told, found, strict=True))
