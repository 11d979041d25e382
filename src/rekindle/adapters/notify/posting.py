"""Sends one POST over https, or over http to this machine. No redirect is followed and no proxy is used.

A redirect could carry the message, and what signs it, somewhere that the user did not name.
"""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

from rekindle.core.inbox.settings import is_safe_url
from rekindle.ports.notify import NotDelivered


def post(url: str, body: bytes, headers: Mapping[str, str], seconds: float) -> None:
    """Raises NotDelivered, which names the host only: the rest of the address may be a secret."""
    if not is_safe_url(url):
        raise NotDelivered("its address is neither https nor http to this machine", final=True)
    parts = urlsplit(url)
    host = parts.hostname or ""
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        connection = http.client.HTTPSConnection(
            host, parts.port, timeout=seconds, context=ssl.create_default_context()
        )
    else:
        connection = http.client.HTTPConnection(host, parts.port, timeout=seconds)
    sent = False
    try:
        connection.connect()
        sent = True
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", path, body, {**headers, "User-Agent": "rekindle", "Connection": "close"})
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise NotDelivered(f"{host} cannot be reached: {why}", unsure=sent) from error
    finally:
        connection.close()
    if not 200 <= status < 300:
        gone = 400 <= status < 500 and status not in (408, 425, 429)
        raise NotDelivered(f"{host} answered with status {status}", final=gone)
