"""A report in a few short facts: what every form of it begins with, and what a message about it says. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rekindle.core.report.contents import MorningReport
from rekindle.core.report.words import counted

_RECEIPTS: Final = {
    "same": "in the same conversation",
    "rebuilt": "in a new conversation with the history",
    "fresh": "with a fresh start",
    "unproven": "not proved to be the same conversation",
}


def headline(report: MorningReport) -> list[str]:
    """The report in a few short facts."""
    totals = report.totals
    counts = totals.counts
    found = [", ".join(_counted(totals.sessions, totals.jobs, totals.features))] if totals.sessions else []
    found += [f"{counts[kind]} {kind}" for kind in ("done", "failed") if counts.get(kind)]
    if counts.get("cut"):
        found.append(f"{counts['cut']} cut off")
    found += [f"{number} back {_RECEIPTS[kind]}" for kind, number in totals.receipts.items()]
    if totals.needs_you:
        found.append(f"{totals.needs_you} need{'s' if totals.needs_you == 1 else ''} you")
    return [*found, *([money(report)] if totals.tokens or totals.cost or totals.unpriced else [])]


def money(report: MorningReport) -> str:
    """What was spent, as far as it is known."""
    totals = report.totals
    if totals.unpriced and not totals.cost:
        return f"cost unknown ({', '.join(totals.unpriced_agents)}), {totals.tokens:,} tokens"
    also = f" and {counted(totals.unpriced, 'turn')} of unknown cost" if totals.unpriced else ""
    return f"${totals.cost:.2f}{also}, {totals.tokens:,} tokens"


def _counted(sessions: int, jobs: int, features: int) -> Iterator[str]:
    yield counted(sessions, "session")
    yield from (counted(number, word) for number, word in ((jobs, "job"), (features, "feature")) if number)
