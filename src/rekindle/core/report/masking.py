"""A report without secrets: every text in it that comes from people, agents or commands is masked, then shortened.

In this order: half a secret would not be recognised as one. Pure.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from rekindle.core.report.contents import Check, JudgedClaim, LastWords, MorningReport, ReportLine, Story
from rekindle.core.report.evidence import Cited
from rekindle.core.report.words import LONGEST, LONGEST_ACCOUNT, shortened

#: Masks a text of a session; of no session, if that is empty.
Mask = Callable[[str, str], str]


def masked(report: MorningReport, mask: Mask) -> MorningReport:
    """The same report, with every text masked and of a sensible length."""
    return replace(
        report,
        lines=tuple(_line(one, mask) for one in report.lines),
        checks=tuple(_check(one, mask) for one in report.checks),
        claims=tuple(_claim(one, mask) for one in report.claims),
        last_words=tuple(_words(one, mask) for one in report.last_words),
        stories=tuple(_story(one, mask) for one in report.stories),
        problems=tuple(_text("", one, mask) for one in report.problems),
    )


def _text(session: str, text: str, mask: Mask, most: int = LONGEST) -> str:
    return shortened(mask(session, text), most)


def _line(one: ReportLine, mask: Mask) -> ReportLine:
    title, text = (_text(one.session, each, mask) for each in (one.title, one.text))
    return replace(one, title=title, text=text, evidence=_evidence(one.evidence, one.session, mask))


def _check(one: Check, mask: Mask) -> Check:
    return replace(one, command=_text(one.about if one.of == "session" else "", one.command, mask))


def _claim(one: JudgedClaim, mask: Mask) -> JudgedClaim:
    title, quote, why = (_text(one.session, each, mask) for each in (one.title, one.quote, one.why))
    return replace(one, title=title, quote=quote, why=why, evidence=_evidence(one.evidence, one.session, mask))


def _words(one: LastWords, mask: Mask) -> LastWords:
    text = _text(one.session, one.text, mask, LONGEST_ACCOUNT)
    return replace(one, title=_text(one.session, one.title, mask), text=text)


def _story(one: Story, mask: Mask) -> Story:
    return replace(one, title=_text(one.session, one.title, mask))


def _evidence(found: tuple[Cited, ...], session: str, mask: Mask) -> tuple[Cited, ...]:
    """Ids stay as they are; a check is named by its command."""
    return tuple(replace(one, ref=_text(session, one.ref, mask)) if one.kind == "check" else one for one in found)
