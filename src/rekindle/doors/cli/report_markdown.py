"""A report as Markdown. Nothing in it that comes from an agent can become a heading, a link, an image or HTML. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import tzinfo
from typing import Final

from rekindle.core.report.contents import MorningReport
from rekindle.core.report.summary import headline
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.report_sections import ReportRow, cited, clock, period, sections

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>()#+!|~&-])")


def lines(report: MorningReport, zone: tzinfo | None = None) -> Iterator[str]:
    """The report."""
    yield f"# Report: {period(report, zone)}"
    yield ""
    facts = headline(report)
    yield plain("; ".join(facts)) + "." if facts else "Nothing happened, and nothing is open."
    told = clock(zone, report)
    for section in sections(report):
        yield ""
        yield f"## {section.title} ({len(section.rows)})"
        yield ""
        if section.note:
            yield f"*{section.note}*"
            yield ""
        for row in section.rows:
            yield _row(row, told(row.at))


def plain(text: str) -> str:
    """A text that Markdown shows as it is."""
    return _SPECIAL.sub(r"\\\1", printable(text))


def _row(row: ReportRow, at: str) -> str:
    about = f"**{plain(row.about)}** " if row.about else ""
    name = f"({plain(row.name)}) " if row.name else ""
    quote = f"“{plain(row.quote)}” " if row.quote else ""
    times = f" ({row.times} times)" if row.times > 1 else ""
    evidence = f" \\[{plain(cited(row.evidence))}\\]" if row.evidence else ""
    next_ = f"  \n  next: {_code(row.next)}" if row.next else ""
    return f"- {at} {about}{name}{quote}{plain(row.text)}{times}{evidence}{next_}".rstrip()


def _code(text: str) -> str:
    """A command that can be copied. Its fence is longer than any in it."""
    longest = max((len(one) for one in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    apart = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{apart}{printable(text)}{apart}{fence}"
