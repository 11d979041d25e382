"""Reads one line as one JSON-RPC message, or says why it is not one. Accepts any bytes and never raises.

Agents cut texts in the middle of a character and print banners, so a line that strict JSON refuses gets a second
chance with a lenient reader. This module does not look at what a message means.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import msgspec

from rekindle.agents.base.failure import Failure
from rekindle.agents.base.lenient import parse
from rekindle.agents.base.observation import RequestId


class Request(msgspec.Struct, frozen=True):
    request_id: RequestId
    method: str
    params: dict[str, Any]


class Notification(msgspec.Struct, frozen=True):
    method: str
    params: dict[str, Any]


class Response(msgspec.Struct, frozen=True):
    """`failure` is None if the request succeeded."""

    request_id: RequestId
    result: Any
    failure: Failure | None


class NoMessage(msgspec.Struct, frozen=True):
    reason: str


Message: TypeAlias = Request | Notification | Response | NoMessage


def decode(line: bytes) -> Message | None:
    """None for an empty line."""
    text = line.strip()
    if not text:
        return None
    if not text.startswith(b"{"):
        return NoMessage("no JSON object")
    value = parse(text)
    if not isinstance(value, dict):
        return NoMessage("no JSON")
    return _message(value)


def _message(value: dict[str, Any]) -> Message:
    method = value.get("method")
    if "id" in value and not _is_id(value["id"]):
        return NoMessage("its id is neither text nor number")
    if method is not None:
        if not isinstance(method, str):
            return NoMessage("its method is no text")
        params = value.get("params")
        params = params if isinstance(params, dict) else {}
        return Request(value["id"], method, params) if "id" in value else Notification(method, params)
    if "id" not in value or not ("result" in value or "error" in value):
        return NoMessage("JSON, but no message of the protocol")
    error = value.get("error")
    return Response(value["id"], value.get("result"), None if error is None else _failure(error))


def _is_id(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or (isinstance(value, int | str) and not isinstance(value, bool))


def _failure(error: object) -> Failure:
    if not isinstance(error, dict):
        return Failure(None, str(error))
    code, message = error.get("code"), error.get("message")
    return Failure(
        code if isinstance(code, int) and not isinstance(code, bool) else None,
        message if isinstance(message, str) else "",
        error.get("data"),
    )
