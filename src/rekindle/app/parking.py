"""Sessions that cannot go on without a person although nothing asks one: an inbox has them behind its questions."""

from __future__ import annotations

from typing import Any

#: How long a session that has failed stays in the inbox.
_FAILED_SECONDS = 2 * 86400.0


def parked(rows: list[dict[str, Any]], asked: list[dict[str, Any]], now: float) -> list[dict[str, Any]]:
    """Sessions that cannot go on without a person, and about which no question is open. A feature's run asks itself."""
    known = {one["session"] for one in asked}
    return [
        one
        for one in rows
        if one["needs_you"]
        and one["id"] not in known
        and not one["next"].startswith("rekindle answer")
        and not (one["feature"] and one.get("task"))
        and (one["state"] != "FAILED" or now - one["changed_at"] < _FAILED_SECONDS)
    ]
