"""JSON for programs that live for some milliseconds: the same as `json`, without what importing `json` costs.

`json` compiles patterns, and so imports `re`, `enum` and `functools`. For the hook client, which runs once per tool
call of an agent, that is more than all of its own work. The parser and the encoder proper are in `_json`, and this
calls them as `json` does. They are not a documented interface, so whatever is unexpected goes to `json` itself: an
interpreter without them, a text that they refuse, a value that they cannot encode. A property test proves that both
agree.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_WHITE = " \t\n\r"


class _Terms:
    """How `json.loads` has its scanner read, by default."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    memo: dict[str, str] = {}  # noqa: RUF012

    @staticmethod
    def parse_constant(name: str) -> float:
        """NaN and the infinities, which `json.loads` takes."""
        return {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}[name]


def _scanner() -> Callable[[str, int], tuple[Any, int]] | None:
    try:
        from _json import make_scanner

        made: Callable[[str, int], tuple[Any, int]] = make_scanner(_Terms)  # type: ignore[arg-type]
        return made if made('{"a": [1, "b", 0.5, null, true]}', 0)[0] == {"a": [1, "b", 0.5, None, True]} else None
    except Exception:
        return None


def _encoder() -> Callable[[object], tuple[str, ...]] | None:
    try:
        from _json import encode_basestring_ascii, make_encoder

        # markers, default, encoder, indent, key separator, item separator, sort keys, skip keys, allow NaN. Without
        # markers it does not see that a value contains itself before there are too many levels: `json` sees it then.
        made = make_encoder(None, _refuse, encode_basestring_ascii, None, ":", ",", False, False, False)

        def encoded(value: object) -> tuple[str, ...]:
            told: tuple[str, ...] = made(value, 0)
            return told

        return encoded if "".join(encoded({"a": [1, "ä"]})) == '{"a":[1,"\\u00e4"]}' else None
    except Exception:
        return None


def _refuse(value: object) -> object:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


_scan = _scanner()
_encode = _encoder()


def loads(text: bytes) -> Any:
    """What a JSON text means, exactly as `json.loads` has it, errors included."""
    if _scan is not None:
        try:
            whole = text.decode("utf-8").strip(_WHITE)
            value, end = _scan(whole, 0)
            if end == len(whole) and not whole.startswith("\ufeff"):
                return value
        except (ValueError, StopIteration, RecursionError):
            pass  # `json` finds the words for it, or another encoding
    import json

    return json.loads(text)


def compact(value: object) -> str:
    """A value as JSON in ASCII without spaces. ValueError for NaN, TypeError for what JSON cannot say."""
    if _encode is not None:
        try:
            return "".join(_encode(value))
        except (ValueError, TypeError, RecursionError):
            pass
    import json

    return json.dumps(value, separators=(",", ":"), allow_nan=False)
