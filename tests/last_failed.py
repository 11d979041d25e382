"""`python -m tests.last_failed`: the tests that failed in the last run, one a line, as pytest keeps them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

_KEPT = Path(__file__).parents[1] / ".pytest_cache" / "v" / "cache" / "lastfailed"


def last_failed(kept: Path = _KEPT) -> list[str]:
    """Their names; none if nothing failed, or nothing was run."""
    try:
        found = json.loads(kept.read_text())
    except FileNotFoundError:
        return []
    return sorted(found) if isinstance(found, dict) else []


if __name__ == "__main__":
    sys.stdout.writelines(f"{name}\n" for name in last_failed())
