"""Certificates for the tests of encrypted connections: an authority of their own, which signs what they need."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


class Authority:
    """Signs certificates for 127.0.0.1."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._certificate = self._signed(name, self._key, _DAY, is_authority=True)
        self.path = self._written(f"{name}.pem", self._certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, lasts: datetime.timedelta = _DAY, address: str = "127.0.0.1") -> tuple[str, str]:
        """A certificate and its key, as files. With a time below zero the certificate expired so long ago."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._signed(name, key, lasts, address, is_authority=False)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        public = certificate.public_bytes(serialization.Encoding.PEM)
        return self._written(f"{name}-cert.pem", public), self._written(f"{name}-key.pem", private)

    def _signed(
        self, name: str, key: Any, lasts: datetime.timedelta, address: str = "127.0.0.1", *, is_authority: bool
    ) -> x509.Certificate:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self._name)])
        now = datetime.datetime.now(datetime.UTC)
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
        made = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
        made = made.serial_number(x509.random_serial_number()).add_extension(names, critical=False)
        made = made.not_valid_before(now - 3 * _DAY).not_valid_after(now + lasts)
        made = made.add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        return made.sign(self._key, hashes.SHA256())

    def _written(self, name: str, content: bytes) -> str:
        path = self._folder / name
        path.touch(0o600)
        path.write_bytes(content)
        return str(path)
