"""What a report says about all sessions together: what was asked about restarts and spending, and answered. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rekindle.core.governor import facts as g
from rekindle.core.governor.machine import question_id
from rekindle.core.report.contents import LineKind, ReportLine
from rekindle.core.report.evidence import Cited
from rekindle.core.report.sources import Window
from rekindle.core.report.words import in_words, span


def governor_lines(facts: Sequence[tuple[int, g.GovernorFact]], window: Window) -> Iterator[ReportLine]:
    """How long each question about all sessions was open, and which one still is."""
    asked: dict[str, tuple[int, g.GovernorAsked]] = {}
    for seq, fact in facts:
        if fact.at >= window.until:
            continue
        match fact:
            case g.GovernorAsked():
                asked.setdefault(question_id(fact), (seq, fact))
            case g.GovernorAnswered() | g.GovernorClosed() if fact.question in asked:
                seq_, one = asked.pop(fact.question)
                lasted = window.part_of(one.at, fact.at)
                if lasted <= 0:
                    continue
                how = f"answered {fact.option}" if isinstance(fact, g.GovernorAnswered) else "no answer was needed"
                yield _line("waited", one, seq_, f"{span(lasted)}: {in_words(one.title)} ({how})", lasted)
            case _:
                continue
    for name, (seq, one) in asked.items():
        yield _line("open", one, seq, f"asking: {in_words(one.title)}", None, name)


def _line(
    kind: LineKind, one: g.GovernorAsked, seq: int, text: str, seconds: float | None, question: str = ""
) -> ReportLine:
    ref = Cited("question", "all", "all sessions", question or question_id(one), seq)
    next_ = f"rekindle answer {question}" if question else ""
    return ReportLine(
        kind, "proved", one.at, "all", "all sessions", "", text, (ref,), seconds, next=next_, needs_you=bool(question)
    )
