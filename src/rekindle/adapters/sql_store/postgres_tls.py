"""What to do when PostgreSQL is not reached because of TLS: the setting that each of libpq's reasons points to."""

from __future__ import annotations

from typing import Final

_OURS = "sslcert and sslkey in store_url"
#: What libpq or the server says, and what the user can do. The first that fits counts.
_REMEDIES: Final = (
    (
        "certificate verify failed",
        "See sslrootcert in store_url: it does not prove the server's certificate, or that one has expired.",
    ),
    ("root certificate", "Set sslrootcert in store_url to the file with the certificates that prove the server's."),
    ("does not match host name", "The server's certificate has another name: use that one as the host in store_url."),
    ("no encryption", "The server takes encrypted connections only: add sslmode=verify-full to store_url."),
    ("SSL off", "The server takes encrypted connections only: add sslmode=verify-full to store_url."),
    ("server does not support SSL", "Turn TLS on at the server (ssl = on in postgresql.conf)."),
    ("requires a valid client certificate", f"The server asks for a certificate of this host: set {_OURS}."),
    ("alert certificate required", f"The server asks for a certificate of this host: set {_OURS}."),
    ("alert certificate expired", f"The certificate of this host has expired: renew it ({_OURS})."),
    ("alert unknown ca", f"The server does not know who signed the certificate of this host: see {_OURS}."),
    ("certificate authentication failed", f"The certificate of this host is for another user: see {_OURS}."),
    ("private key file", f"See {_OURS}: the key has to be the certificate's, and readable by its owner only (0600)."),
    ("certificate file", f"See {_OURS}."),
    ("channel binding", "See channel_binding in store_url, and the password's form at the server (scram-sha-256)."),
    ("SSL error", f"See sslmode, sslrootcert, {_OURS}."),
)


def tls_remedy(words: str) -> str | None:
    """What to do about a failure, if TLS is what failed."""
    return next((remedy for said, remedy in _REMEDIES if said in words), None)
