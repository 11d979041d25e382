"""A report on a terminal, or in a pipe. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from typing import Final

from rekindle.core.report.contents import MorningReport
from rekindle.core.report.summary import headline
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.colours import Ink
from rekindle.doors.cli.measure import cells, fitted, packed, wrapped
from rekindle.doors.cli.next_step import next_step
from rekindle.doors.cli.report_sections import ReportRow, Tone, cited, clock, period, sections
from rekindle.doors.cli.session_screen import Surface

_INDENT: Final = "      "


def lines(report: MorningReport, surface: Surface, zone: tzinfo | None = None) -> Iterator[str]:
    """The report as a person reads it."""
    ink, width = surface.ink, surface.width
    yield ink.bold(f"Report: {period(report, zone)}")
    facts = headline(report)
    if not facts and report.is_empty:
        yield "Nothing happened, and nothing is open."
        yield "  " + next_step("rekindle report --since 7d", ink)
        return
    yield from packed([printable(one) for one in facts], width)
    told = clock(zone, report)
    for section in sections(report):
        yield ""
        note = f": {section.note}" if section.note else ""
        yield f"{_heading(section.title, section.tone, ink)} ({len(section.rows)}){ink.faint(note)}"
        for row in section.rows:
            yield from _row(row, told(row.at), surface)


def _heading(title: str, tone: Tone, ink: Ink) -> str:
    paint = {"needs": ink.yellow, "bad": ink.red, "good": ink.green, "said": ink.faint, "calm": ink.bold}[tone]
    return paint(title)


def _row(row: ReportRow, at: str, surface: Surface) -> Iterator[str]:
    ink, width = surface.ink, surface.width
    yield _head(row, at, width)
    if row.quote:
        yield from wrapped(f'"{printable(row.quote)}"', width, _INDENT)
    if row.text:
        times = f" ({row.times} times)" if row.times > 1 else ""
        yield from wrapped(printable(row.text) + times, width, _INDENT)
    if row.evidence:
        joined = " … ".join(one.words for one in row.evidence) if row.times > 1 else cited(row.evidence)
        for line in wrapped(f"[{printable(joined)}]", width, _INDENT):
            yield ink.faint(line)
    if row.next:
        yield _INDENT + next_step(printable(row.next), ink)


def _head(row: ReportRow, at: str, width: int | None) -> str:
    """When, and what it is about. A title that is too long is cut: the id finds it again."""
    name = printable(row.name)
    if not row.about or row.about == row.name.removeprefix("feature "):
        return fitted(f"  {at}  {name}", width)
    room = None if width is None else max(width - cells(f"  {at}   ({name})"), 8)
    return fitted(f"  {at}  {fitted(printable(row.about), room)} ({name})", width)
