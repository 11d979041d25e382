"""A callback that is refused, as data: the code and the sentence that the agent gets."""

from __future__ import annotations

from typing import Any

from rekindle.agents.base.dialect import CallbackRefused


class BadParams(Exception):
    """A parameter is missing or has the wrong type; the message is for the agent."""


def invalid(message: str) -> CallbackRefused:
    return CallbackRefused("bad_request", message)


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
