"""A callback that is refused, as data: the code and the sentence that the agent gets."""

from __future__ import annotations

from typing import Any, Final

import msgspec

INVALID_PARAMS: Final = -32602
METHOD_NOT_FOUND: Final = -32601
NOT_FOUND: Final = -32002
INTERNAL: Final = -32603


class Refusal(msgspec.Struct, frozen=True):
    code: int
    message: str


class BadParams(Exception):
    """A parameter is missing or has the wrong type; the message is for the agent."""


def invalid(message: str) -> Refusal:
    return Refusal(INVALID_PARAMS, message)


def text_param(params: dict[str, Any], name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str) or not value:
        raise BadParams(f"{name} must be a text.")
    return value


def integer_param(params: dict[str, Any], name: str) -> int | None:
    """An optional number, 0 or more."""
    value = params.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BadParams(f"{name} must be a number, 0 or more.")
    return value
