"""Sends one POST over https, or over http to this machine. No redirect is followed and no proxy is used.

A redirect could carry the message, and what signs it, somewhere that the user did not name.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import ssl
import threading
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
    sent, late = False, threading.Event()
    watch: threading.Timer | None = None
    try:
        connection.connect()
        sent, watch = True, _cut_after(seconds, connection.sock, late)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", path, body, {**headers, "User-Agent": "rekindle", "Connection": "close"})
        status = connection.getresponse().status
    except ValueError as error:  # it quotes what may be a secret
        what = "its address or its token has characters that cannot be sent"
        raise NotDelivered(what, "set it again without line breaks", final=True) from error
    except (OSError, http.client.HTTPException) as error:
        if late.is_set():
            raise NotDelivered(f"{host} took longer than {seconds:g} s", unsure=True) from error
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise NotDelivered(f"{host} cannot be reached: {why}", unsure=sent) from error
    finally:
        if watch is not None:
            watch.cancel()
            watch.join()  # so that it never touches a file that is opened next
        connection.close()
    if not 200 <= status < 300:
        gone = 400 <= status < 500 and status not in (408, 425, 429)
        raise NotDelivered(f"{host} answered with status {status}", final=gone)


def _cut_after(seconds: float, connection: socket.socket, late: threading.Event) -> threading.Timer:
    """End a connection when its time is over: one that answers a little again and again would never be left."""

    def cut() -> None:
        late.set()
        with contextlib.suppress(OSError), socket.socket() as nobody:
            socket.socket.shutdown(connection, socket.SHUT_RDWR)  # wakes who reads; below TLS, if there is any
            os.dup2(nobody.fileno(), connection.fileno(), inheritable=False)  # Linux still reads what comes later

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    return timer
