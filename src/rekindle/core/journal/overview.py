"""The runs of all features by date: what `rekindle history` shows, as data and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rekindle.core.journal.analysis import Analysis
from rekindle.core.journal.run import COMPLETE, FAILED, SKIPPED


@dataclass(frozen=True)
class RunLine:
    """One run in the overview."""

    date: str
    feature: str
    sid: str
    command: str | None
    began: str | None
    last: str | None
    events: int
    outcome: str
    completed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    summaries: dict[str, str] = field(default_factory=dict)


def run_lines(feature: str, analysis: Analysis) -> Iterator[RunLine]:
    """The runs of one feature's analysis."""
    for run in analysis.journal.runs:
        if run.ended:
            outcome = run.end_reason or "ended"
        elif run.sid in analysis.superseded:
            outcome = "continued by a later run"
        elif run.sid in analysis.interrupted:
            outcome = "interrupted"
        else:
            outcome = "running"
        tasks = run.work.tasks
        yield RunLine(
            date=(run.first_ts or "")[:10] or "unknown date",
            feature=feature,
            sid=run.sid,
            command=run.start.command if run.start is not None else None,
            began=run.first_ts,
            last=run.last_ts,
            events=run.events,
            outcome=outcome,
            completed=tuple(name for name, task in tasks.items() if task.status == COMPLETE),
            failed=tuple(name for name, task in tasks.items() if task.status == FAILED),
            skipped=tuple(name for name, task in tasks.items() if task.status == SKIPPED),
            summaries={name: task.summary for name, task in tasks.items() if task.summary},
        )


def by_date(lines: list[RunLine]) -> dict[str, list[RunLine]]:
    """Newest date first; within a date, in order of time."""
    dates: dict[str, list[RunLine]] = {}
    for line in sorted(lines, key=lambda line: (line.began or "", line.feature)):
        dates.setdefault(line.date, []).append(line)
    return dict(sorted(dates.items(), reverse=True))


def sentences(line: RunLine) -> Iterator[str]:
    """What a run did, in a few short lines."""
    began = (line.began or "")[11:16] or "?"
    last = (line.last or "")[11:16] or "?"
    yield f"{began}–{last} {line.feature}: {line.command or 'run'} {line.sid}, {line.events} events, {line.outcome}"
    for word, names in (("done", line.completed), ("failed", line.failed), ("skipped", line.skipped)):
        for name in names:
            said = f" {line.summaries[name]}" if name in line.summaries else ""
            yield f"{word} #{name}{said}"
