"""The message about the report of a day."""

from __future__ import annotations

from rekindle.app.reporting import Reporting
from rekindle.core.inbox.news import News
from rekindle.core.report.summary import headline
from rekindle.core.report.windows import before, written


def report_news(reporting: Reporting, due: float, key: str) -> News:
    """What to tell about the day that ended at `due`: the headline, and the command that shows all of it."""
    window = before(due)
    found = reporting.about(window)
    facts = "; ".join(headline(found)) or "nothing happened, and nothing is open"
    text = "\n".join(f"{one.title}: {one.text}" for one in found.lines if one.needs_you and one.kind != "next")
    command = f"rekindle report --since {written(window.since)} --until {written(window.until)}"
    return News(key, "report", f"rekindle report: {facts}", command, due, text)
