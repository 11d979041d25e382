"""What every fact is."""

from __future__ import annotations

import msgspec


class Fact(msgspec.Struct, frozen=True, tag_field="fact", kw_only=True):
    """Something that happened, or that was decided. `at` is wall-clock time in seconds."""

    at: float
