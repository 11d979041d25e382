"""Ids that follow from the key of a request, so that the same request sent again means the same thing."""

from __future__ import annotations

import hashlib
import secrets


def new_id(key: str | None, what: str, digits: int) -> str:
    """Hexadecimal digits: the same for the same key, or by chance without one."""
    if key is None:
        return secrets.token_hex((digits + 1) // 2)[:digits]
    return hashlib.sha256(f"{what}\0{key}".encode("utf-8", "surrogatepass")).hexdigest()[:digits]
