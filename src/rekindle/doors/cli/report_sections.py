"""A report as a person reads it, whatever it is shown on: sections in the order of what matters, and rows. Pure.

The terminal, Markdown and HTML are drawn from this, so that they say the same in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Final, Literal

from rekindle.core.report.contents import JudgedClaim, LastWords, MorningReport, ReportLine, Subject
from rekindle.core.report.evidence import Cited, Owner

#: How a section feels: somebody has to act, something went wrong, it is proved, it is only said, or it is quiet.
Tone = Literal["needs", "bad", "good", "said", "calm"]
_SUBJECTS: Final[dict[Subject, str]] = {"tests": "tests", "build": "build", "lint": "linter"}
_OWNERS: Final[dict[Owner, str]] = {"session": "session ", "job": "job ", "feature": "feature ", "all": ""}


@dataclass(frozen=True)
class ReportRow:
    """One entry. `about` is the title of what it is about, `name` its id; `quote`: the words are an agent's."""

    at: float
    about: str
    name: str
    text: str
    evidence: tuple[Cited, ...] = ()
    next: str = ""
    quote: str = ""
    times: int = 1


@dataclass(frozen=True)
class Section:
    """Rows under a heading. `note` says what the heading means."""

    title: str
    tone: Tone
    rows: tuple[ReportRow, ...]
    note: str = ""


def sections(report: MorningReport) -> list[Section]:
    """Everything, in the order of what matters; empty sections are left out."""
    lines = report.lines
    is_proof = {id(one) for one in lines if one.kind == "done" and one.evidence[0].kind in ("check", "commit")}
    needs = [one for one in lines if one.needs_you and one.kind != "next"]
    merges = [one for one in lines if one.kind == "next" and not one.needs_you]
    believed = [one for one in report.claims if one.verdict == "proved"]
    doubted = sorted((one for one in report.claims if one.verdict != "proved"), key=lambda one: one.verdict)
    found = [
        Section("Needs you", "needs", _rows(needs)),
        Section("To merge", "calm", _rows(merges)),
        Section(
            "Proved",
            "good",
            _joined([*_rows(one for one in lines if id(one) in is_proof), *map(_claim, believed)]),
            "rekindle ran the command, or git has the commit",
        ),
        Section("Claimed, not proved", "bad", tuple(map(_claim, doubted)), "only the agent says so"),
        Section("In the agents' own words", "said", tuple(map(_words, report.last_words)), "nobody has checked this"),
        Section("Asked", "calm", _of(lines, "asked")),
        Section("Done", "calm", _joined(_rows(x for x in lines if x.kind == "done" and id(x) not in is_proof))),
        Section("Failed", "bad", _joined(_rows(one for one in lines if one.kind == "failed" and not one.needs_you))),
        Section("Stopped", "calm", _of(lines, "stopped"), "somebody wanted it to end"),
        Section("Cut off and resumed", "calm", _rows(one for one in lines if one.kind in ("cut", "resumed"))),
        Section("Waited", "calm", _of(lines, "waited")),
        Section("Spent", "calm", tuple(_spent(one) for one in lines if one.kind == "spent")),
        Section("Still open", "calm", _rows(one for one in lines if one.kind == "open" and not one.needs_you)),
        Section("Not readable", "bad", tuple(ReportRow(report.made_at, "", "", one) for one in report.problems)),
    ]
    return [_located(one, report.hosts) for one in found if one.rows]


def _located(section: Section, hosts: Mapping[str, str]) -> Section:
    """The same, with the host that has each session, in a fleet."""
    if not hosts:
        return section
    return replace(section, rows=tuple(_on_host(row, hosts) for row in section.rows))


def _on_host(row: ReportRow, hosts: Mapping[str, str]) -> ReportRow:
    host = hosts.get(row.name.rpartition(" ")[2])
    return row if host is None else replace(row, name=f"{row.name} on {host}")


def clock(zone: tzinfo | None, report: MorningReport) -> Callable[[float], str]:
    """Times of day; with the date if that is not the day on which the report ends."""
    last = datetime.fromtimestamp(report.until, zone).date()

    def told(at: float) -> str:
        there = datetime.fromtimestamp(at, zone)
        return there.strftime("%H:%M" if there.date() == last else "%d %b %H:%M")

    return told


def period(report: MorningReport, zone: tzinfo | None) -> str:
    """The time that the report is about."""
    since, until = (datetime.fromtimestamp(at, zone).strftime("%Y-%m-%d %H:%M") for at in (report.since, report.until))
    return f"{since} to {until}"


def name_of(of: Owner, about: str) -> str:
    """What a row is about, as people find it again."""
    return f"{_OWNERS[of]}{about}"


def cited(evidence: Iterable[Cited]) -> str:
    """Evidence in a few words."""
    return ", ".join(dict.fromkeys(one.words for one in evidence))


def _of(lines: Iterable[ReportLine], kind: str) -> tuple[ReportRow, ...]:
    return _rows(one for one in lines if one.kind == kind)


def _rows(lines: Iterable[ReportLine]) -> tuple[ReportRow, ...]:
    return tuple(
        ReportRow(
            one.at,
            one.title,
            name_of(one.of, one.about),
            one.text if one.text != one.title else "",
            one.evidence,
            one.next,
        )
        for one in lines
    )


def _joined(rows: Iterable[ReportRow]) -> tuple[ReportRow, ...]:
    """Rows that say the same about the same thing become one: nobody reads `ended its turn` forty times."""
    found: dict[tuple[str, str], ReportRow] = {}
    for row in rows:
        key = (row.name, row.text) if not row.quote else (row.name, row.quote)
        before = found.pop(key, None)
        if before is not None:
            row = replace(row, times=before.times + 1, evidence=(before.evidence[0], row.evidence[0]))
        found[key] = row
    return tuple(found.values())


def _claim(one: JudgedClaim) -> ReportRow:
    told = f"{_SUBJECTS[one.subject]}: {'contradicted: ' if one.verdict == 'contradicted' else ''}{one.why}"
    return ReportRow(one.at, one.title, name_of("session", one.session), told, one.evidence, quote=one.quote)


def _words(one: LastWords) -> ReportRow:
    return ReportRow(one.at, one.title, name_of("session", one.session), "", one.evidence, quote=one.text)


def _spent(one: ReportLine) -> ReportRow:
    cost = f"${one.cost:.2f}, " if one.cost is not None else ""
    return ReportRow(one.at, one.title, name_of(one.of, one.about), f"{cost}{one.text}", one.evidence)
