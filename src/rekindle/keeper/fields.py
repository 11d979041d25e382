"""Typed reading of JSON objects that came from a file or a peer, so that nothing trusts their shape.

Only this: a field of the right type, or FieldError that names it.
"""

from collections.abc import Mapping

Object = Mapping[str, object]


class FieldError(ValueError):
    """A field is missing or has the wrong type; the message names it."""


def integer(source: Object, name: str, *, least: int = 0, most: int = 2**63 - 1) -> int:
    value = source.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise FieldError(f"{name} must be a whole number from {least} to {most}")
    return value


def optional_integer(source: Object, name: str) -> int | None:
    return None if source.get(name) is None else integer(source, name)


def number(source: Object, name: str) -> float:
    value = source.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        raise FieldError(f"{name} must be a number from 0 on")
    return float(value)


def text(source: Object, name: str) -> str:
    value = source.get(name)
    if not isinstance(value, str):
        raise FieldError(f"{name} must be a text")
    return value


def flag(source: Object, name: str) -> bool:
    value = source.get(name)
    if not isinstance(value, bool):
        raise FieldError(f"{name} must be true or false")
    return value


def texts(source: Object, name: str) -> list[str]:
    value = source.get(name)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise FieldError(f"{name} must be a list of texts")
    return value


def text_map(source: Object, name: str) -> dict[str, str]:
    value = nested(source, name)
    if not all(isinstance(item, str) for item in value.values()):
        raise FieldError(f"{name} must map texts to texts")
    return {key: str(item) for key, item in value.items()}


def nested(source: Object, name: str) -> dict[str, object]:
    value = source.get(name)
    if not isinstance(value, dict):
        raise FieldError(f"{name} must be an object")
    return value


def objects(source: Object, name: str) -> list[dict[str, object]]:
    value = source.get(name)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise FieldError(f"{name} must be a list of objects")
    return value
