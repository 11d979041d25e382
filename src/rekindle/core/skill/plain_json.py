"""JSON from elsewhere that can be written again as it is: without NaN, infinities and numbers that become one. Pure.

Python reads `1e999` as infinity and writes that as a word which is not JSON. What was read so and is put into a state
file would make a file that nobody can read.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final

#: A whole number this large counts nothing real, and many programs cannot read it.
LARGEST: Final = 2**63


def loads(content: str | bytes) -> Any:
    """What a JSON text means. Raises ValueError, RecursionError."""
    return json.loads(content, parse_constant=_refused, parse_float=_finite)


def dumps(value: Any, *, is_ascii: bool = False) -> str:
    """A value as JSON, indented. Raises ValueError for a number that JSON does not have."""
    return json.dumps(value, indent=2, ensure_ascii=is_ascii, allow_nan=False)


def is_writable(value: object) -> bool:
    """Whether a value is something else than a number, or a number that can be written down and read again anywhere."""
    if isinstance(value, bool):
        return True
    if isinstance(value, int):
        return -LARGEST <= value < LARGEST
    return not isinstance(value, float) or math.isfinite(value)


def _refused(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    found = float(text)
    if not math.isfinite(found):
        raise ValueError(f"the number {text[:40]} is too large")
    return found
