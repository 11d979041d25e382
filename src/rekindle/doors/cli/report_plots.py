"""The plots of a report, as SVG inside HTML: sessions over time, what was spent, how full the contexts were. Pure.

Only the shapes are SVG, stretched to the width of the page. Texts are HTML, so that a phone shows them in a size that
can be read. No style attribute is used: the page's policy forbids them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from rekindle.core.quantities import duration
from rekindle.core.report.contents import ContextPoint, MorningReport, Phase, Story
from rekindle.doors.cli.html_text import escape
from rekindle.doors.cli.measure import counted, short_number

_WIDTH: Final = 1000
_HIGH: Final = 160
#: The most sessions that are drawn.
MOST_STORIES: Final = 40
_MOST_CONTEXTS: Final = 6
_WORDS: Final[dict[Phase, str]] = {
    "starting": "starting",
    "working": "working",
    "asking": "waiting for an answer",
    "limit": "waiting for a limit",
    "checking": "being checked",
    "cut": "cut off",
    "held": "on hold",
    "queued": "waiting for its agent",
    "idle": "at rest",
    "over": "over",
}
#: What is drawn in the same colour.
_LOOKS: Final[dict[Phase, str]] = {
    "starting": "working",
    "working": "working",
    "checking": "working",
    "asking": "asking",
    "limit": "waiting",
    "held": "waiting",
    "queued": "waiting",
    "cut": "cut",
    "idle": "idle",
    "over": "idle",
}


class TimeAxis:
    """Where a time is on the page. The axis covers what happened, and not the hours before and after it."""

    def __init__(self, report: MorningReport, told: Callable[[float], str]) -> None:
        spans = [span for one in report.stories for span in one.spans if span.phase not in ("idle", "over")]
        moments = [at for span in spans for at in (span.since, span.until)]
        moments += [one.at for one in report.spending]
        self.since, self.until = min(moments, default=report.since), max(moments, default=report.until)
        if self.until - self.since < 60:
            self.since, self.until = self.since - 30, self.until + 30
        self._told = told

    def x(self, at: float) -> float:
        """The place of a time, from 0 to the width of the drawing."""
        part = (min(max(at, self.since), self.until) - self.since) / (self.until - self.since)
        return round(part * _WIDTH, 1)

    def labels(self) -> str:
        """The times below a drawing."""
        steps = [self.since + (self.until - self.since) * part / 4 for part in range(5)]
        return "".join(["<div class=axis>", *(f"<span>{escape(self._told(at))}</span>" for at in steps), "</div>"])


def timeline(report: MorningReport, axis: TimeAxis, told: Callable[[float], str]) -> Iterator[str]:
    """What each session was doing, one bar each."""
    shown = report.stories[:MOST_STORIES]
    if not shown:
        return
    yield "<section><h2>Over time</h2>"
    legend = ("working", "asking", "waiting", "cut", "backmark", "idle")
    words = {"asking": "waits for you", "waiting": "waits", "cut": "cut off", "backmark": "back", "idle": "at rest"}
    yield "<p class=legend>" + " ".join(
        f'<span><svg class=key viewBox="0 0 10 10" aria-hidden=true><rect class={look} width=10 height=10 /></svg> '
        f"{words.get(look, look)}</span>"
        for look in legend
    )
    yield "</p>"
    for one in shown:
        yield f"<div class=bar><span class=label>{_label(one)}</span>{_bar(one, axis, told)}</div>"
    yield axis.labels()
    if len(report.stories) > len(shown):
        yield f"<p class=note>and {counted(len(report.stories) - len(shown), 'more session')}</p>"
    yield "</section>"


def _label(one: Story) -> str:
    status = f" · {escape(one.status)}" if one.status else ""
    return f"{escape(one.title or one.session)} <small>{escape(one.agent)}{status}</small>"


def _bar(one: Story, axis: TimeAxis, told: Callable[[float], str]) -> str:
    found = []
    for span in one.spans:
        left, right = axis.x(span.since), axis.x(span.until)
        if span.until <= axis.since or span.since >= axis.until:
            continue
        words = f"{_WORDS[span.phase]}, {told(span.since)} to {told(span.until)} ({duration(span.until - span.since)})"
        width = max(round(right - left, 1), 1.5)
        found.append(
            f'<rect class={_LOOKS[span.phase]} x="{left}" y="3" width="{width}" height="10">{_tip(words)}</rect>'
        )
    found += [_mark("cutmark", axis.x(at), f"cut off at {told(at)}") for at in one.cuts]
    found += [_mark("backmark", axis.x(at), f"back at {told(at)}") for at in one.returns]
    name = escape(f"{one.title or one.session}: {counted(len(one.cuts), 'time')} cut off", quote=True)
    return _svg(16, found, name)


def _mark(look: str, x: float, words: str) -> str:
    return f'<rect class={look} x="{max(x - 2, 0)}" y="0" width="4" height="16">{_tip(words)}</rect>'


def _tip(words: str) -> str:
    return f"<title>{escape(words)}</title>"


def _svg(high: int, shapes: Sequence[str], name: str) -> str:
    """A drawing that is as wide as the page. `name` is what a screen reader says; it is escaped already."""
    kind = "bars" if high < _HIGH else "plot"
    box = f'viewBox="0 0 {_WIDTH} {high}" preserveAspectRatio="none"'
    return f'<svg class={kind} {box} role=img aria-label="{name}">{"".join(shapes)}</svg>'


def costs(report: MorningReport, axis: TimeAxis) -> Iterator[str]:
    """What was spent, added up over time. A vertical line marks an agent that was cut off."""
    total = sum(one.cost for one in report.spending)
    if total <= 0:
        return
    points, sum_ = [(0.0, float(_HIGH - 2))], 0.0
    for one in report.spending:
        x = axis.x(one.at)
        points.append((x, points[-1][1]))
        sum_ += one.cost
        points.append((x, round(_HIGH - 2 - (_HIGH - 12) * max(0.0, min(sum_ / total, 1.0)), 1)))
    points.append((float(_WIDTH), points[-1][1]))
    way = " ".join(f"{x},{y}" for x, y in points)
    cuts = [_cut_line(axis.x(at)) for one in report.stories for at in one.cuts]
    area = f'<polygon class=area points="0,{_HIGH} {way} {_WIDTH},{_HIGH}" />'
    line = f'<polyline class=line points="{way}" vector-effect="non-scaling-stroke" />'
    unpriced = report.totals.unpriced
    also = f", without {counted(unpriced, 'turn')} of unknown cost" if unpriced else ""
    dashed = "; dashed: an agent was cut off" if cuts else ""
    yield f"<section><h2>Cost <small>from $0 to ${total:.2f} in all{also}{dashed}</small></h2>"
    yield _svg(_HIGH, [area, *cuts, line], escape(f"cost over time, ${total:.2f} in all", quote=True))
    yield f"{axis.labels()}</section>"


def _cut_line(x: float) -> str:
    return f'<line class=cutline x1="{x}" x2="{x}" y1="0" y2="{_HIGH}" vector-effect="non-scaling-stroke" />'


def contexts(report: MorningReport, axis: TimeAxis) -> Iterator[str]:
    """How full the contexts of the sessions were at the end of each turn."""
    by_session: dict[str, list[ContextPoint]] = {}
    for one in report.contexts:
        by_session.setdefault(one.session, []).append(one)
    fullest = sorted(by_session.values(), key=lambda some: -max(point.used for point in some))[:_MOST_CONTEXTS]
    if not fullest:
        return
    titles = {one.session: one.title or one.session for one in report.stories}
    top = max(point.window or point.used for some in fullest for point in some) or 1
    scale = f"tokens in use at the end of each turn, from 0 to {short_number(top)}"
    yield f"<section><h2>Context <small>{scale}</small></h2>"
    shapes = []
    over = {one.session: one.spans[-1].until for one in report.stories if one.spans}
    for number, some in enumerate(fullest):
        points = " ".join(f"{x},{y}" for x, y in _steps(some, axis, top, over.get(some[0].session)))
        shapes.append(f'<polyline class="line c{number}" points="{points}" vector-effect="non-scaling-stroke" />')
        shapes += [_dot(number, axis.x(one.at), _HIGH - 2 - (_HIGH - 12) * one.used / top) for one in some]
    yield _svg(_HIGH, shapes, "context over time")
    yield axis.labels()
    yield "<ul class=contexts>"
    for number, some in enumerate(fullest):
        last = some[-1]
        part = f", {last.used / last.window:.0%} of its window" if last.window else ""
        square = f'<rect class="dot c{number}" width=10 height=10 />'
        key = f'<svg class=key viewBox="0 0 10 10" aria-hidden=true>{square}</svg>'
        name = escape(titles.get(last.session, last.session))
        yield f"<li>{key} {name}: {short_number(last.used)}{part}</li>"
    yield "</ul></section>"


def _steps(some: Sequence[ContextPoint], axis: TimeAxis, top: int, over: float | None) -> Iterator[tuple[float, float]]:
    """A context stays as full as it was until the next turn ends, or the session does."""
    last = float(_WIDTH) if over is None else max(axis.x(over), axis.x(some[-1].at))
    ends = [*(axis.x(one.at) for one in some[1:]), last]
    for one, end in zip(some, ends, strict=True):
        y = round(_HIGH - 2 - (_HIGH - 12) * one.used / top, 1)
        yield from ((axis.x(one.at), y), (end, y))


def _dot(number: int, x: float, y: float) -> str:
    return f'<rect class="dot c{number}" x="{max(x - 2, 0)}" y="{round(y - 3, 1)}" width="4" height="6" />'
