"""Why Temporal cannot be reached by TLS, and which setting that is about.

The SDK keeps most of the server's reasons to itself. So after a failure the connection is tried once more with Python's
own TLS, as far as the server's first words. Nothing secret is sent: no key of the API, and no request.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from datetime import UTC, datetime
from typing import Final

from cryptography import x509

from rekindle import files
from rekindle.adapters.machine.fleet_settings import TemporalSettings
from rekindle.adapters.machine.secret_file import read_private
from rekindle.ports.errors import UsageError
from rekindle.ports.fleet_engine import EngineError

_LONGEST: Final = 1 << 20
_SECONDS: Final = 5.0
#: The beginning of HTTP/2, and no settings: a server that lets us in answers that.
_HELLO: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
_EXPIRED, _OTHER_NAMES = 10, (62, 64)
_INNER: Final = re.compile(r'message: "([^"]+)"')
_OWN: Final = "temporal_tls_cert and temporal_tls_key"
_SENT_AWAY: Final = ("it ends the connection without a word", f"it may want a certificate, or another one: see {_OWN}")


def tls_files(settings: TemporalSettings) -> tuple[bytes | None, bytes | None, bytes | None]:
    """What is in the files for TLS: authority, certificate, key. Raises UsageError if they cannot be used."""
    ca = None if settings.tls_ca is None else _content(settings.tls_ca, "temporal_tls_ca")
    if settings.tls_cert is None or settings.tls_key is None:
        _context(settings)
        return ca, None, None
    own = _content(settings.tls_cert, "temporal_tls_cert")
    key = read_private(settings.tls_key, "temporal_tls_key", _LONGEST)
    _context(settings)
    until = x509.load_pem_x509_certificate(own).not_valid_after_utc
    if until < datetime.now(UTC):
        raise UsageError(f"the certificate in {settings.tls_cert} expired on {until:%Y-%m-%d}", f"renew it ({_OWN})")
    return ca, own, key


async def explained(settings: TemporalSettings, error: BaseException) -> EngineError:
    """What a failure to reach the server means to a person."""
    try:
        found = await asyncio.to_thread(_why, settings)
    except (OSError, UsageError):
        found = None
    if found is None:
        return unreachable(settings.address, error)
    return EngineError(f"the fleet's engine (Temporal at {settings.address}) cannot be reached: {found[0]}", found[1])


def unreachable(address: str, error: BaseException) -> EngineError:
    """The same in the SDK's own words."""
    words = (str(error).strip().splitlines() or [type(error).__name__])[0]
    inner = _INNER.findall(words)  # the SDK prints how its errors are nested; the last one says what happened
    return EngineError(
        f"the fleet's engine (Temporal at {address}) cannot be reached: {inner[-1] if inner else words[:200]}",
        "see whether the server runs, and temporal_address",
    )


def _content(path: str, setting: str) -> bytes:
    try:
        return files.read_short(path, _LONGEST)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", f"see {setting}") from error


def _context(settings: TemporalSettings) -> ssl.SSLContext:
    """How this host speaks TLS. Raises UsageError if the files do not hold what they should."""
    try:
        context = ssl.create_default_context(cafile=settings.tls_ca)
    except ssl.SSLError as error:
        raise UsageError(f"{settings.tls_ca} holds no certificates (PEM)", "see temporal_tls_ca") from error
    if settings.tls_cert is not None:
        try:
            context.load_cert_chain(settings.tls_cert, settings.tls_key, password=_no_password)
        except (ssl.SSLError, UsageError) as error:
            words = f"{settings.tls_cert} and {settings.tls_key} are not a certificate and its key (PEM, no password)"
            raise UsageError(words, f"see {_OWN}") from error
    context.set_alpn_protocols(["h2"])
    return context


def _no_password() -> str:
    raise UsageError("the key has a password", f"see {_OWN}")


def _why(settings: TemporalSettings) -> tuple[str, str] | None:
    """What is wrong with TLS, and what to do; None: something else is wrong. Raises OSError and UsageError."""
    if not settings.has_tls:
        return _wants_tls(settings)
    try:
        return None if _greet(settings, _context(settings)) else _SENT_AWAY
    except ssl.SSLCertVerificationError as error:
        return _not_proved(settings, error)
    except ssl.SSLError as error:
        return _refused(settings, error.reason or "")


def _wants_tls(settings: TemporalSettings) -> tuple[str, str] | None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        _greet(settings, context)
    except ssl.SSLError as error:
        if "ALERT" not in (error.reason or ""):
            return None
    return "it takes encrypted connections only", f"set temporal_tls_ca and, if it asks for a certificate, {_OWN}"


def _greet(settings: TemporalSettings, context: ssl.SSLContext) -> bool:
    """Begin to talk. What the server thinks of our certificate comes with the first thing that is read.

    False: it ended the connection without a word, although it had proved who it is.
    """
    name, _, port = settings.address.rpartition(":")
    host = name.strip("[]")
    with (
        socket.create_connection((host, int(port)), _SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=host) as talk,
    ):
        try:
            talk.sendall(_HELLO)
            return bool(talk.recv(1))
        except (ssl.SSLEOFError, ConnectionError):
            return False


def _not_proved(settings: TemporalSettings, error: ssl.SSLCertVerificationError) -> tuple[str, str]:
    if error.verify_code == _EXPIRED:
        return "its certificate has expired", "renew the certificate of the server; temporal_tls_ca is not at fault"
    if error.verify_code in _OTHER_NAMES:
        host = settings.address.rpartition(":")[0]
        return f"its certificate is not for {host}", "set temporal_address to a name that the certificate has"
    if settings.tls_ca is None:
        return "nobody whom this machine trusts has signed its certificate", "set temporal_tls_ca"
    return f"nobody in {settings.tls_ca} has signed its certificate", "see temporal_tls_ca"


def _refused(settings: TemporalSettings, reason: str) -> tuple[str, str] | None:
    if "ALERT" not in reason:
        unset = "if it is not to use TLS, unset the temporal_tls keys"
        return ("it does not speak TLS", f"see temporal_address; {unset}") if "WRONG_VERSION" in reason else None
    if settings.tls_cert is None:
        return "it asks for a certificate of this host", f"set {_OWN}"
    if "EXPIRED" in reason:
        return f"it says that the certificate in {settings.tls_cert} has expired", f"renew it ({_OWN})"
    words = f"it does not accept the certificate in {settings.tls_cert} ({reason.lower().replace('_', ' ')})"
    return words, f"see {_OWN}: somebody whom the server trusts has to sign that certificate"
