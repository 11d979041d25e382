"""What a report says about a feature: its plan, its merges and checks, how its runs ended, what is open. Pure.

Only events that rekindle itself wrote count, in runs that it drives: what an agent put into a journal proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rekindle.core.journal import event as ev
from rekindle.core.report.contents import Check, LineKind, ReportLine
from rekindle.core.report.evidence import Cited
from rekindle.core.report.sources import FeatureSource, JournalFact, Window
from rekindle.core.report.walking import checked, evidence_of_check
from rekindle.core.report.words import counted, in_words
from rekindle.core.terminal_text import quoted


class WalkedFeature:
    """One feature, up to the end of a window."""

    def __init__(self, source: FeatureSource, window: Window) -> None:
        self.source = source
        self.window = window
        self.events = [one for one in source.events if one.at < window.until]
        self.checks = [_check(source, one) for one in self.events if one.type == "check.ran"]

    @property
    def is_concerned(self) -> bool:
        """Whether anything happened to it in the window."""
        return any(self.window.has(one.at) for one in self.events)

    @property
    def end(self) -> JournalFact | None:
        """The end of its newest run; None: that run has not ended."""
        starts = [number for number, one in enumerate(self.events) if one.type == ev.SESSION_START]
        newest = self.events[starts[-1] :] if starts else []
        return next((one for one in newest if one.type == ev.SESSION_END), None)

    def lines(self) -> Iterator[ReportLine]:
        """Everything about it."""
        for one in self.events:
            if self.window.has(one.at):
                yield from self._told(one)
        if not self.events:
            return
        last, end = self.events[-1], self.end
        if end is None:
            how = "running" if self.source.is_running else "interrupted: nobody works on it"
            resume = "" if self.source.is_running else f"rekindle resume {quoted(self.source.feature)}"
            line = self._line("open", last, how, self._record(last), next_=resume)
            yield line
        elif end.data.get("reason") == "completed" and self.window.has(end.at) and self.source.is_merged is not True:
            where = f"{self.source.branch} is finished, and can be merged (in {self.source.repository})"
            yield self._line("next", end, where, self._record(end), next_=f"git merge {quoted(self.source.branch)}")

    def _told(self, one: JournalFact) -> Iterator[ReportLine]:
        data, task = one.data, _text(one.data.get("taskId"))
        match one.type:
            case ev.PLAN_CREATED:
                tasks = data.get("tasks")
                number = len(tasks) if isinstance(tasks, list) else 0
                yield self._line("asked", one, f"a plan of {counted(number, 'task')}", self._record(one))
            case "branch.merged" if isinstance(data.get("commit"), str):
                commit = str(data["commit"])
                refs = (Cited("commit", "feature", self.source.feature, commit, one.seq),)
                what = f"task {task} is merged" if task else f"{_text(data.get('name'))} is merged"
                yield self._line("done", one, f"{what} as commit {commit[:10]}", *refs)
            case "check.ran":
                check = _check(self.source, one)
                about = f"task {check.task}: " if check.task else ""
                kind: LineKind = "done" if check.passed else "failed"
                yield self._line(kind, one, about + checked(check), evidence_of_check(check))
            case ev.TASK_FAILED:
                text = f"task {task} failed: {in_words(_text(data.get('error')))}"
                yield self._line("failed", one, text, self._record(one))
            case ev.SESSION_END if data.get("reason") == "completed":
                yield self._line("done", one, "all tasks are done", self._record(one))
            case ev.SESSION_END if data.get("reason") == "user_cancelled":
                yield self._line("stopped", one, "somebody stopped its run", self._record(one), next_=self._go_on(one))
            case ev.SESSION_END:
                how = in_words(_text(data.get("message")) or _text(data.get("reason")))
                yield self._line("failed", one, f"its run ended: {how}", self._record(one), next_=self._go_on(one))
            case ev.SESSION_START if data.get("command") == "resume":
                yield self._line("resumed", one, "its run was resumed", self._record(one))
            case _:
                return

    def _go_on(self, end: JournalFact) -> str:
        """What to type for a run to go on after its end, if that is how it is now."""
        return f"rekindle resume {quoted(self.source.feature)}" if end is self.end else ""

    def _line(self, kind: LineKind, one: JournalFact, text: str, *evidence: Cited, next_: str = "") -> ReportLine:
        name = self.source.feature
        needs_you = kind in ("open", "failed") and bool(next_)
        return ReportLine(
            kind, "proved", one.at, "feature", name, name, text, evidence, next=next_, needs_you=needs_you
        )

    def _record(self, one: JournalFact) -> Cited:
        return Cited("record", "feature", self.source.feature, f"{one.type} {one.sid}/{one.seq}", one.seq)


def _check(source: FeatureSource, one: JournalFact) -> Check:
    data = one.data
    return Check(
        one.at,
        _text(data.get("command")),
        data.get("result") == "pass",
        "feature",
        source.feature,
        one.seq,
        ev.commit_id(data.get("commit")) or "",
        is_exact=True,
        task=_text(data.get("taskId")),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)
