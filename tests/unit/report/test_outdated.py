"""What needed somebody and does not any more is told as what happened, not as something to do."""

from __future__ import annotations

from rekindle.core.job import facts as jf
from rekindle.core.report.contents import MorningReport
from rekindle.core.report.making import report
from rekindle.core.report.sources import FeatureSource, JobSource, JournalFact, Sources, Window
from tests.job_stage import order


def of_jobs(*facts: jf.JobFact) -> MorningReport:
    return report(Sources(jobs=(JobSource("j1", tuple(enumerate(facts, 1))),)), Window(0.0, 100.0), 100.0)


def of_feature(*events: tuple[str, dict[str, str]], is_merged: bool | None = None) -> MorningReport:
    told = tuple(JournalFact(float(n), f"run{n // 10}", n, type_, dict(data)) for n, (type_, data) in enumerate(events))
    source = FeatureSource("/w", "shop", "feature/shop", told, is_merged=is_merged)
    return report(Sources(features=(source,)), Window(0.0, 100.0), 100.0)


FAILED = jf.JobOver(at=5.0, how="failed", why="no key")


def test_a_job_that_failed_needs_somebody_once_however_often_it_failed() -> None:
    begun = jf.JobSubmitted(at=1.0, job="j1", order=order())
    again = jf.JobRetryAsked(at=6.0, by="me")
    found = of_jobs(begun, FAILED, again, jf.JobOver(at=7.0, how="failed", why="still no key"))
    assert found.totals.counts["failed"] == 2
    assert [line.at for line in found.lines if line.needs_you and line.kind != "next"] == [7.0]


def test_a_job_that_failed_and_was_tried_again_well_needs_nobody() -> None:
    begun = jf.JobSubmitted(at=1.0, job="j1", order=order())
    again = jf.JobRetryAsked(at=6.0, by="me")
    found = of_jobs(begun, FAILED, again, jf.JobOver(at=7.0, how="done"))
    assert (found.totals.counts["failed"], found.totals.counts["done"], found.totals.needs_you) == (1, 1, 0)


def test_a_feature_whose_run_failed_and_was_resumed_well_needs_nobody_and_can_be_merged() -> None:
    start = ("session.start", {"command": "implement"})
    resumed = ("session.start", {"command": "resume"})
    failed, done = ("session.end", {"reason": "error"}), ("session.end", {"reason": "completed"})
    assert of_feature(start, failed).totals.needs_you == 1
    found = of_feature(start, failed, resumed, done)
    assert found.totals.needs_you == 0
    assert [line.next for line in found.lines if line.kind == "next"] == ["git merge feature/shop"]
    merged = of_feature(start, failed, resumed, done, is_merged=True)
    assert [line for line in merged.lines if line.kind == "next"] == []


def test_a_feature_that_nobody_works_on_is_open_and_says_how_to_go_on() -> None:
    found = of_feature(("session.start", {"command": "implement"}), ("plan.created", {"tasks": ""}))
    [line] = [one for one in found.lines if one.kind == "open"]
    assert (line.needs_you, line.next) == (True, "rekindle resume shop")
