"""A report in a few short facts: what every form of it begins with, and what a message about it says. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rekindle.core.report.contents import MorningReport, ReportLine
from rekindle.core.report.words import counted

_ORDER: Final = ("job", "feature", "session", "turn", "check")
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
    found = [f"{totals.needs_you} need{'s' if totals.needs_you == 1 else ''} you"] if totals.needs_you else []
    found += [", ".join(_counted(totals.sessions, totals.jobs, totals.features))] if totals.sessions else []
    found += _ends(report)
    if counts.get("cut"):
        found.append(f"{counts['cut']} cut off")
    found += [f"{number} back {_RECEIPTS[kind]}" for kind, number in totals.receipts.items()]
    return [*found, *([money(report)] if totals.tokens or totals.cost or totals.unpriced else [])]


def money(report: MorningReport) -> str:
    """What was spent, as far as it is known."""
    totals = report.totals
    if totals.unpriced and not totals.cost:
        return f"cost unknown ({', '.join(totals.unpriced_agents)}), {totals.tokens:,} tokens"
    also = f" and {counted(totals.unpriced, 'turn')} of unknown cost" if totals.unpriced else ""
    return f"${totals.cost:.2f}{also}, {totals.tokens:,} tokens"


def _ends(report: MorningReport) -> Iterator[str]:
    """How many turns, jobs, features and checks ended, and how: `2 jobs done`, `1 check failed`."""
    found: dict[str, int] = {}
    for kind, how in (("done", "done"), ("failed", "failed"), ("stopped", "stopped")):
        for line in report.lines:
            if line.kind == kind and (what := _ended(line)) and (kind != "done" or what != "check"):
                name = f"{what} {'ended' if (what, how) == ('turn', 'done') else how}"
                found[name] = found.get(name, 0) + 1
    for name, number in sorted(found.items(), key=lambda one: _ORDER.index(one[0].partition(" ")[0])):
        what, _, how = name.partition(" ")
        yield f"{counted(number, what)} {how}"


def _ended(line: ReportLine) -> str:
    """What it is that ended; empty: a part of something else."""
    evidence = line.evidence[0].kind
    if evidence == "check":
        return "check"
    match line.of:
        case "job":
            return "job"
        case "feature":
            return "feature" if line.evidence[0].ref.startswith("session.end ") else ""
        case _:
            return "turn" if evidence == "turn" else "session" if line.kind == "stopped" else ""


def _counted(sessions: int, jobs: int, features: int) -> Iterator[str]:
    yield counted(sessions, "session")
    yield from (counted(number, word) for number, word in ((jobs, "job"), (features, "feature")) if number)
