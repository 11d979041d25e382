"""Which of a fleet's connections others on the network could read or pretend to be. Pure.

They are not refused: a tunnel or a private network may protect them, which nobody sees from here.
"""

from __future__ import annotations

from typing import Final

_LOCAL: Final = ("", "localhost", "127.0.0.1", "::1")
#: The modes of libpq that encrypt whatever the server says, and the one that also proves who the server is.
_ENCRYPTED: Final = ("require", "verify-ca", "verify-full")
_PROVED: Final = "verify-full"


def exposed(store_host: str, sslmode: str, engine_address: str, *, engine_tls: bool) -> list[str]:
    """What to tell the user about the ways to the store and to the engine (HOST:PORT, or empty); nothing: all is well.

    A store that is reached by a path is one on this machine.
    """
    told: list[str] = []
    if store_host not in _LOCAL and not store_host.startswith("/"):
        if sslmode not in _ENCRYPTED:
            told.append(f"the connection to the store on {store_host} may be unencrypted: add sslmode=verify-full")
        elif sslmode != _PROVED:
            told.append(f"who answers as the store on {store_host} is not proved: use sslmode=verify-full")
    engine_host = engine_address.rpartition(":")[0].strip("[]")
    if engine_host not in _LOCAL and not engine_tls:
        told.append(f"the connection to Temporal on {engine_host} is unencrypted: set temporal_tls_ca")
    return told
