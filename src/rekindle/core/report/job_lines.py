"""What a report says about a job: that it was asked for, how it ended, what is still open. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rekindle.core.job import facts as jf
from rekindle.core.job.machine import evolve
from rekindle.core.job.record import JobRecord, record
from rekindle.core.job.state import Job
from rekindle.core.report.contents import LineKind, ReportLine
from rekindle.core.report.evidence import Cited
from rekindle.core.report.sources import JobSource, Window
from rekindle.core.report.words import in_words, span
from rekindle.core.session.state import Session


class WalkedJob:
    """One job, up to the end of a window. `sessions` are those of its steps as they are then."""

    def __init__(self, source: JobSource, window: Window, sessions: Mapping[str, Session]) -> None:
        self.source = source
        self.window = window
        self.job: Job | None = None
        self._told: list[tuple[LineKind, float, str, int]] = []
        last = max((number for number, (_, fact) in enumerate(source.facts) if fact.at < window.until), default=-1)
        for seq, fact in source.facts[: last + 1]:
            before: Job | None = self.job
            self.job = evolve(before, fact)
            if self.job is not before and window.has(fact.at):
                self._take(seq, fact, self.job)
        self.record: JobRecord | None = record(self.job, sessions, window.until) if self.job is not None else None

    @property
    def is_concerned(self) -> bool:
        """Whether anything happened to it in the window."""
        return any(self.window.has(fact.at) for _, fact in self.source.facts)

    def lines(self) -> Iterator[ReportLine]:
        """Everything about it."""
        if self.record is None or self.job is None:
            return
        for kind, at, text, seq in self._told:
            ref = Cited("record", "job", self.source.id, f"job {self.source.id}", seq)
            is_how_it_is = kind in ("failed", "stopped") and at == self.job.over_at
            yield self._line(kind, at, text, ref, is_how_it_is=is_how_it_is)
        if self.job.over is None:
            status = f"schedule: {self.record.every}" if self.job.is_schedule else self.record.status
            told = f"{status}: {in_words(self.record.why)}" if self.record.why else status
            if self.record.next_at is not None and self.record.next_at > self.window.until:
                told = f"{told}; it goes on in {span(self.record.next_at - self.window.until)}"
            at = self.job.submitted_at
            yield self._line("open", at, told, self._newest(), is_how_it_is=True)

    def _line(self, kind: LineKind, at: float, text: str, ref: Cited, *, is_how_it_is: bool) -> ReportLine:
        """A line; if it says how the job is now, also whether a person has to act."""
        assert self.record is not None
        return ReportLine(
            kind,
            "proved",
            at,
            "job",
            self.source.id,
            in_words(self.record.title),
            text,
            (ref,),
            next=self.record.next if is_how_it_is else "",
            needs_you=self.record.needs_you and is_how_it_is,
            session=self.record.session or "",
        )

    def _newest(self) -> Cited:
        """What is known last of it."""
        seq = max((seq for seq, fact in self.source.facts if fact.at < self.window.until), default=0)
        return Cited("record", "job", self.source.id, f"job {self.source.id}", seq)

    def _take(self, seq: int, fact: jf.JobFact, job: Job) -> None:
        match fact:
            case jf.JobSubmitted() if not job.is_schedule:
                by = f"its schedule {fact.of} asked for it" if fact.of else "submitted"
                self._told.append(("asked", fact.at, by, seq))
            case jf.JobSubmitted():
                self._told.append(("asked", fact.at, f"scheduled: {job.order.every}", seq))
            case jf.JobOver(how="done"):
                self._told.append(("done", fact.at, "the job is done", seq))
            case jf.JobOver():
                why = f": {in_words(fact.why)}" if fact.why else ""
                if fact.how == "cancelled":
                    self._told.append(("stopped", fact.at, f"the job was cancelled{why}", seq))
                else:
                    self._told.append(("failed", fact.at, f"the job has failed{why}", seq))
            case _:
                pass
