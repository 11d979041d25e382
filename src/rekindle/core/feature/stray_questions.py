"""Which strays a person is asked about at a resume: those that a run has asked about and nobody has answered. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from rekindle.core.feature.progress import TaskProgress
from rekindle.core.feature.strays import Stray, unanswered

Strays = Mapping[str, Sequence[Stray]]


def pending(
    known: Mapping[str, TaskProgress], strays: Strays, settled: Collection[str]
) -> dict[str, tuple[Stray, ...]]:
    """What a run has asked about, by task. A run keeps what it asks about; until then, its agent may still use it."""
    left = {name: unanswered(strays.get(name, ()), one.answered) for name, one in known.items() if name not in settled}
    return {name: found for name, found in left.items() if any(one.kept for one in found)}


def listed(known: Mapping[str, TaskProgress], strays: Strays, settled: Collection[str]) -> list[dict[str, Any]]:
    """All strays that are not settled, or that stay left out, in plain values."""
    asked = pending(known, strays, settled)
    rows = []
    for name, found in strays.items():
        one = known[name]
        for stray in found:
            if stray.commit in one.left_out:
                rows.append({"task": name, **msgspec.to_builtins(stray), "state": "left out"})
            elif stray.commit not in one.answered and name not in settled:
                state = "asked" if name in asked else "found"
                rows.append({"task": name, **msgspec.to_builtins(stray), "state": state})
    return rows
